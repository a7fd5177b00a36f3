"""Collects the bytes that a connection receives, and cuts them into frames."""

from __future__ import annotations

import struct
from typing import NamedTuple

from octavo.errors import CorruptionError

_LENGTH = struct.Struct(">i")
_SMALL_BYTES = 64 << 10  # an incomplete frame up to this size moves between its own buffer and the shared one
_SHARED_BYTES = 256 << 10
_NOTHING = memoryview(b"")
_KEPT_BYTES = 4 << 20  # a larger buffer is dropped once its frame has been answered


class SharedBuffer:
    """One buffer into which all connections of a loop receive small frames: one read takes in many of them, always
    into the same memory, and idle connections hold none of it."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_SHARED_BYTES))


class FrameLimit(NamedTuple):
    """How many bytes a request may have, and the config that says so."""

    config: str
    max_bytes: int


class Inbox:
    """A frame is a view into a buffer, valid until its connection returns to the loop.

    Frames are received in the shared buffer; `settle` copies what is left there before another connection receives.
    A large frame gets its own buffer, which grows with what has arrived, not with what a length claims: a client that
    announces a large frame but sends nothing uses no memory.
    """

    def __init__(self, limit: FrameLimit, shared: SharedBuffer) -> None:
        self.limit = limit
        self._shared = shared.view
        self._view = _NOTHING
        self._start = self._end = 0
        self._is_shared = False  # whether the next bytes go into the shared buffer

    def room(self) -> memoryview:
        """The memory for the next bytes, which may never come; it is never empty."""
        if self._view is _NOTHING:
            self._is_shared = True
            return self._shared
        held, is_full = self._end - self._start, self._end == len(self._view)
        self._is_shared = held <= _SMALL_BYTES >= self.wanted_bytes and (is_full or len(self._view) <= _SMALL_BYTES)
        if self._is_shared:
            self._shared[:held] = self._view[self._start : self._end]
            return self._shared[held:]
        if is_full:
            self._move(held)
        return self._view[self._end :]

    def received(self, count: int) -> None:
        """Note that `count` bytes have arrived in the memory from `room`."""
        if self._is_shared:
            self._view, self._start, self._end = self._shared, 0, self._end - self._start + count
        else:
            self._end += count

    def settle(self) -> None:
        """Move the remaining bytes out of the shared buffer."""
        if self._view is not self._shared:
            return
        held = self._end - self._start
        if not held:
            self._view, self._start, self._end = _NOTHING, 0, 0
        elif held > _SMALL_BYTES or self.wanted_bytes > _SMALL_BYTES:
            self._move(held)
        else:
            self._view, self._start, self._end = memoryview(bytearray(self._view[self._start : self._end])), 0, held

    def _move(self, held: int) -> None:
        """Move to a larger buffer."""
        missing = max(self.wanted_bytes - held, 1)
        moved = memoryview(bytearray(held + min(missing, held)))
        moved[:held] = self._view[self._start : self._end]
        self._view, self._start, self._end = moved, 0, held

    @property
    def is_empty(self) -> bool:
        return self._start == self._end

    @property
    def wanted_bytes(self) -> int:
        """The size of the incoming frame, including its length field; 0 while that is unknown."""
        if self._end - self._start < _LENGTH.size:
            return 0
        length = int(_LENGTH.unpack_from(self._view, self._start)[0])
        if not 0 <= length <= self.limit.max_bytes:
            expected = "0 or more" if length < 0 else f"at most {self.limit.config}, {self.limit.max_bytes}"
            raise CorruptionError(f"a request of {length} bytes, expected {expected}")
        return _LENGTH.size + length

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its length, or None if there is none yet; CorruptionError for a wrong length."""
        start, end = self._start, self._end
        if start == end:
            return None
        wanted = self.wanted_bytes
        if not wanted or end - start < wanted:
            return None
        frame = self._view[start + _LENGTH.size : start + wanted]
        self._start = start = start + wanted
        if start == end:
            self._start = self._end = 0
            if len(self._view) > _KEPT_BYTES:
                self._view = _NOTHING  # the frame keeps the old buffer alive as long as it is used
        return frame
