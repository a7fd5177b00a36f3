"""Decides from plain values which segments retention drops, with a reason for each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from octavo.config import LogConfig


class RetentionReason(StrEnum):
    """The limit that causes a segment to be dropped; limits apply in this order."""

    START_OFFSET = "log start offset"
    SIZE = "retention.bytes"
    TIME = "retention.ms"


class SegmentFacts(NamedTuple):
    """The facts about a segment that the decision depends on."""

    base_offset: int
    end_offset: int  # the next segment's base offset, or the log's end
    size: int
    largest_timestamp: int  # of its records, or its file's modification time if they have none
    is_active: bool


class LogFacts(NamedTuple):
    """The facts about the log that the decision depends on."""

    log_start_offset: int
    high_watermark: int
    now_ms: int


class Verdict(NamedTuple):
    """What happens to a segment, and why."""

    base_offset: int
    reason: RetentionReason | None  # None: it stays
    detail: str


def verdicts(segments: Sequence[SegmentFacts], log: LogFacts, config: LogConfig) -> list[Verdict]:
    """A verdict on each segment, oldest first.

    The limits apply one after the other, each to what the previous one left. Each limit drops segments from the oldest
    on and stops at the first one it keeps. Without `delete` in cleanup.policy only the log start offset counts.
    """
    remaining, found = list(segments), list[Verdict]()
    limits = RetentionReason if "delete" in config.cleanup_policy else (RetentionReason.START_OFFSET,)
    for reason in limits:
        total = left = sum(facts.size for facts in remaining)
        for facts in list(remaining):
            detail = _why_dropped(reason, facts, log, config, total, left)
            if detail is None or facts.end_offset > log.high_watermark or (facts.is_active and facts.size == 0):
                break
            found.append(Verdict(facts.base_offset, reason, detail))
            remaining.pop(0)
            left -= facts.size
    return found + [Verdict(facts.base_offset, None, _why_kept(facts, remaining, log, config)) for facts in remaining]


def _why_dropped(
    reason: RetentionReason, facts: SegmentFacts, log: LogFacts, config: LogConfig, total: int, left: int
) -> str | None:
    """Why a limit drops a segment; None if it does not. The log had `total` bytes before this limit, and has `left`."""
    age_ms = log.now_ms - facts.largest_timestamp
    if reason is RetentionReason.START_OFFSET and not facts.is_active and facts.end_offset <= log.log_start_offset:
        return f"ends at offset {facts.end_offset}, the log starts at {log.log_start_offset}"
    if reason is RetentionReason.SIZE and 0 <= config.retention_bytes <= left - facts.size:
        return f"the log has {total} bytes, retention.bytes is {config.retention_bytes}"
    if reason is RetentionReason.TIME and 0 <= config.retention_ms < age_ms:
        return f"its largest timestamp is {age_ms} ms old, retention.ms is {config.retention_ms}"
    return None


def _why_kept(facts: SegmentFacts, remaining: Sequence[SegmentFacts], log: LogFacts, config: LogConfig) -> str:
    """Why a segment stays. Limits drop the oldest first, so the first segment to stay keeps all the later ones."""
    if facts is not remaining[0]:
        return f"the older segment {remaining[0].base_offset} stays"
    if "delete" not in config.cleanup_policy:
        return f"cleanup.policy is {','.join(config.cleanup_policy) or 'empty'}"
    if facts.is_active and facts.size == 0:
        return "it is the active segment, and empty"
    if facts.end_offset > log.high_watermark:
        return f"it ends at offset {facts.end_offset}, the high watermark is {log.high_watermark}"
    by_time, by_size = f"retention.ms is {config.retention_ms}", f"retention.bytes is {config.retention_bytes}"
    if config.retention_ms >= 0:
        age_ms = log.now_ms - facts.largest_timestamp
        age = f"is {age_ms} ms old" if age_ms >= 0 else f"lies {-age_ms} ms in the future"
        by_time = f"its largest timestamp {age}, {by_time}"
    if config.retention_bytes >= 0:
        by_size = f"it and the rest have {sum(kept.size for kept in remaining)} bytes, {by_size}"
    return f"{by_time}; {by_size}"
