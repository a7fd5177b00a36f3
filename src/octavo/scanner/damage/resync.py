"""Finds the next sound batch after damaged bytes."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.zeros import zeros_end
from octavo.kernels.layout import LOG_OVERHEAD, MAGIC_POSITION, MIN_MESSAGE_SIZE, SIZE_POSITION
from octavo.scanner.places.location import ReadableFile, read_fully
from octavo.scanner.places.segment_log import first_offset_at

_WINDOW_BYTES = 1 << 20
_HEADER_BYTES = MAGIC_POSITION + 1
_ZERO_BYTES = LOG_OVERHEAD - 1  # a batch may begin with this many zeros, up to the last byte of its length
_NEWEST_MAGIC = 2
_OFFSETS = 2**31  # a segment cannot span more


def next_sound_position(
    log: ReadableFile, start: int, end: int, next_offset: int, *, before: int | None = None
) -> int | None:
    """The first position from `start` on at which a sound batch begins that may come next in the log.

    Its offset is `next_offset`, or less than 2³¹ after it. The batch ends by `end`, and begins before the position
    `before` if that is given. Candidates are recognized by their first bytes and then checked completely. All
    checks together may read only a few times the number of bytes searched, because garbage can look like many headers.
    Zeros never do.
    """
    before = end if before is None else before
    budget = 4 * (before - start) + _WINDOW_BYTES
    buffer = memoryview(bytearray(max(min(_WINDOW_BYTES, before - start), 0) + _HEADER_BYTES))
    while start < before and budget > 0:
        start = max(start, zeros_end(partial(read_fully, log), start, before, log.skip_hole) - _ZERO_BYTES)
        filled = read_fully(log, buffer[: min(len(buffer), end - start)], start)
        for candidate in _candidates(np.frombuffer(buffer[:filled], np.uint8), end - start, next_offset):
            position = start + int(candidate)
            if position >= before:
                return None
            if first_offset_at(log, position, end) is not None:
                return position
            budget -= int(_sizes(np.frombuffer(buffer, np.uint8), np.array([candidate]))[0])
            if budget <= 0:
                break
        start += _WINDOW_BYTES
    return None


def are_zeros(file: ReadableFile, position: int, end: int) -> bool:
    """Whether all bytes between two positions are zeros."""
    return zeros_end(partial(read_fully, file), position, end, file.skip_hole) >= end


def _candidates(data: NDArray[np.uint8], left: int, next_offset: int) -> NDArray[np.int64]:
    """Where magic, length and offset look like the start of a batch."""
    places = np.flatnonzero(data[MAGIC_POSITION:] <= _NEWEST_MAGIC)[:_WINDOW_BYTES]
    sizes = _sizes(data, places)
    places = places[(sizes >= LOG_OVERHEAD + MIN_MESSAGE_SIZE) & (sizes <= left - places)]
    offsets = _big_endian(data, places, 0, 8)
    return places[(offsets >= next_offset) & (offsets - next_offset < _OFFSETS)]


def _sizes(data: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    return LOG_OVERHEAD + _big_endian(data, places, SIZE_POSITION, 4)


def _big_endian(data: NDArray[np.uint8], places: NDArray[np.int64], at: int, width: int) -> NDArray[np.int64]:
    if not len(places):
        return np.empty(0, np.int64)
    fields = data[places[:, None] + np.arange(at, at + width)]
    numbers: NDArray[np.int64] = fields.copy().view(f">i{width}")[:, 0].astype(np.int64)
    return numbers
