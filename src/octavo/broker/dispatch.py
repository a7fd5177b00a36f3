"""Turns a frame into its answer: header, body, handler, response."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.handlers import HANDLERS, Handler
from octavo.broker.metrics import RequestCount
from octavo.broker.quotas.bill import Bill
from octavo.broker.quotas.limiter import QuotaLimiter, Windows
from octavo.broker.request import CloseConnection, Later, NoAnswer, Request, Waiting
from octavo.broker.security.peer import Peer
from octavo.broker.security.sasl import FAILURE_DELAY_SECONDS, LoginFailed
from octavo.format.messages.codec import Part
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import API_VERSIONS, APIS, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from octavo.format.protocol.error_codes import ErrorCode
from octavo.format.protocol.frames import WireFormat, read_header, response_size, wire_format

if TYPE_CHECKING:
    from octavo.broker.network.connection import Connection

_log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 20  # in a request without records; enough to name some 30,000 partitions
_BEFORE_LOGIN = (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)
OnParts = Callable[[list[Part] | None], None]


class _Served(NamedTuple):
    """An API in one version: how it is read and written, who handles it, how often it was asked for."""

    wire: WireFormat
    handle: Handler
    tally: RequestCount


class Dispatcher:
    """Lives on the loop's thread, except for `counts`."""

    def __init__(self, context: Context, executor: Executor) -> None:
        self.context = context
        self.executor = executor
        self._served: dict[tuple[int, ...], _Served] = {}  # by API and version
        config = context.config
        windows = Windows(config.quota_window_num, config.quota_window_size_seconds)
        self._limiter = QuotaLimiter(lambda: context.quotas.values, context.log_dir.environment.clock, windows)

    def answer(self, frame: memoryview, connection: Connection) -> list[Part] | Pending | None:
        """The response to a request, or a `Pending` one that comes later; None if the request gets no response.

        Raises CloseConnection for an unknown API or version (other than of ApiVersions), for a request that needs a
        login first, and for one that is too large; handlers may raise it, too.
        """
        started = time.perf_counter()
        peer = connection.peer
        is_admitted = peer.is_admitted
        if not is_admitted and peer.sends_bare_tokens:
            return _bare_answer(peer, frame, self.context.loop)
        key, version, correlation_id, client_id, end = read_header(frame)
        served = self._served.get((key, version)) or self._serve(key, version)
        if served is None:
            return wire_format(API_VERSIONS, 0).response_parts(correlation_id, _known_versions())
        wire, handle, tally = served
        api, size, context = wire.api, len(frame), self.context
        if not is_admitted and api not in _BEFORE_LOGIN:
            raise CloseConnection(f"a {wire.name} request before a login")
        if size > _MOST_BYTES and api is not PRODUCE:
            raise CloseConnection(f"a {wire.name} request of {size} bytes, expected at most {_MOST_BYTES}")
        request = Request(version, client_id, wire.read_body(frame, end), peer)
        bill = None
        if context.quotas.values:
            bill = Bill(self._limiter, context.sessions.end, api, request, size, connection)
        try:
            found = handle(request, context)
        except RequestError as error:
            found = _refused(api, error)
        if bill is not None:
            bill.worked(time.perf_counter() - started)
        answer: list[Part] | Pending | None = None
        if isinstance(found, dict):
            answer = _answer_parts(wire, correlation_id, found, bill)
        elif not isinstance(found, NoAnswer):
            answer = Pending(wire, correlation_id, found, self, bill)
        elif bill is not None:
            bill.pay()
        tally.requests += 1
        tally.received_bytes += size
        tally.seconds += time.perf_counter() - started
        return answer

    def counts(self) -> list[RequestCount]:
        """The requests so far, by API and version. Any thread may call it."""
        return [served.tally for served in list(self._served.values())]

    def _serve(self, key: int, version: int) -> _Served | None:
        """The API and version of a request; None for an unknown version of ApiVersions, which is answered too."""
        api = APIS.get(key)
        if api is None:
            raise CloseConnection(f"there is no API {key}")
        if version in api.versions:
            served = _Served(wire_format(api, version), HANDLERS[key], RequestCount(api.name))
            self._served[key, version] = served
            return served
        if api is not API_VERSIONS:
            raise CloseConnection(f"{api.name} has no version {version}")
        return None


class Pending:
    """A response that comes later."""

    def __init__(
        self, wire: WireFormat, correlation_id: int, found: Waiting | Later, dispatcher: Dispatcher, bill: Bill | None
    ) -> None:
        self._wire = wire
        self._correlation_id = correlation_id
        self._found = found
        self._dispatcher = dispatcher
        self._bill = bill

    def start(self, on_parts: OnParts) -> None:
        self._on_parts = on_parts
        if isinstance(self._found, Later):
            loop, executor = self._dispatcher.context.loop, self._dispatcher.executor
            loop.run_in_executor(executor, self._found.make).add_done_callback(self._made)
        else:
            self._found.start(self._answer)

    def cancel(self) -> None:
        if not isinstance(self._found, Later):
            self._found.cancel()

    def _made(self, future: asyncio.Future[Row]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            self._answer(future.result())
        elif isinstance(error, RequestError):
            self._answer(_refused(self._wire.api, error))
        else:
            _log.error("%s failed", self._wire.name, exc_info=error)
            self._on_parts(None)

    def _answer(self, row: Row) -> None:
        try:
            parts = _answer_parts(self._wire, self._correlation_id, row, self._bill)
        except Exception:  # the connection must learn about it, or it would wait forever
            _log.exception("the answer to %s cannot be written", self._wire.name)
            self._on_parts(None)
            return
        self._on_parts(parts)


def _answer_parts(wire: WireFormat, correlation_id: int, row: Row, bill: Bill | None) -> list[Part]:
    """A response, which says how long the client is throttled if it has exceeded its quota."""
    parts = wire.response_parts(correlation_id, row)
    changed = None if bill is None else bill.pay(row, response_size(parts))
    return parts if changed is None else wire.response_parts(correlation_id, changed)


def _refused(api: Api, error: RequestError) -> Row:
    """A response with nothing but the error; not all responses have room for its sentence."""
    names = {field.name for field in api.response.fields}
    return {name: value for name, value in error_fields(error).items() if name == "errorCode" or name in names}


class _LateClose(Pending):
    """No response: the connection is closed a moment later."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, on_parts: OnParts) -> None:
        self._timer = self._loop.call_later(FAILURE_DELAY_SECONDS, on_parts, None)

    def cancel(self) -> None:
        self._timer.cancel()


def _bare_answer(peer: Peer, token: memoryview, loop: asyncio.AbstractEventLoop) -> list[Part] | Pending:
    """The answer to a message of a login that began with version 0 of the handshake: a length and the login's bytes."""
    try:
        answer = peer.log_in(bytes(token))
    except LoginFailed:
        return _LateClose(loop)
    return [len(answer).to_bytes(4) + answer]


def _known_versions() -> Row:
    """The answer to a client newer than this broker: the versions of ApiVersions itself, in its oldest form."""
    versions = API_VERSIONS.versions
    known = {"apiKey": API_VERSIONS.key, "minVersion": versions.lowest, "maxVersion": versions.highest}
    return {"errorCode": ErrorCode.UNSUPPORTED_VERSION, "apiKeys": [known]}
