"""Finds the end of a run of zeros in a file: unused preallocated space, or the trace of a crash or a failing disk."""

from __future__ import annotations

from collections.abc import Callable

_LEAST_BYTES = 4 << 10  # most often there are few or none
_MOST_BYTES = 1 << 20

# Fills a buffer from a position on and returns the number of bytes, which is smaller than the buffer only at the end.
ReadAt = Callable[[memoryview, int], int]


def zeros_end(read_at: ReadAt, position: int, end: int, skip_hole: Callable[[int], int]) -> int:
    """The first position from `position` on with a non-zero byte; `end` if there is none, or where the file ends.

    `skip_hole` returns a position up to which everything is known to be zeros; that part is not read.
    """
    block, zeros = memoryview(bytearray(_LEAST_BYTES)), bytes(_LEAST_BYTES)
    while (position := skip_hole(position)) < end:
        filled = read_at(block[: end - position], position)
        if not filled:
            return position  # the file was truncated in the meantime
        if block[:filled] != zeros[:filled]:
            content = bytes(block[:filled])
            return position + len(content) - len(content.lstrip(b"\0"))
        position += filled
        if len(block) < _MOST_BYTES:
            block, zeros = memoryview(bytearray(_MOST_BYTES)), bytes(_MOST_BYTES)
    return end
