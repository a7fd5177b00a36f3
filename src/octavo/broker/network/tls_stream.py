"""Sends a response through TLS: everything is encrypted, so file slices are read and written like buffers."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable

from octavo.format.messages.codec import Part
from octavo.format.varint import Bytes

_PIECE_BYTES = 256 << 10


class TlsStream:
    """Sends one response at a time, and gives the transport no more than it can send."""

    def __init__(
        self, transport: asyncio.Transport, on_sent: Callable[[], None], on_failed: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._on_sent = on_sent
        self._on_failed = on_failed
        self._parts: deque[Part] = deque()
        self._sent = 0  # bytes of the first part
        self._is_paused = False
        transport.set_write_buffer_limits(high=_PIECE_BYTES, low=0)

    def send(self, parts: Iterable[Part]) -> bool:
        """Start sending; returns whether everything has been sent. If not, `on_sent` is called once it has."""
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
            self._on_failed()
            return
        if is_out:
            self._on_sent()

    def close(self) -> None:
        """Send nothing more."""
        self._parts.clear()

    def _advance(self) -> bool:
        while self._parts and not self._is_paused:
            part = self._parts[0]
            size = len(part) if isinstance(part, Bytes) else part.size
            end = min(size, self._sent + _PIECE_BYTES)
            if isinstance(part, Bytes):
                piece: Bytes = memoryview(part)[self._sent : end]
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
