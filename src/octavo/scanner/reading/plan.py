"""Divides what a scan will read into independent tasks, which any process can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.scanner.lookup.bounds import Bounds, OffsetRange
from octavo.scanner.partition.index_files import read_offset_index
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.places.location import Location, ReadableFile
from octavo.scanner.places.segment_log import first_offset_at, follow

SPLIT_BYTES = 128 << 20
_Part = TypeVar("_Part")
IsolationLevel = Literal["read_uncommitted", "read_committed"]


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """A part of a log file between two batch starts, or up to the end of its batches.

    The positions refer to the planned file; if it has changed since, the reader goes by the offsets.
    """

    name: str
    start: int
    end: int
    size: int
    first_offset: int  # of the batch at `start`; at the start of the file, the segment's base offset
    end_offset: int  # exclusive


class RecordFilter(NamedTuple):
    """Which records are wanted: those with this key whose value matches a pattern (RE2) somewhere; None matches all."""

    key: bytes | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What to read from each partition, and how."""

    bounds: Bounds
    isolation_level: IsolationLevel
    columns: tuple[str, ...]
    split_bytes: int
    max_unpacked_bytes: int | None
    where: RecordFilter | None = None
    text: bool = False

    @property
    def is_committed(self) -> bool:
        return self.isolation_level == "read_committed"

    @property
    def limits(self) -> tuple[int, int | None, RecordFilter | None]:
        """The last three arguments of `plan_partition`."""
        return self.split_bytes, self.max_unpacked_bytes, self.where


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A part of a scan: some records of one partition, in offset order. It can be pickled, and read in any process."""

    folder: Location
    topic: str
    partition: int
    start_offset: int
    end_offset: int  # exclusive
    ranges: tuple[SegmentRange, ...]
    aborted: tuple[AbortedTxn, ...]  # their records are left out; empty for read_uncommitted
    # None: `aborted` is complete. Otherwise an index may be missing, and the log is searched, up to this offset at
    # most.
    replay_end: int | None = None
    max_unpacked_bytes: int | None = None  # the limit for a decompressed batch; None: the default
    where: RecordFilter | None = None  # None: all records are wanted

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        return sum(part.end - part.start for part in self.ranges)


def plan_partition(
    snapshot: PartitionSnapshot,
    offsets: OffsetRange,
    split_bytes: int = SPLIT_BYTES,
    max_unpacked_bytes: int | None = None,
    where: RecordFilter | None = None,
) -> list[ReadTask]:
    """The tasks for these offsets of a partition, each of about `split_bytes` at most, if the indexes allow it."""
    if offsets.start >= offsets.end:
        return []
    ranges: list[SegmentRange] = []
    for slot in range(len(snapshot.segments)):
        ranges += _ranges(snapshot, slot, offsets, split_bytes)
    transactions = snapshot.transactions
    aborted = transactions.aborted if transactions else ()
    first_offsets, last_offsets = np.array([txn[1:3] for txn in aborted], np.int64).reshape(-1, 2).T
    tasks = []
    for group in grouped(ranges, lambda part: part.end - part.start, split_bytes):
        start, end = max(offsets.start, group[0].first_offset), min(offsets.end, group[-1].end_offset)
        overlapping = np.flatnonzero((first_offsets < end) & (last_offsets >= start))
        left_out = tuple(aborted[slot] for slot in overlapping.tolist())
        replay_end = transactions.last_stable_offset if transactions and start < transactions.unindexed_below else None
        place = snapshot.files.location, *snapshot.files.topic_partition
        tasks.append(ReadTask(*place, start, end, tuple(group), left_out, replay_end, max_unpacked_bytes, where))
    return tasks


def grouped(
    parts: Sequence[_Part], size_of: Callable[[_Part], int], most_bytes: int, fewest: int = 1
) -> list[list[_Part]]:
    """Group neighbours up to a size, but into at least `fewest` groups, if there are as many parts."""
    groups: list[list[_Part]] = []
    left = 0
    for place, part in enumerate(parts):
        size = size_of(part)
        if not groups or size > left or len(groups) + len(parts) - place <= fewest:
            groups.append([])
            left = most_bytes
        groups[-1].append(part)
        left -= size
    return groups


def _ranges(snapshot: PartitionSnapshot, slot: int, offsets: OffsetRange, split_bytes: int) -> list[SegmentRange]:
    """The parts of a segment's file that hold wanted offsets."""
    segment, end_offset = snapshot.segments[slot], snapshot.end_of(slot)
    is_last = slot + 1 == len(snapshot.segments)
    end = snapshot.batches_end(slot)
    size = snapshot.tail.size if is_last and snapshot.tail is not None else segment.log.size
    if end == 0 or end_offset <= offsets.start or segment.base_offset >= offsets.end:
        return []
    whole = SegmentRange(segment.name(), 0, end, size, segment.base_offset, min(end_offset, offsets.end))
    if offsets.start <= segment.base_offset and end_offset <= offsets.end and end <= split_bytes:
        return [whole]
    try:
        index = read_offset_index(snapshot.files, segment)
        with follow(snapshot.files.path(segment)) as log:
            cuts = _cuts(index, log, whole, offsets, split_bytes)
    except OSError:
        return [whole]  # replaced since the snapshot, or unreadable: the reader goes by offsets, or reports it
    return [
        SegmentRange(whole.name, position, next_position, size, first_offset, min(next_offset, whole.end_offset))
        for (position, first_offset), (next_position, next_offset) in pairwise(cuts)
    ]


def _cuts(
    index: OffsetIndex, log: ReadableFile, whole: SegmentRange, offsets: OffsetRange, split_bytes: int
) -> list[tuple[int, int]]:
    """Positions with the offset of the batch there, at about equal distances; the last is the end.

    The index is only a hint: its positions are used only where a sound batch begins.
    """
    positions, end = index.positions(), whole.end
    cuts = [(0, whole.first_offset)]
    if offsets.start > whole.first_offset:
        entry = index.lookup(offsets.start)
        first_offset = first_offset_at(log, entry.position, end)
        if first_offset is not None and whole.first_offset <= first_offset <= entry.offset:
            cuts = [(entry.position, first_offset)]
    # The batch of the entry before this one may still hold wanted offsets.
    beyond = int(np.searchsorted(index.offsets(), offsets.end)) + 1
    if beyond < len(index):
        first_offset = first_offset_at(log, int(positions[beyond]), end)
        if first_offset is not None and first_offset >= offsets.end:
            end = int(positions[beyond])
    while end - cuts[-1][0] > split_bytes:
        slot = int(np.searchsorted(positions, cuts[-1][0] + split_bytes))
        if slot >= len(index) or positions[slot] >= end:
            break
        first_offset = first_offset_at(log, int(positions[slot]), end)
        if first_offset is None or first_offset <= cuts[-1][1]:
            break  # a damaged index: the rest stays in one piece
        cuts.append((int(positions[slot]), first_offset))
    return [*cuts, (end, whole.end_offset)]
