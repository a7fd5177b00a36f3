"""How offset ranges are divided, and how micro-batches are limited: pure rules, as in Spark's Kafka source."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

import itertools

from octavo.format.names import TopicPartition
from octavo.spark.source.micro_batch import backlog, limit_bytes, limit_offsets, must_wait
from octavo.spark.source.offset_ranges import PartitionRange, divide

A, B, C = (TopicPartition("t", number) for number in range(3))


def test_without_options_a_range_stays_whole_and_empty_ones_are_dropped() -> None:
    ranges = [PartitionRange(A, 0, 100), PartitionRange(B, 5, 5), PartitionRange(C, 9, 3)]
    assert divide(ranges, None, None) == [PartitionRange(A, 0, 100)]


def test_enough_partitions_are_not_cut() -> None:
    ranges = [PartitionRange(A, 0, 100), PartitionRange(B, 0, 1)]
    assert divide(ranges, 2, None) == ranges


@pytest.mark.parametrize(
    ("ranges", "number", "sizes"),
    [
        ([(A, 1, 5)], 4, [1, 1, 1, 1]),
        ([(A, 0, 10)], 4, [2, 2, 3, 3]),
        ([(A, 0, 100), (B, 0, 100)], 3, [50, 50, 50, 50]),  # one and a half of three each, rounded up to two
        ([(A, 0, 40), (B, 0, 5), (C, 0, 5)], 6, [10, 10, 10, 10, 5, 5]),  # small ones stay whole
    ],
)
def test_min_partitions_cuts_in_proportion(
    ranges: list[tuple[TopicPartition, int, int]], number: int, sizes: list[int]
) -> None:
    divided = divide([PartitionRange(*part) for part in ranges], number, None)
    assert [part.size for part in divided] == sizes
    for name, start, end in ranges:
        pieces = [part for part in divided if part.topic_partition == name]
        assert pieces[0].start == start
        assert pieces[-1].end == end
        assert all(one.end == two.start for one, two in itertools.pairwise(pieces))


def test_max_records_cuts_into_equal_pieces() -> None:
    assert [part.size for part in divide([PartitionRange(A, 0, 10)], None, 4)] == [3, 3, 4]
    assert [part.size for part in divide([PartitionRange(A, 0, 10)], 10, 4)] == [1] * 10


def test_a_partition_that_was_cut_is_not_cut_further_if_one_of_its_ranges_is_small() -> None:
    ranges = [PartitionRange(A, 0, 10), PartitionRange(B, 0, 5)]
    assert [part.size for part in divide(ranges, 6, 4)] == [3, 3, 4, 2, 3], "like Spark's source, which makes 5 tasks"


def test_offsets_are_shared_out_by_backlog() -> None:
    starts, ends = {A: 0, B: 0, C: 7}, {A: 900, B: 100, C: 7}
    assert limit_offsets(100, starts, ends) == {A: 90, B: 10, C: 7}
    assert limit_offsets(1000, starts, ends) == ends
    assert limit_offsets(5, starts, ends) == {A: 4, B: 1, C: 7}, "a small one does not starve"
    assert limit_offsets(10, {A: 5}, {A: 5}) == {A: 5}


def test_bytes_are_shared_out_by_backlog() -> None:
    starts, ends = {A: 0, B: 0}, {A: 30, B: 10}
    limited = limit_bytes(
        100,
        starts,
        ends,
        lambda name, start, end: 10 * (end - start),
        lambda name, start, end, size: start + size // 10,
    )
    assert limited == {A: 7, B: 2}
    assert limit_bytes(400, starts, ends, lambda name, start, end: 10 * (end - start), None) == ends  # type: ignore[arg-type]


def test_a_batch_waits_for_enough_offsets_but_not_for_ever() -> None:
    assert backlog({A: 5}, {A: 10, B: 3}) == 8
    assert must_wait(8, 9, since_last_ms=999, max_delay_ms=1000)
    assert not must_wait(8, 8, since_last_ms=0, max_delay_ms=1000)
    assert not must_wait(0, 9, since_last_ms=1000, max_delay_ms=1000)


@pytest.mark.parametrize("number", [5, 1000, 10**9])
def test_no_more_pieces_are_cut_than_there_are_offsets(number: int) -> None:
    assert divide([PartitionRange(A, 7, 12)], number, None) == [PartitionRange(A, at, at + 1) for at in range(7, 12)]
