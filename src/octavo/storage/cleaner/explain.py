"""Explains in numbers and in a sentence why a log is cleaned or not, and what holds the cleaner back."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.config import LogConfig
from octavo.storage.cleaner.range import CleanableRange, DirtyLog, Hold
from octavo.storage.partition_log import PartitionLog


@dataclass(frozen=True, slots=True)
class HoldingTransaction:
    """An open transaction: nothing from its first offset on is stable, so it holds the cleaner back."""

    producer_id: int
    first_offset: int
    age_ms: int | None  # since its first batch; None if that is missing or has no timestamp


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was decided about a log, and why."""

    cleanable: CleanableRange
    is_compacted: bool  # cleanup.policy has compact
    is_eligible: bool
    verdict: str  # why it is due, or why not
    hold: str  # what keeps the rest from being cleaned
    open_transaction: HoldingTransaction | None


def open_transaction(log: PartitionLog, now_ms: int) -> HoldingTransaction | None:
    """The earliest of a log's open transactions."""
    with log.lock:
        ongoing = log.producers.transactions.ongoing
    if not ongoing:
        return None
    first_offset, producer_id = next(iter(ongoing.items()))
    segment = log.segments.floor(first_offset)
    place = None if segment is None else segment.find_batch(first_offset)
    if segment is None or place is None:
        return HoldingTransaction(producer_id, first_offset, None)
    timestamp = int(segment.files.log.read_batch(place)[1]["max_timestamp"][0])
    return HoldingTransaction(producer_id, first_offset, now_ms - timestamp if timestamp >= 0 else None)


def explain(
    log: DirtyLog, cleanable: CleanableRange, config: LogConfig, opened: HoldingTransaction | None, now_ms: int
) -> Explanation:
    """Explain the decision that follows from these values."""
    is_compacted = "compact" in config.cleanup_policy
    is_eligible = is_compacted and cleanable.is_eligible(config)
    opened = opened if cleanable.hold is Hold.LAST_STABLE_OFFSET else None
    hold = _hold(log, cleanable, config, opened, now_ms)
    return Explanation(cleanable, is_compacted, is_eligible, _verdict(cleanable, config), hold, opened)


def _verdict(cleanable: CleanableRange, config: LogConfig) -> str:
    if "compact" not in config.cleanup_policy:
        return f"cleanup.policy is {','.join(config.cleanup_policy) or 'empty'}, without compact"
    least = config.min_cleanable_dirty_ratio
    ratio = f"{cleanable.cleanable_bytes} of {cleanable.total_bytes} bytes are dirty, a ratio of {cleanable.ratio:.3f}"
    if not cleanable.total_bytes:
        return "nothing can be cleaned yet"
    if cleanable.ratio > least:
        return f"{ratio}, more than min.cleanable.dirty.ratio {least}"
    if cleanable.delay_ms > 0 and cleanable.cleanable_bytes > 0:
        return f"{ratio}; overdue by {cleanable.delay_ms} ms: max.compaction.lag.ms is {config.max_compaction_lag_ms}"
    return f"{ratio}, not more than min.cleanable.dirty.ratio {least}"


def _hold(
    log: DirtyLog, cleanable: CleanableRange, config: LogConfig, opened: HoldingTransaction | None, now_ms: int
) -> str:
    offset = cleanable.uncleanable_offset
    if cleanable.hold is Hold.MIN_COMPACTION_LAG:
        young = next(segment for segment in log.segments if segment.base_offset >= cleanable.first_uncleanable_offset)
        age_ms = now_ms - young.largest_timestamp
        lag = f"min.compaction.lag.ms is {config.min_compaction_lag_ms}"
        return f"the segment at offset {young.base_offset} has a record {age_ms} ms old, and {lag}"
    if cleanable.hold is Hold.LAST_STABLE_OFFSET:
        if opened is None:
            return f"the high watermark, offset {offset}"
        age = "of unknown age" if opened.age_ms is None else f"open for {opened.age_ms} ms"
        where = f"from offset {opened.first_offset} on"
        return f"a transaction of producer {opened.producer_id} {where}, {age}"
    return f"the active segment from offset {cleanable.first_uncleanable_offset} on, which is never cleaned"
