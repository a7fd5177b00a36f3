"""Decides which neighbouring segments are merged: as many as fit into one segment."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.config import LogConfig
from octavo.kernels.integers import INT32_MAX
from octavo.storage.rewriting.source import SourceSegment


def group_segments(
    segments: Sequence[SourceSegment], config: LogConfig, first_uncleanable_offset: int
) -> list[list[SourceSegment]]:
    """A segment joins the group before it if their sizes add up to at most segment.bytes, those of each index to at
    most segment.index.bytes, and its last offset fits 32 bits relative to the group's base offset.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [first_uncleanable_offset]
    groups: list[list[SourceSegment]] = []
    size = offset_index_bytes = time_index_bytes = 0
    for segment, end in zip(segments, ends, strict=True):
        size += segment.size
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        fits = size <= config.segment_bytes and max(offset_index_bytes, time_index_bytes) <= config.segment_index_bytes
        # An empty segment has no offset that could be out of reach.
        if groups and fits and (segment.size == 0 or end - 1 - groups[-1][0].base_offset <= INT32_MAX):
            groups[-1].append(segment)
            continue
        groups.append([segment])
        size, offset_index_bytes = segment.size, segment.offset_index_bytes
        time_index_bytes = segment.time_index_bytes
    return groups
