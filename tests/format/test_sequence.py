"""Sequence numbers: the wrap-around, and what Kafka makes of numbers that only damage produces."""

from __future__ import annotations

import pytest

from octavo.format.sequence import MAX_SEQUENCE, decrement, increment, last_sequence, record_sequence


@pytest.mark.parametrize(
    ("sequence", "by", "expected"),
    [(0, 0, 0), (5, 3, 8), (MAX_SEQUENCE, 1, 0), (MAX_SEQUENCE - 1, 5, 3), (0, MAX_SEQUENCE, MAX_SEQUENCE)],
)
def test_increment_wraps_and_decrement_takes_it_back(sequence: int, by: int, expected: int) -> None:
    assert increment(sequence, by) == expected
    assert decrement(expected, by) == sequence


def test_minus_1_means_no_sequence_and_stays() -> None:
    assert last_sequence(-1, 7) == -1
    assert record_sequence(-1, 7) == -1
    assert last_sequence(3, 7) == 10
    assert record_sequence(3, 7) == 10


@pytest.mark.parametrize(
    ("base", "delta", "expected"),
    [(5, -3, -2147483646), (0, -1, 2147483647), (-5, 3, -2), (7, -(2**31), 7), (-(2**31), 0, -(2**31))],
)
def test_a_damaged_header_gives_what_kafka_shows(base: int, delta: int, expected: int) -> None:
    assert last_sequence(base, delta) == expected
