"""Converts between offsets and bytes using file sizes and offset indexes: approximate, but cheap for any backlog."""

from __future__ import annotations

import numpy as np

from octavo.format.indexes.offset_index import OffsetIndex
from octavo.scanner.partition.index_files import read_offset_index
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.places.files import ListedSegment
from octavo.scanner.places.segment_log import first_offset_at, follow


def bytes_between(snapshot: PartitionSnapshot, start: int, end: int) -> int:
    """Roughly how many bytes of log lie between two offsets."""
    total = 0
    for slot, segment in enumerate(snapshot.segments):
        if snapshot.end_of(slot) <= start or segment.base_offset >= end:
            continue
        first = _position(snapshot, segment, start) if start > segment.base_offset else 0
        last = _position(snapshot, segment, end) if end < snapshot.end_of(slot) else snapshot.batches_end(slot)
        total += max(last - first, 1)
    return total


def offset_reached(snapshot: PartitionSnapshot, start: int, end: int, size: int) -> int:
    """The offset that about `size` bytes reach from `start` on: at least one batch further, at most `end`."""
    left = size
    for slot, segment in enumerate(snapshot.segments):
        segment_end = snapshot.end_of(slot)
        if segment_end <= start or segment.base_offset >= end:
            continue
        try:
            index = read_offset_index(snapshot.files, segment)
            first = index.lookup(start).position if start > segment.base_offset else 0
            whole = snapshot.batches_end(slot) - first
            if whole > left:
                return min(_cut(snapshot, segment, index, first + left, start) or segment_end, end)
        except FileNotFoundError:
            return min(segment_end, end)  # replaced since it was listed
        left -= whole
    return end


def _cut(
    snapshot: PartitionSnapshot, segment: ListedSegment, index: OffsetIndex, position: int, start: int
) -> int | None:
    """The first offset of the last indexed batch up to a position or, if that is not after `start`, of the next indexed
    batch that is; None if none is known."""
    positions = index.positions()
    slot = max(int(np.searchsorted(positions, position, "right")) - 1, 0)
    with follow(snapshot.files.path(segment)) as log:
        for entry in positions[slot:].tolist():
            offset = first_offset_at(log, entry, log.size())
            if offset is None or offset > start:
                return offset
    return None


def _position(snapshot: PartitionSnapshot, segment: ListedSegment, offset: int) -> int:
    return read_offset_index(snapshot.files, segment).lookup(offset).position
