"""Which segments become one: neighbours, as long as they fit into a segment together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from octavo.config import LogConfig
from octavo.format.entry_layout import INT32_MAX


class Groupable(Protocol):
    """What of a segment counts: the bytes in use of its files."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def offset_index_bytes(self) -> int: ...
    @property
    def time_index_bytes(self) -> int: ...


SegmentType = TypeVar("SegmentType", bound=Groupable)


def group_segments(
    segments: Sequence[SegmentType], config: LogConfig, first_uncleanable_offset: int
) -> list[list[SegmentType]]:
    """C12: a segment joins the group before it while sizes sum up to segment.bytes at most, those of each index to
    segment.index.bytes, and the last offset can be told relative to the group's first.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [first_uncleanable_offset]
    groups: list[list[SegmentType]] = []
    size = offset_index_bytes = time_index_bytes = 0
    for segment, end in zip(segments, ends, strict=True):
        size += segment.size
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        fits = size <= config.segment_bytes and max(offset_index_bytes, time_index_bytes) <= config.segment_index_bytes
        # An empty segment has no offset that could be too far away.
        if groups and fits and (segment.size == 0 or end - 1 - groups[-1][0].base_offset <= INT32_MAX):
            groups[-1].append(segment)
            continue
        groups.append([segment])
        size, offset_index_bytes = segment.size, segment.offset_index_bytes
        time_index_bytes = segment.time_index_bytes
    return groups
