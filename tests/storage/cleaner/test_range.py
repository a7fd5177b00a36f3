"""Which part of a log can be cleaned, how dirty it is, and what prevents cleaning the rest."""

from __future__ import annotations

import pytest

from octavo.config import LogConfig
from octavo.storage.cleaner.explain import HoldingTransaction, explain
from octavo.storage.cleaner.range import CleanableRange, DirtyLog, DirtySegment, Hold, cleanable_range

NOW = 1_000_000


def log(
    *segments: tuple[int, int], checkpoint: int | None = None, start: int = 0, end: int = 1000, stable: int = 1000
) -> DirtyLog:
    """Segments of (base offset, size); their timestamps are from their base offset to 100 more."""
    facts = [DirtySegment(base, size, base + 100, base) for base, size in segments]
    return DirtyLog(facts, start, end, stable, checkpoint)


THREE = (0, 100), (100, 300), (200, 600), (300, 50)  # and the active one


def ranged(dirty: DirtyLog, now_ms: int = NOW, **configs: object) -> CleanableRange:
    named = {name.replace("_", "."): str(value) for name, value in configs.items()}
    return cleanable_range(dirty, LogConfig.of(named), now_ms)


def test_the_checkpoint_separates_clean_from_dirty() -> None:
    # C8 C9
    found = ranged(log(*THREE, checkpoint=200))
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (200, 300)
    assert (found.clean_bytes, found.cleanable_bytes, found.ratio) == (400, 600, 0.6)
    assert found.hold is Hold.ACTIVE_SEGMENT and not found.is_checkpoint_invalid


def test_the_active_segment_is_never_cleaned() -> None:
    # C8
    found = ranged(log((0, 5000)))
    assert (found.first_uncleanable_offset, found.cleanable_bytes, found.total_bytes) == (0, 0, 0)
    assert not found.is_eligible(LogConfig.of())


def test_a_checkpoint_inside_a_segment_counts_it_on_both_sides() -> None:
    found = ranged(log(*THREE, checkpoint=150))
    assert (found.clean_bytes, found.cleanable_bytes) == (400, 900)


@pytest.mark.parametrize(("checkpoint", "start"), [(5, 10), (2000, 10)])
def test_a_checkpoint_outside_the_log_is_forgotten(checkpoint: int, start: int) -> None:
    found = ranged(log(*THREE, checkpoint=checkpoint, start=start))
    assert (found.first_dirty_offset, found.is_checkpoint_invalid) == (10, True)


def test_an_open_transaction_holds_its_segment_back() -> None:
    found = ranged(log(*THREE, stable=150))
    assert (found.uncleanable_offset, found.first_uncleanable_offset) == (150, 100)
    assert (found.hold, found.cleanable_bytes) == (Hold.LAST_STABLE_OFFSET, 100)


def test_young_records_hold_their_segment_back() -> None:
    # C8
    found = ranged(log(*THREE), now_ms=250, min_compaction_lag_ms=60)
    assert (found.hold, found.first_uncleanable_offset) == (Hold.MIN_COMPACTION_LAG, 100)


def test_only_a_ratio_above_the_least_is_enough() -> None:
    # C9
    found = ranged(log(*THREE, checkpoint=200))
    assert found.is_eligible(LogConfig.of({"min.cleanable.dirty.ratio": 0.59}))
    assert not found.is_eligible(LogConfig.of({"min.cleanable.dirty.ratio": 0.6}))


def test_what_is_overdue_is_cleaned_whatever_the_ratio() -> None:
    config = {"max_compaction_lag_ms": 1000, "min_cleanable_dirty_ratio": 1}
    late, early = ranged(log(*THREE), now_ms=1150, **config), ranged(log(*THREE), now_ms=1100, **config)
    named = LogConfig.of({name.replace("_", "."): str(value) for name, value in config.items()})
    assert (late.delay_ms, late.is_eligible(named)) == (50, True)  # since 100: a first timestamp of 0 does not count
    assert (early.delay_ms, early.is_eligible(named)) == (0, False)


def test_nothing_is_dirty_after_the_last_run() -> None:
    found = ranged(log(*THREE, checkpoint=300))
    assert (found.cleanable_bytes, found.ratio, found.clean_bytes) == (0, 0.0, 1000)


def test_the_reasons_are_reported() -> None:
    facts = log(*THREE, checkpoint=200, stable=250)
    config = LogConfig.of({"cleanup.policy": "compact"})
    found = cleanable_range(facts, config, NOW)
    told = explain(facts, found, config, HoldingTransaction(7, 250, 90), NOW)
    assert "producer 7 from offset 250 on, open for 90 ms" in told.hold
    assert "0 of 400 bytes are dirty" in told.verdict and not told.is_eligible
    young = LogConfig.of({"cleanup.policy": "compact", "min.compaction.lag.ms": 60})
    told = explain(facts, cleanable_range(facts, young, 350), young, None, 350)
    assert "the segment at offset 200 has a record 50 ms old" in told.hold
    told = explain(facts, found, LogConfig.of(), None, NOW)
    assert told.verdict == "cleanup.policy is delete, without compact" and not told.is_compacted
