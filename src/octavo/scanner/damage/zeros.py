"""Runs of zeros in a file that is only read. Holes, of which a preallocated file is mostly made, are passed over."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from octavo.format.batches import zeros
from octavo.scanner.places.location import read_fully

if TYPE_CHECKING:
    from octavo.scanner.places.location import ReadableFile


def zeros_end(file: ReadableFile, position: int, end: int) -> int:
    """The position of the first byte from here on that is not zero; `end` where all of them are."""
    return zeros.zeros_end(partial(read_fully, file), position, end, file.skip_hole)


def are_zeros(file: ReadableFile, position: int, end: int) -> bool:
    """Whether there is nothing but zeros between two positions."""
    return zeros_end(file, position, end) >= end
