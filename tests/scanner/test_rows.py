"""Which batches are delivered: the quick answer for ordinary chunks agrees with the rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import summarize
from octavo.format.record import TimestampType
from octavo.kernels.layout import BATCH, CONTROL, LOG_APPEND_TIME, TRANSACTIONAL
from octavo.scanner.reading.aborted import AbortedRanges
from octavo.scanner.reading.rows import all_delivered, delivered, needs_offsets, timestamp_types

ROWS = 4


def ordinary() -> NDArray[np.void]:
    """Batches of three records each, from offset 10 on."""
    table = np.zeros(ROWS, BATCH)
    table["magic"] = 2
    table["count"] = 3
    table["last_offset_delta"] = 2
    table["base_offset"] = 10 + 3 * np.arange(ROWS)
    table["producer_id"] = table["base_sequence"] = -1
    return table


def test_all_of_an_ordinary_chunk_is_delivered() -> None:
    assert all_delivered(summarize(ordinary()), 10, 22)
    assert all_delivered(summarize(ordinary()), 0, 100)


def test_not_all_is_delivered_where_a_rule_applies() -> None:
    assert not all_delivered(summarize(ordinary()), 11, 22)
    assert not all_delivered(summarize(ordinary()), 10, 21)
    assert not all_delivered(summarize(ordinary()[:0]), 0, 100)
    changes = [("flaws", 1), ("magic", 1), ("magic", 0), ("base_offset", 3), ("count", 0), ("last_offset_delta", -1)]
    changes += [("attributes", flag) for flag in (CONTROL, TRANSACTIONAL, LOG_APPEND_TIME)]
    for name, value in changes:
        for row in range(1, ROWS):
            table = ordinary()
            table[name][row] = value
            assert not all_delivered(summarize(table), 0, 100), (name, row)


def test_all_delivered_agrees_with_the_rules() -> None:
    random = np.random.default_rng(7)
    said = 0
    for _ in range(2000):
        table = ordinary()
        for name, values in (("magic", (2, 2, 2, 1)), ("attributes", (0, 0, 0, 1, LOG_APPEND_TIME, TRANSACTIONAL))):
            table[name] = random.choice(values, ROWS) if random.random() < 0.3 else values[0]
        if random.random() < 0.2:
            random.shuffle(table)
        start, end = int(random.integers(0, 14)), int(random.integers(18, 30))
        if all_delivered(summarize(table), start, end):
            said += 1
            assert len(delivered(table, start, end, AbortedRanges([]))) == ROWS
            assert not needs_offsets(table, start, end)
            assert [kind for _, kind in timestamp_types(table)] == [TimestampType.CREATE_TIME]
    assert said > 100
