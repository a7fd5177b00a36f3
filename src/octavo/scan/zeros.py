"""Runs of zeros in a file: the room of a preallocated one, or a hole that a crash or a failing disk left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.scan.location import read_fully

if TYPE_CHECKING:
    from octavo.scan.location import ReadableFile

_LEAST_BYTES = 4 << 10  # most often there are none, or few
_MOST_BYTES = 1 << 20


def zeros_end(file: ReadableFile, position: int, end: int) -> int:
    """The position of the first byte from here on that is not zero; `end` where all of them are.

    Holes, of which a preallocated file is mostly made, are not read.
    """
    block, zeros = memoryview(bytearray(_LEAST_BYTES)), bytes(_LEAST_BYTES)
    while (position := file.skip_hole(position)) < end:
        filled = read_fully(file, block[: end - position], position)
        if not filled:
            return position  # it was cut off meanwhile
        if block[:filled] != zeros[:filled]:
            content = bytes(block[:filled])
            return position + len(content) - len(content.lstrip(b"\0"))
        position += filled
        if len(block) < _MOST_BYTES:
            block, zeros = memoryview(bytearray(_MOST_BYTES)), bytes(_MOST_BYTES)
    return end


def are_zeros(file: ReadableFile, position: int, end: int) -> bool:
    """Whether there is nothing but zeros between two positions."""
    return zeros_end(file, position, end) >= end
