"""The segments of a log, ordered by base offset and searched by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from octavo.storage.segment.segment import Segment


class _Ordered(NamedTuple):
    base_offsets: tuple[int, ...]
    segments: tuple[Segment, ...]


class Segments:
    """A change, made under the log's lock, replaces all of it: readers see either the old segments or the new ones."""

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        self._ordered = _Ordered((), ())
        self.replace((), segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._ordered.segments)

    def __len__(self) -> int:
        return len(self._ordered.segments)

    @property
    def base_offsets(self) -> tuple[int, ...]:
        return self._ordered.base_offsets

    @property
    def first(self) -> Segment:
        return self._ordered.segments[0]

    @property
    def active(self) -> Segment:
        """The last segment, the only one that grows."""
        return self._ordered.segments[-1]

    def add(self, segment: Segment) -> None:
        """Add a segment, or replace the one with its base offset."""
        self.replace([segment], [segment])

    def remove(self, segments: Sequence[Segment]) -> None:
        self.replace(segments, [])

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Remove the segments with these base offsets and add others; readers see it as one step."""
        gone = {segment.base_offset for segment in old}
        kept = [segment for segment in self._ordered.segments if segment.base_offset not in gone]
        ordered = sorted([*kept, *new], key=lambda segment: segment.base_offset)
        self._ordered = _Ordered(tuple(segment.base_offset for segment in ordered), tuple(ordered))

    def floor(self, offset: int) -> Segment | None:
        """The segment that holds the offset, if it is in the log: the last one that begins at or before it."""
        ordered = self._ordered
        slot = bisect_right(ordered.base_offsets, offset) - 1
        return ordered.segments[slot] if slot >= 0 else None

    def after(self, segment: Segment) -> Segment | None:
        """The next segment."""
        ordered = self._ordered
        slot = bisect_right(ordered.base_offsets, segment.base_offset)
        return ordered.segments[slot] if slot < len(ordered.segments) else None

    def overlapping(self, start_offset: int, end_offset: int | None = None) -> tuple[Segment, ...]:
        """The segments from the one that holds the start, as long as they begin before the end."""
        bases, segments = self._ordered
        first = max(bisect_right(bases, start_offset) - 1, 0)
        return segments[first : len(bases) if end_offset is None else max(bisect_left(bases, end_offset), first)]
