"""Collects the bytes that a connection receives, and cuts them into frames."""

from __future__ import annotations

import struct

from octavo.errors import CorruptionError

_LENGTH = struct.Struct(">i")
_FIRST_BYTES = 16 << 10  # enough for a connection that sends small requests
_KEPT_BYTES = 4 << 20  # a larger buffer is dropped once its frame has been answered


class Inbox:
    """A frame is a view into the buffer, valid until the next bytes are received.

    The buffer grows with what has arrived, not with what a length claims: a client that announces a large frame but
    sends nothing takes no memory.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._start = self._end = 0

    def room(self) -> memoryview:
        """Where the next bytes go; never empty."""
        held = self._end - self._start
        if self._end == len(self._buffer):
            missing = max(self.wanted_bytes - held, 1)
            moved = bytearray(max(_FIRST_BYTES, held + min(missing, held)))
            moved[:held] = memoryview(self._buffer)[self._start : self._end]
            self._buffer, self._start, self._end = moved, 0, held
        return memoryview(self._buffer)[self._end :]

    def received(self, count: int) -> None:
        self._end += count

    @property
    def is_empty(self) -> bool:
        return self._start == self._end

    @property
    def wanted_bytes(self) -> int:
        """The size of the incoming frame, including its length field; 0 while that is unknown."""
        if self._end - self._start < _LENGTH.size:
            return 0
        length = int(_LENGTH.unpack_from(self._buffer, self._start)[0])
        if not 0 <= length <= self.max_frame_bytes:
            raise CorruptionError(f"a frame of {length} bytes, expected 0 to {self.max_frame_bytes}")
        return _LENGTH.size + length

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its length, or None if there is none yet; CorruptionError for a wrong length."""
        wanted = self.wanted_bytes
        if not wanted or self._end - self._start < wanted:
            return None
        frame = memoryview(self._buffer)[self._start + _LENGTH.size : self._start + wanted]
        self._start += wanted
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > _KEPT_BYTES:
                self._buffer = bytearray()  # the frame keeps the old buffer alive as long as it is used
        return frame
