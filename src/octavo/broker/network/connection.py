"""A client's connection: reads frames, handles one request at a time, sends answers."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.broker.network.inbox import FrameLimit, Inbox, SharedBuffer
from octavo.broker.network.plain_stream import PlainStream
from octavo.broker.network.tls_stream import TlsStream
from octavo.broker.request import CloseConnection
from octavo.broker.security.peer import Door
from octavo.errors import OctavoError
from octavo.format.messages.codec import Part
from octavo.format.protocol.frames import response_size

if TYPE_CHECKING:
    from octavo.broker.dispatch import Dispatcher, Pending
    from octavo.broker.limits import ConnectionLimits

_log = logging.getLogger(__name__)

_REQUESTS_AT_ONCE = 64
_TOGETHER_BYTES = 64 << 10  # answers are sent together up to this size


class Connection(asyncio.BufferedProtocol):
    """Lives on the loop's thread. Requests are handled one after the other, in the order in which they came.

    Small answers to requests that came together are sent together. A client that does not read its answers is not read
    from: what it sends waits in its socket, and none of its further requests is handled.
    """

    def __init__(self, dispatcher: Dispatcher, limits: ConnectionLimits, door: Door, shared: SharedBuffer) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._door = door
        self._shared = shared
        self._is_busy = self._is_doomed = self._is_muted = False
        self._pending: Pending | None = None
        self._unmuting: asyncio.TimerHandle | None = None
        self._answers: list[Part] = []  # not sent yet
        self._answer_bytes = 0
        self._stream: PlainStream | TlsStream | None = None
        self.last_use_ms = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, *_ = transport.get_extra_info("peername") or ("",)
        self.peer = self._door.meet(host, transport.get_extra_info("peercert"))
        self._inbox = Inbox(self._frame_limit(), self._shared)
        if not self._limits.admit(self):
            transport.abort()
            return
        if transport.get_extra_info("ssl_object") is not None:
            self._stream = TlsStream(transport, self)
            return
        loop = asyncio.get_running_loop()
        loop.call_soon(transport.pause_reading)  # not at once: early versions of Python 3.11 would undo it
        try:
            own = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        except OSError as error:
            _log.warning("%s: closed at once: %s", host, error)
            transport.abort()
            return
        own.setblocking(False)
        self._stream = PlainStream(loop, own, self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._limits.note_use(self)
        self._inbox.received(nbytes)
        self._work()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if isinstance(self._stream, TlsStream):
            self._stream.pause()

    def resume_writing(self) -> None:
        if isinstance(self._stream, TlsStream):
            self._stream.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.dismiss(self)
        if self._stream is not None:
            self._stream.close()
        if self._pending is not None:
            self._pending.cancel()
        if self._unmuting is not None:  # the timer may run for days, and would keep the connection in memory
            self._unmuting.cancel()

    def close(self) -> None:
        """Close, even if requests are unanswered."""
        self._transport.abort()

    def resume(self) -> None:
        """Continue, now that there is memory for the incoming frame."""
        self._set_reading(True)

    def mute(self, duration_ms: int) -> None:
        """Handle no more requests for a while: the client has exceeded its quota. Pending answers are still sent."""
        self._is_muted = True
        self._unmuting = asyncio.get_running_loop().call_later(duration_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        self._is_muted = False
        if not self._transport.is_closing():
            self._work()

    def _work(self) -> None:
        """Answer the requests that have arrived, until one has to wait, or other connections have waited long
        enough."""
        try:
            for _ in range(_REQUESTS_AT_ONCE):
                if self._is_busy or self._is_muted or self._transport.is_closing():
                    break
                frame = self._inbox.next_frame()
                if frame is None:
                    break
                self._limits.release(self)
                self._handle(frame)
            else:
                asyncio.get_running_loop().call_soon(self._work)
            self._send_answers()
            self._inbox.settle()
            if self._transport.is_closing():
                return  # what follows a rejected login is ignored
            if self._is_muted:
                self._set_reading(False)
            elif self._is_busy:  # while a request waits, only reading shows that its client has gone
                self._set_reading(self._pending is not None and self._inbox.is_empty)
            else:
                self._set_reading(self._inbox.is_empty or self._limits.may_grow(self, self._inbox.wanted_bytes))
        except (CloseConnection, OctavoError, OSError) as error:
            _log.debug("%s: closed: %s", self.peer.host, error)
            self._close_after_answers()
        except Exception:
            _log.exception("%s: closed, since its request could not be answered", self.peer.host)
            self._close_after_answers()

    def _handle(self, frame: memoryview) -> None:
        answer = self._dispatcher.answer(frame, self)
        if isinstance(answer, list):
            self._answers += answer
            self._answer_bytes += response_size(answer)
            if self.peer.login is not None:  # the login may just have succeeded or failed
                self._inbox.limit = self._frame_limit()
            if self._answer_bytes > _TOGETHER_BYTES or self.peer.is_rejected:
                self._send_answers()
        elif answer is not None:
            self._send_answers()
            self._is_busy = True
            self._pending = answer
            answer.start(self._answer_late)

    def _send_answers(self) -> None:
        """Send the collected answers; until they are sent, no other request is handled."""
        if not self._answers:
            return
        answers, self._answers, self._answer_bytes = self._answers, [], 0
        self._is_busy = not self._send(answers)
        if not self._is_busy and self.peer.is_rejected:
            self._transport.close()

    def _close_after_answers(self) -> None:
        """Close, but not before the answers that are ready have been sent. A request that still waits gets none."""
        self._is_doomed = True
        with suppress(OSError):
            self._send_answers()
            if self._is_busy and self._pending is None:
                self._set_reading(False)
                return
        self._transport.abort()

    def _answer_late(self, parts: list[Part] | None) -> None:
        """Send the outcome of a pending request; None means that it failed."""
        self._pending = None
        if self._transport.is_closing():
            return
        if parts is None:
            self._transport.abort()
            return
        try:
            is_out = self._send(parts)
        except OSError:
            self._transport.abort()
            return
        if is_out:
            self.sent()

    def _send(self, parts: list[Part]) -> bool:
        if self._stream is None:
            raise ConnectionAbortedError("the connection was not accepted")
        return self._stream.send(parts)

    def sent(self) -> None:
        """Continue, now that all answers have been sent."""
        if self._transport.is_closing():
            return
        if self._is_doomed:
            self._transport.abort()
            return
        if self.peer.is_rejected:
            self._transport.close()
            return
        if self._pending is not None:  # only earlier answers were sent
            return
        self._is_busy = False
        self._limits.note_use(self)
        self._work()

    def _frame_limit(self) -> FrameLimit:
        """How large a request may be: before a login, not larger than a login needs."""
        most = FrameLimit("socket.request.max.bytes", self._limits.max_frame_bytes)
        login = FrameLimit("sasl.server.max.receive.size", self._door.listener.config.sasl_server_max_receive_size)
        return login if not self.peer.is_admitted and login.max_bytes < most.max_bytes else most

    def _set_reading(self, wanted: bool) -> None:
        if self._stream is not None:
            self._stream.set_reading(wanted)
