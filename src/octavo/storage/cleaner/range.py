"""Decides which part of a log is dirty and can be cleaned now, how dirty it is, and what prevents cleaning the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from octavo.config import LogConfig


class Hold(StrEnum):
    """What keeps the cleaner from going further."""

    ACTIVE_SEGMENT = "the active segment"
    LAST_STABLE_OFFSET = "the last stable offset"
    MIN_COMPACTION_LAG = "min.compaction.lag.ms"


class DirtySegment(NamedTuple):
    """The facts about a segment that the decision depends on."""

    base_offset: int
    size: int
    largest_timestamp: int  # of its records, or its file's modification time if they have none
    first_timestamp: int  # of its first batch, -1 if there is none


class DirtyLog(NamedTuple):
    """The facts about a log that the decision depends on; its last segment is the active one."""

    segments: Sequence[DirtySegment]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    checkpoint: int | None  # the first dirty offset according to cleaner-offset-checkpoint


class CleanableRange(NamedTuple):
    """Offsets from `first_dirty_offset` up to, but not including, `first_uncleanable_offset` can be cleaned."""

    first_dirty_offset: int
    first_uncleanable_offset: int  # a segment's base offset
    uncleanable_offset: int  # the same before rounding down to a segment
    hold: Hold
    is_checkpoint_invalid: bool  # the checkpoint lies outside the log, so everything is dirty again
    clean_bytes: int
    cleanable_bytes: int
    delay_ms: int  # by how much max.compaction.lag.ms is exceeded

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def ratio(self) -> float:
        """The cleanable share of the clean and cleanable bytes; 0 if there are none."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    def is_eligible(self, config: LogConfig) -> bool:
        """Whether the log is dirty enough, or overdue."""
        is_overdue = self.delay_ms > 0 and self.cleanable_bytes > 0
        return self.total_bytes > 0 and (is_overdue or self.ratio > config.min_cleanable_dirty_ratio)


def cleanable_range(log: DirtyLog, config: LogConfig, now_ms: int) -> CleanableRange:
    """The range from the checkpoint up to the first segment that must not be touched, and how dirty it is."""
    checkpoint = log.log_start_offset if log.checkpoint is None else log.checkpoint
    is_invalid = not log.log_start_offset <= checkpoint <= log.log_end_offset
    first_dirty = log.log_start_offset if is_invalid else checkpoint
    bases = [segment.base_offset for segment in log.segments]
    *inactive, active = log.segments
    dirty = inactive[_floor(bases, first_dirty) :] if first_dirty <= active.base_offset else []
    limit, hold = _hold(log, dirty, config, now_ms)
    limit = max(first_dirty, limit)
    first_uncleanable = min(bases[_floor(bases, limit)], active.base_offset)
    cleanable_from = min(first_dirty, first_uncleanable)
    cleanable = log.segments[_floor(bases, cleanable_from) : bisect_left(bases, first_uncleanable)]
    timestamps = [segment.first_timestamp for segment in dirty if segment.first_timestamp > 0]
    return CleanableRange(
        first_dirty,
        first_uncleanable,
        limit,
        hold,
        is_invalid,
        sum(segment.size for segment in log.segments[: bisect_left(bases, first_dirty)]),
        sum(segment.size for segment in cleanable) if cleanable_from < first_uncleanable else 0,
        max(now_ms - config.max_compaction_lag_ms - min(timestamps), 0) if timestamps else 0,
    )


def _hold(log: DirtyLog, dirty: Sequence[DirtySegment], config: LogConfig, now_ms: int) -> tuple[int, Hold]:
    holds = [
        (log.segments[-1].base_offset, Hold.ACTIVE_SEGMENT),
        (log.last_stable_offset, Hold.LAST_STABLE_OFFSET),
    ]
    if config.min_compaction_lag_ms > 0:
        young_from = now_ms - config.min_compaction_lag_ms
        young = (segment.base_offset for segment in dirty if segment.largest_timestamp > young_from)
        holds += [(base_offset, Hold.MIN_COMPACTION_LAG) for base_offset in young]
    return min(holds, key=lambda hold: hold[0])


def _floor(bases: Sequence[int], offset: int) -> int:
    """The index, in `bases`, of the segment that holds the offset; 0 if all segments begin after it."""
    return max(bisect_right(bases, offset) - 1, 0)
