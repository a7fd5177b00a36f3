"""SaslHandshake: lets a client choose how to log in.

Unlike Kafka: the mechanisms are PLAIN and SCRAM. GSSAPI and OAUTHBEARER would need other services (Kerberos, an issuer
of tokens), and there are no delegation tokens.
"""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    login = request.peer.login
    if login is None or request.peer.is_admitted:
        return {"errorCode": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": []}
    answer = {"mechanisms": list(login.mechanisms)}
    if login.choose(request.body["mechanism"], is_bare=request.version == 0):
        return answer
    request.peer.is_rejected = True
    return {**answer, "errorCode": ErrorCode.UNSUPPORTED_SASL_MECHANISM}
