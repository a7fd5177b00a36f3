"""Reads and writes a socket without blocking the loop: buffers with send, slices of files with sendfile."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from octavo.format.messages.codec import Part

_log = logging.getLogger(__name__)

# Answers of several parts are sent in as few packets as possible: this triples the rate of small fetches. (MSG_MORE
# saves two calls, but each slice of a file ends a packet: two fetches in flight would take 1.2 times as long.)
_CORK: int = getattr(socket, "TCP_CORK", -1)  # only Linux has it


class StreamUser(Protocol):
    """Whoever reads from a stream and writes to it."""

    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...
    def sent(self) -> None: ...
    def close(self) -> None: ...


class PlainStream:
    """Receives requests and sends responses in turn, on a duplicate of the transport's socket; the transport itself
    does neither. The loop calls this class directly, and a pause costs nothing unless something arrives during it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, own: socket.socket, user: StreamUser) -> None:
        self._loop = loop
        self._socket = own
        self._user = user
        self._parts: deque[Part] = deque()
        self._sent = 0  # bytes of the first part
        self._is_waiting = self._is_corked = self._is_watched = self._is_reading = False
        self.set_reading(True)

    def set_reading(self, wanted: bool) -> None:
        """Start or stop reading; what arrives while nothing is read is not lost."""
        self._is_reading = wanted
        if wanted and not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._socket.fileno(), self._receive)

    def _receive(self) -> None:
        if not self._is_reading:  # a paused socket stays watched until something arrives
            self._stop_watching()
            return
        try:
            count = self._socket.recv_into(self._user.get_buffer(-1))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count = 0
        except Exception:  # the loop would call again and again
            _log.exception("a connection is closed, since it cannot receive")
            count = 0
        if count:
            self._user.buffer_updated(count)
        else:
            self._stop_watching()
            self._user.close()

    def send(self, parts: list[Part]) -> bool:
        """Start sending; returns whether everything has been sent. If not, the user's `sent` is called once it has."""
        self._parts.extend(parts if len(parts) == 1 else _joined(parts))
        if _CORK >= 0 and len(self._parts) > 1 and not self._is_corked:
            self._set_cork(True)
        return self._advance()

    def _advance(self) -> bool:
        try:
            while self._parts:
                if not self._send_some(self._parts[0]):
                    return self._wait()
        except BlockingIOError:
            return self._wait()
        if self._is_corked:
            self._set_cork(False)
        return True

    def _wait(self) -> bool:
        if not self._is_waiting:
            self._is_waiting = True
            self._loop.add_writer(self._socket.fileno(), self._send_rest)
        return False

    def _set_cork(self, wanted: bool) -> None:
        self._is_corked = wanted
        self._socket.setsockopt(socket.IPPROTO_TCP, _CORK, wanted)

    def _send_some(self, part: Part) -> bool:
        """Send as much of the first part as the socket accepts; returns whether that was all of it."""
        if isinstance(part, bytes):
            self._sent += self._socket.send(memoryview(part)[self._sent :] if self._sent else part)
            size = len(part)
        else:
            size = part.size
            if size:
                place, left = part.position + self._sent, size - self._sent
                count = os.sendfile(self._socket.fileno(), part.file.fileno(), place, left)
                if not count:
                    raise ConnectionAbortedError("the log file became shorter while it was being sent")
                self._sent += count
        if self._sent < size:
            return False
        self._parts.popleft()
        self._sent = 0
        return True

    def _send_rest(self) -> None:
        try:
            is_sent = self._advance()
        except OSError:
            self._stop_waiting()
            self._parts.clear()
            self._user.close()  # part of an answer may have been sent, so nothing may follow it
            return
        if is_sent:
            self._stop_waiting()
            self._user.sent()

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._socket.fileno())

    def _stop_watching(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._socket.fileno())

    def close(self) -> None:
        """Read and send nothing more."""
        self._stop_watching()
        self._stop_waiting()
        self._parts.clear()
        self._socket.close()


def _joined(parts: list[Part]) -> Iterator[Part]:
    """The same bytes in as few parts as possible."""
    buffers: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            buffers.append(part)
            continue
        if buffers:
            yield b"".join(buffers)
            buffers.clear()
        yield part
    if joined := b"".join(buffers):
        yield joined
