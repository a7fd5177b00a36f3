"""Reads the keys of a log's dirty part, then forms groups of segments that can be cleaned independently."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octavo.config import LogConfig
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.kernels.integers import INT32_MAX
from octavo.storage.cleaner.build_map import build_map
from octavo.storage.cleaner.offset_map import OffsetMap
from octavo.storage.cleaner.plan import CleanPlan
from octavo.storage.cleaner.transactions import CleanedTransactions, collect_aborted, discardable, transaction_events
from octavo.storage.rewriting.source import OnBytes, SourceSegment, located, read_chunks
from octavo.storage.segment.segment import Segment
from octavo.system.clock import SystemClock
from octavo.system.filesystem import FileSystem, LocalFileSystem


@dataclass(frozen=True, slots=True)
class GroupTask:
    """Segments to be rewritten as one. Picklable if the offset map was spilled to a file."""

    plan: CleanPlan
    segments: tuple[SourceSegment, ...]
    transactions: CleanedTransactions  # as they stand at the start of the group
    offset_map: OffsetMap

    @property
    def base_offset(self) -> int:
        return self.segments[0].base_offset

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)


@dataclass(frozen=True, slots=True)
class MappedLog:
    """The result of mapping the keys: how far the log will be clean, and the groups to clean."""

    end_offset: int  # the first dirty offset of the next cleaning
    keys: int
    groups: tuple[GroupTask, ...]


def ignore_bytes(count: int) -> None:
    """For cleanings that are neither throttled nor aborted."""


def map_keys(plan: CleanPlan, filesystem: FileSystem | None = None, on_bytes: OnBytes = ignore_bytes) -> MappedLog:
    """Read the dirty part, and group all segments that begin before the offset up to which keys are known."""
    filesystem = filesystem or LocalFileSystem()
    end, transactions, dirty = plan.first_uncleanable_offset, CleanedTransactions(), plan.dirty
    if dirty:
        aborted = collect_aborted(plan.txn_indexes, dirty[0].base_offset, plan.log_start_offset, end)
        transactions.add_aborted(aborted)
    offset_map, events = build_map(plan, transactions, filesystem, on_bytes)
    end_offset = offset_map.table.latest_offset + 1
    segments = [segment for segment in plan.segments if segment.base_offset < end_offset]
    groups = [tuple(group) for group in group_segments(segments, plan.config, end)]
    if plan.spill_to is not None and groups:
        offset_map = offset_map.spill(plan.spill_to)
    tasks = tuple(
        GroupTask(plan, group, begun, offset_map)
        for group, begun in zip(groups, _begun(plan, groups, events, filesystem), strict=True)
    )
    return MappedLog(end_offset, offset_map.table.size, tasks)


def group_segments(
    segments: Sequence[SourceSegment], config: LogConfig, first_uncleanable_offset: int
) -> list[list[SourceSegment]]:
    """Form groups: a segment joins the group before it if their log files together have at most segment.bytes, their
    indexes of each kind at most segment.index.bytes, and the last offset that it can hold, relative to the group's base
    offset, fits into an index entry.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [first_uncleanable_offset]
    groups: list[list[SourceSegment]] = []
    size = offset_index_bytes = time_index_bytes = 0
    for segment, end in zip(segments, ends, strict=True):
        size += segment.size
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        fits = size <= config.segment_bytes and max(offset_index_bytes, time_index_bytes) <= config.segment_index_bytes
        # An empty segment has no offset that could be too large.
        if groups and fits and (segment.size == 0 or end - 1 - groups[-1][0].base_offset <= INT32_MAX):
            groups[-1].append(segment)
            continue
        groups.append([segment])
        size, offset_index_bytes = segment.size, segment.offset_index_bytes
        time_index_bytes = segment.time_index_bytes
    return groups


def aborted_in(plan: CleanPlan, group: Sequence[SourceSegment], place: int, filesystem: FileSystem) -> list[AbortedTxn]:
    """The aborted transactions that affect a segment of a group, from its transaction index and the later ones."""
    segment = group[place]
    if not any(base_offset >= segment.base_offset for base_offset in plan.txn_indexes):
        return []
    if place + 1 < len(group):
        upper_bound = group[place + 1].base_offset
    else:
        opened = Segment(plan.folder, segment.base_offset, plan.config, filesystem, SystemClock())
        upper_bound = opened.tail().next_offset
    return collect_aborted(plan.txn_indexes, segment.base_offset, plan.log_start_offset, upper_bound)


def _begun(
    plan: CleanPlan,
    groups: Sequence[tuple[SourceSegment, ...]],
    events: Mapping[int, Sequence[NDArray[np.void]]],
    filesystem: FileSystem,
) -> Iterator[CleanedTransactions]:
    """The state of transactions at the start of each group. Known events save reading a segment again."""
    transactions = CleanedTransactions()
    for group in groups:
        transactions.retained.clear()
        yield copy.deepcopy(transactions)
        if group is groups[-1]:
            return
        for place, segment in enumerate(group):
            transactions.add_aborted(aborted_in(plan, group, place, filesystem))
            for passed in events.get(segment.base_offset) or _read_events(plan, segment, filesystem):
                deque(discardable(transactions, passed), maxlen=0)


def _read_events(plan: CleanPlan, segment: SourceSegment, filesystem: FileSystem) -> Iterator[NDArray[np.void]]:
    path = segment.path(plan.folder)
    for chunk in read_chunks(filesystem, path, segment.size):
        with located(path, chunk):
            yield transaction_events(chunk.data, chunk.table)
