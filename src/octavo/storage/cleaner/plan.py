"""Logs that could be cleaned, and plans: picklable values with all that a cleaning needs to know about a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from octavo.config import LogConfig
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import TopicPartition
from octavo.kernels.layout import CONTROL, NO_PRODUCER_ID
from octavo.kernels.producers import NONE
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.range import CleanableRange, DirtyLog, DirtySegment, cleanable_range
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.partition_log import PartitionLog
from octavo.storage.producers.entry import ProducerStateEntry
from octavo.storage.rewriting.source import SourceSegment
from octavo.storage.segment.segment import Segment

# The offset map for tasks in other processes; Kafka ignores a file of that name.
MAP_FILE = "octavo-offset-map"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A log, and the part of it that could be cleaned when it was looked at."""

    topic_partition: TopicPartition
    log: PartitionLog
    root: LogRoot
    dirty: DirtyLog
    cleanable: CleanableRange

    @classmethod
    def of(
        cls, topic_partition: TopicPartition, log: PartitionLog, root: LogRoot, checkpoint: int | None, now_ms: int
    ) -> Candidate:
        """Look at a log; `checkpoint` is its offset in cleaner-offset-checkpoint."""
        segments = [
            DirtySegment(segment.base_offset, segment.size, segment.largest_timestamp, segment.first_timestamp)
            for segment in log.segments
        ]
        dirty = DirtyLog(segments, log.log_start_offset, log.log_end_offset, log.last_stable_offset, checkpoint)
        return cls(topic_partition, log, root, dirty, cleanable_range(dirty, log.config, now_ms))

    @property
    def size(self) -> int:
        """The bytes that a cleaning reads: the dirty part for its keys, then everything before the uncleanable part."""
        end = self.cleanable.first_uncleanable_offset
        rewritten = sum(segment.size for segment in self.dirty.segments if segment.base_offset < end)
        return self.cleanable.cleanable_bytes + rewritten

    def plan(self, limits: MapLimits, now_ms: int, *, spills: bool = False) -> CleanPlan:
        """The plan of a cleaning; with `spills` it shares its offset map with other processes through a file."""
        log, first_dirty, end = self.log, self.cleanable.first_dirty_offset, self.cleanable.first_uncleanable_offset
        with log.lock:
            all_segments = list(log.segments)
            producers = ActiveProducers.of(log.producers.table)
        segments = [segment for segment in all_segments if segment.base_offset < end]
        ends = [segment.base_offset for segment in segments[1:]] + [end]
        holder = log.segments.floor(first_dirty)
        indexes = {segment.base_offset: segment.files.txn_index.aborted() for segment in all_segments}
        return CleanPlan(
            folder=log.folder,
            config=log.config,
            segments=tuple(_source(segment, end) for segment, end in zip(segments, ends, strict=True)),
            first_dirty_offset=first_dirty,
            first_uncleanable_offset=end,
            log_start_offset=log.log_start_offset,
            start_position=0 if holder is None else holder.index_entry(first_dirty).position,
            txn_indexes={base_offset: aborted for base_offset, aborted in indexes.items() if aborted},
            producers=producers,
            now_ms=now_ms,
            limits=limits,
            spill_to=log.folder / MAP_FILE if spills else None,
        )


@dataclass(frozen=True, slots=True)
class ActiveProducers:
    """The producers that the log remembers, ordered by id, each with the last offset of its data and its epoch."""

    producer_ids: NDArray[np.int64]
    last_data_offsets: NDArray[np.int64]  # -1: no data, only the epoch is known
    epochs: NDArray[np.int64]

    @classmethod
    def of(cls, entries: Iterable[ProducerStateEntry]) -> ActiveProducers:
        rows = sorted(
            (entry.producer_id, entry.batches[-1].last_offset if entry.batches else NONE, entry.epoch)
            for entry in entries
        )
        columns = np.array(rows, np.int64).reshape(-1, 3).T
        return cls(*columns)

    def ends_with(self, table: NDArray[np.void]) -> NDArray[np.bool_]:
        """Which batches hold the last known state of a producer: its last sequence or, without data, its epoch."""
        ids = table["producer_id"]
        if not len(self.producer_ids) or not (ids > NO_PRODUCER_ID).any():
            return np.zeros(len(table), np.bool_)
        slots = np.minimum(np.searchsorted(self.producer_ids, ids), len(self.producer_ids) - 1)
        is_known = (self.producer_ids[slots] == ids) & (ids > NO_PRODUCER_ID)
        last, epochs = self.last_data_offsets[slots], self.epochs[slots]
        is_last_data = last_offsets(table) == last
        is_last_marker = (table["attributes"] & CONTROL != 0) & (table["producer_epoch"] == epochs)
        ends: NDArray[np.bool_] = is_known & np.where(last >= 0, is_last_data, is_last_marker)
        return ends


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """One cleaning of a log, with all segments that begin before the first uncleanable offset. Picklable."""

    folder: Path
    config: LogConfig
    segments: tuple[SourceSegment, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    log_start_offset: int
    start_position: int  # in the segment of the first dirty offset: at or before its batch
    txn_indexes: Mapping[int, Sequence[AbortedTxn]]  # by base offset, of all segments that have one
    producers: ActiveProducers
    now_ms: int
    limits: MapLimits
    spill_to: Path | None  # where tasks in other processes find the offset map

    @property
    def size(self) -> int:
        """The bytes of the dirty segments."""
        return sum(segment.size for segment in self.dirty)

    @property
    def dirty(self) -> list[SourceSegment]:
        return [segment for segment in self.segments if segment.end_offset > self.first_dirty_offset]

    @property
    def delete_horizon_ms(self) -> int:
        """The delete horizon for tombstones and markers that this cleaning is the first to keep."""
        return self.now_ms + self.config.delete_retention_ms

    @property
    def legacy_horizon_ms(self) -> int:
        """Tombstones of magic 0 and 1 are removed if their segment has not changed since this time."""
        clean = [segment for segment in self.segments if segment.base_offset < self.first_dirty_offset]
        return clean[-1].mtime_ms - self.config.delete_retention_ms if clean else 0


def _source(segment: Segment, end_offset: int) -> SourceSegment:
    files = segment.files
    return SourceSegment(
        segment.base_offset,
        segment.size,
        len(files.offset_index) * files.offset_index.entry_bytes,
        len(files.time_index) * files.time_index.entry_bytes,
        files.log.mtime_ms,
        end_offset,
    )
