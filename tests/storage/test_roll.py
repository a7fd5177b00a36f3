"""The four conditions of a roll."""

from __future__ import annotations

from typing import Any, NamedTuple

from octavo.config import LogConfig
from octavo.storage.log.roll import RollReason, new_base_offset, roll_reason


class FakeSegment(NamedTuple):
    """The facts about the active segment that the decision to roll depends on."""

    base_offset: int
    size: int
    first_timestamp: int
    created_ms: int
    jitter_ms: int
    is_index_full: bool


class Incoming(NamedTuple):
    """The facts about the incoming batches that the decision depends on."""

    size: int
    last_offset: int
    max_timestamp: int


CONFIG = LogConfig.of({"segment.bytes": 1000, "segment.ms": 500})
ACTIVE: Any = FakeSegment(10, size=900, first_timestamp=2000, created_ms=7000, jitter_ms=0, is_index_full=False)
INCOMING = Incoming(size=100, last_offset=20, max_timestamp=2500)


def test_a_segment_does_not_roll_without_a_reason() -> None:
    assert roll_reason(ACTIVE, *INCOMING, CONFIG, 7000) is None


# I5: each of the conditions
def test_a_segment_rolls_when_its_size_would_pass_segment_bytes() -> None:
    assert roll_reason(ACTIVE, *INCOMING._replace(size=101), CONFIG, 7000) is RollReason.SIZE


# I5
def test_a_segment_rolls_when_its_age_passes_segment_ms() -> None:
    later = INCOMING._replace(max_timestamp=2501)
    assert roll_reason(ACTIVE, *later, CONFIG, 7000) is RollReason.TIME
    assert roll_reason(ACTIVE._replace(size=0), *later, CONFIG, 7000) is None
    assert roll_reason(ACTIVE._replace(jitter_ms=1), *INCOMING, CONFIG, 7000) is RollReason.TIME
    assert roll_reason(ACTIVE, *INCOMING, CONFIG, 999_999) is None  # the clock does not count


def test_clock_counts_where_the_first_batch_has_no_timestamp() -> None:
    without = ACTIVE._replace(first_timestamp=-1)
    assert roll_reason(without, *INCOMING, CONFIG, 7500) is None
    assert roll_reason(without, *INCOMING, CONFIG, 7501) is RollReason.TIME


def test_compacted_log_rolls_in_time_for_its_cleaner() -> None:
    configs = {"segment.bytes": 1000, "segment.ms": 500, "max.compaction.lag.ms": 400}
    compacted = LogConfig.of({**configs, "cleanup.policy": "compact"})
    assert roll_reason(ACTIVE, *INCOMING._replace(max_timestamp=2401), compacted, 7000) is RollReason.TIME
    assert roll_reason(ACTIVE, *INCOMING._replace(max_timestamp=2401), LogConfig.of(configs), 7000) is None


# I5
def test_a_segment_rolls_when_an_index_is_full() -> None:
    assert roll_reason(ACTIVE._replace(is_index_full=True), *INCOMING, CONFIG, 7000) is RollReason.INDEX_FULL


# I5
def test_a_segment_rolls_when_a_relative_offset_would_pass_its_range() -> None:
    last = INCOMING._replace(last_offset=10 + 2**31 - 1)
    assert roll_reason(ACTIVE, *last, CONFIG, 7000) is None
    beyond = INCOMING._replace(last_offset=10 + 2**31)
    assert roll_reason(ACTIVE, *beyond, CONFIG, 7000) is RollReason.OFFSET_RANGE


def test_a_new_segment_begins_at_the_first_offset_but_not_before_the_logs_end() -> None:
    assert new_base_offset(50, 60, 40) == 50
    assert new_base_offset(30, 60, 40) == 40
    assert new_base_offset(None, 2**31 + 60, 40) == 61
