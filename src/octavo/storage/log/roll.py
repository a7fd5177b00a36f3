"""When the active segment is closed and a new one begun: a decision over plain values."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from octavo.config import LogConfig
from octavo.format.entry_layout import INT32_MAX


class RollReason(StrEnum):
    """Why a segment is rolled."""

    SIZE = "size"
    TIME = "time"
    INDEX_FULL = "index full"
    OFFSET_RANGE = "offset range"


class ActiveSegment(NamedTuple):
    """What of the active segment counts."""

    base_offset: int
    size: int
    first_timestamp: int  # of its first batch, -1 for none
    created_ms: int
    jitter_ms: int
    is_index_full: bool


class Incoming(NamedTuple):
    """What of the set to append counts."""

    size: int
    last_offset: int
    max_timestamp: int


def max_segment_ms(config: LogConfig) -> int:
    """A compacted log's records must leave the active segment in time to be compacted."""
    compacted = "compact" in config.cleanup_policy
    return min(config.segment_ms, config.max_compaction_lag_ms) if compacted else config.segment_ms


def roll_reason(active: ActiveSegment, incoming: Incoming, config: LogConfig, now_ms: int) -> RollReason | None:
    """Why the segment must be rolled before the append, None if it need not.

    Age goes by the records' timestamps, so that a copy rolls where the original did; the clock counts only where the
    first batch has none.
    """
    if active.size > config.segment_bytes - incoming.size:
        return RollReason.SIZE
    counted_from_records = active.first_timestamp >= 0
    waited_ms = incoming.max_timestamp - active.first_timestamp if counted_from_records else now_ms - active.created_ms
    if active.size > 0 and waited_ms > max_segment_ms(config) - active.jitter_ms:
        return RollReason.TIME
    if active.is_index_full:
        return RollReason.INDEX_FULL
    if not 0 <= incoming.last_offset - active.base_offset <= INT32_MAX:
        return RollReason.OFFSET_RANGE
    return None


def new_base_offset(first_offset: int | None, last_offset: int, log_end_offset: int) -> int:
    """Where the new segment begins. Where an old format hides the first offset, the smallest that fits stands in."""
    return max(last_offset - INT32_MAX if first_offset is None else first_offset, log_end_offset)
