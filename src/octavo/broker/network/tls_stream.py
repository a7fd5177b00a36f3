"""Sends a response through TLS: everything is encrypted, so file slices are read and written like buffers."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable

from octavo.broker.network.plain_stream import StreamUser
from octavo.format.messages.codec import Part

_PIECE_BYTES = 256 << 10


class TlsStream:
    """Sends responses piece by piece, and pauses while the transport has enough. The transport itself reads."""

    def __init__(self, transport: asyncio.Transport, user: StreamUser) -> None:
        self._transport = transport
        self._user = user
        self._parts: deque[Part] = deque()
        self._sent = 0  # bytes of the first part
        self._is_paused = False
        transport.set_write_buffer_limits(high=_PIECE_BYTES, low=0)

    def set_reading(self, wanted: bool) -> None:
        """Start or stop reading; what arrives while nothing is read is not lost."""
        if wanted is self._transport.is_reading() or self._transport.is_closing():
            return
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def send(self, parts: Iterable[Part]) -> bool:
        """Start sending; returns whether everything has been sent. If not, the user's `sent` is called once it has."""
        self._parts.extend(parts)
        return self._advance()

    def pause(self) -> None:
        """Stop writing: the transport has enough."""
        self._is_paused = True

    def resume(self) -> None:
        """Continue writing: the transport can take more."""
        self._is_paused = False
        try:
            is_out = self._advance()
        except OSError:
            self._user.close()
            return
        if is_out:
            self._user.sent()

    def close(self) -> None:
        """Send nothing more."""
        self._parts.clear()

    def _advance(self) -> bool:
        while self._parts and not self._is_paused:
            part = self._parts[0]
            size = len(part) if isinstance(part, bytes) else part.size
            end = min(size, self._sent + _PIECE_BYTES)
            if isinstance(part, bytes):
                piece: bytes | memoryview = memoryview(part)[self._sent : end]
            else:
                piece = os.pread(part.file.fileno(), end - self._sent, part.position + self._sent)
                if len(piece) < end - self._sent:
                    raise ConnectionAbortedError("the log file became shorter while it was being sent")
            self._sent = end
            if end == size:
                self._parts.popleft()
                self._sent = 0
            if len(piece):
                self._transport.write(piece)
        return not self._parts and not self._is_paused
