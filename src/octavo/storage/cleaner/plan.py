"""What a cleaning run is about: all that counts of a log, as values that can be sent elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from octavo.config import LogConfig
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.range import CleanableRange, DirtyLog, DirtySegment, cleanable_range
from octavo.storage.cleaner.transactions import SegmentTxnIndex
from octavo.storage.cleaner.verdicts import ActiveProducers
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.source import SourceSegment
from octavo.storage.segment.segment import Segment


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """A run. Its segments are those before the first uncleanable offset, from the log's first on."""

    folder: Path
    config: LogConfig
    segments: tuple[SourceSegment, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    log_start_offset: int
    start_position: int  # in the segment of the first dirty offset: not behind its batch
    txn_indexes: tuple[SegmentTxnIndex, ...]  # of all segments that have one
    producers: ActiveProducers
    now_ms: int
    limits: MapLimits

    @property
    def size(self) -> int:
        """The bytes of the dirty segments."""
        return sum(segment.size for segment in self.dirty)

    @property
    def dirty(self) -> list[SourceSegment]:
        return [segment for segment in self.segments if segment.end_offset > self.first_dirty_offset]

    @property
    def delete_horizon_ms(self) -> int:
        """C11: what tombstones and markers get that this run is the first to keep."""
        return self.now_ms + self.config.delete_retention_ms

    @property
    def legacy_horizon_ms(self) -> int:
        """C11: tombstones of magic 0 and 1 go with segments that did not change after this time."""
        clean = [segment for segment in self.segments if segment.base_offset < self.first_dirty_offset]
        return clean[-1].mtime_ms - self.config.delete_retention_ms if clean else 0


def range_of(log: PartitionLog, checkpoint: int | None, now_ms: int) -> CleanableRange:
    """What of a log can be cleaned now; `checkpoint` is its line in cleaner-offset-checkpoint."""
    return cleanable_range(dirty_log(log, checkpoint), log.config, now_ms)


def dirty_log(log: PartitionLog, checkpoint: int | None) -> DirtyLog:
    """What decides about cleaning a log."""
    segments = [
        DirtySegment(segment.base_offset, segment.size, segment.largest_timestamp, segment.first_timestamp)
        for segment in log.segments
    ]
    return DirtyLog(segments, log.log_start_offset, log.log_end_offset, log.last_stable_offset, checkpoint)


def plan_cleaning(log: PartitionLog, cleanable: CleanableRange, limits: MapLimits, now_ms: int) -> CleanPlan:
    """A run over the cleanable range of a log."""
    with log.state.lock:
        all_segments, first_dirty = list(log.segments), cleanable.first_dirty_offset
        producers = ActiveProducers.of(log.state.producers.state.producers)
    segments = [each for each in all_segments if each.base_offset < cleanable.first_uncleanable_offset]
    ends = [each.base_offset for each in segments[1:]] + [cleanable.first_uncleanable_offset]
    holder = log.segments.floor(first_dirty)
    indexes = [SegmentTxnIndex(each.base_offset, each.files.txn_index.aborted()) for each in all_segments]
    return CleanPlan(
        folder=log.folder,
        config=log.config,
        segments=tuple(_source(segment, end) for segment, end in zip(segments, ends, strict=True)),
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=cleanable.first_uncleanable_offset,
        log_start_offset=log.log_start_offset,
        start_position=0 if holder is None else holder.index_entry(first_dirty).position,
        txn_indexes=tuple(index for index in indexes if index.aborted),
        producers=producers,
        now_ms=now_ms,
        limits=limits,
    )


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
