"""What the checks of a segment share: the segment as listed, its batches in parts, and its unreadable ranges."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.names import FileKind
from octavo.scanner.places.files import ListedSegment
from octavo.scanner.places.location import Location

_OPEN = 1 << 64


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment as it appeared in one listing of its folder."""

    folder: Location
    segment: ListedSegment
    next_base_offset: int | None  # of the next segment; None if this is the last
    clean_shutdown: bool  # whether `.kafka_cleanshutdown` exists and applies to the partition
    indexes_each_batch: bool = False  # whether only brokers from 4.1 on can have written here
    recovery_point: int | None = None  # of the partition; None if unknown
    is_before_empty: bool = False  # whether the next segment is the last, and still empty

    @property
    def base_offset(self) -> int:
        return self.segment.base_offset

    @property
    def is_last(self) -> bool:
        return self.next_base_offset is None

    @property
    def is_unclosed(self) -> bool:
        """Whether a crash may have come before the segment was closed, or while it was being closed, as in the middle
        of a roll."""
        return (self.is_last or self.is_before_empty) and not self.clean_shutdown

    def was_appended_to(self, next_offset: int) -> bool:
        """Whether a crash may have come after appends to the last segment, which an earlier clean stop had closed.

        That stop trimmed its indexes, and appends make room for entries only when they need it. A flush may have come
        after the appends: then the recovery point is at the log's end, and recovery still checks this segment.
        """
        is_beyond = self.recovery_point is not None and next_offset >= self.recovery_point
        return self.is_last and not self.clean_shutdown and is_beyond

    def path(self, kind: FileKind = FileKind.LOG) -> Location:
        return self.folder.child(self.segment.name(kind))


class LogPart(NamedTuple):
    """Sound batches of one chunk of a log file, in file order."""

    data: memoryview
    table: NDArray[np.void]  # positions are relative to the start of `data`
    file_position: int  # of `data`'s first byte
    positions: NDArray[np.int64]  # in the file
    last_offsets: NDArray[np.int64]


class UnreadableRanges:
    """Ranges of a log that could not be read: what an index says about them can be neither confirmed nor denied.

    They are added in file order. The end of the last one may be unknown until the next sound batch.
    """

    def __init__(self) -> None:
        self._positions: list[tuple[int, int]] = []
        self._offsets: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return bool(self._positions)

    def add(self, start: int, end: int, first_offset: int, end_offset: int | None = None) -> None:
        """Add bytes that may have held these offsets; without `end_offset`, those up to the next sound batch."""
        _append(self._positions, start, end)
        _append(self._offsets, first_offset, _OPEN if end_offset is None else end_offset)

    def close(self, offset: int) -> None:
        """End the last range at this offset, where a sound batch begins."""
        if self._offsets and self._offsets[-1][1] == _OPEN:
            self._offsets[-1] = (self._offsets[-1][0], offset)

    def hides_position(self, position: int) -> bool:
        return _contains(self._positions, position)

    def hides_offset(self, offset: int) -> bool:
        return _contains(self._offsets, offset)


def _append(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    if ranges and start <= ranges[-1][1]:
        ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
    else:
        ranges.append((start, end))


def _contains(ranges: list[tuple[int, int]], value: int) -> bool:
    slot = bisect_right(ranges, (value, _OPEN)) - 1
    return slot >= 0 and value < ranges[slot][1]
