"""SaslAuthenticate: handles the messages of a login, one after the other.

Unlike Kafka: a connection logs in once (connections.max.reauth.ms is not used). An unknown SCRAM user fails at the
end of the exchange, like a wrong password, so that the failure does not say whether the user exists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from octavo.broker.context import Context
from octavo.broker.request import Answer, CloseConnection, Request
from octavo.broker.security.sasl import FAILURE_DELAY_SECONDS, LoginFailed
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    peer = request.peer
    if peer.login is None or peer.is_admitted:
        problem = "SaslAuthenticate request received after successful authentication"
        return {"errorCode": ErrorCode.ILLEGAL_SASL_STATE, "errorMessage": problem}
    if not peer.login.is_begun:
        raise CloseConnection("a SaslAuthenticate request before a handshake")
    try:
        return {"authBytes": peer.log_in(bytes(request.body["authBytes"]))}
    except LoginFailed as error:
        peer.is_rejected = True
        row = {"errorCode": ErrorCode.SASL_AUTHENTICATION_FAILED, "errorMessage": str(error)}
        return _Delayed(context.loop, row)


class _Delayed:
    """An answer that is sent a moment later."""

    def __init__(self, loop: asyncio.AbstractEventLoop, row: Row) -> None:
        self._loop = loop
        self._row = row

    def start(self, answer: Callable[[Row], None]) -> None:
        self._timer = self._loop.call_later(FAILURE_DELAY_SECONDS, answer, self._row)

    def cancel(self) -> None:
        self._timer.cancel()
