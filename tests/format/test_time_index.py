"""The time index: Kafka's bytes, search, and what its check finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.indexes import time_index
from octavo.format.indexes.time_index import TimeIndex, TimestampOffset

# Eight appends of 2 records each, base offset 1000, max timestamps 10 20 15 30 30 40 5 50, as written by Kafka 4.3.1.
KAFKA = bytes.fromhex(
    "000000000000001400000003000000000000001e0000000700000000000000280000000b00000000000000320000000f"
)
KAFKA_ENTRIES = [(20, 1003), (30, 1007), (40, 1011), (50, 1015)]


def test_a_published_entry_is_read_and_written() -> None:  # I3
    data = bytes.fromhex("00000163639e5a35 00000006")
    assert list(TimeIndex.decode(data, 0)) == [(1526384712245, 6)]
    assert time_index.encode([1526384712245], [6], 0) == data
    assert time_index.encode_entry(TimestampOffset(1526384712245, 106), 100) == data


def test_only_a_larger_timestamp_is_added() -> None:  # I3
    last = TimestampOffset(30, 1007)
    assert not time_index.takes(last, TimestampOffset(29, 1009))
    assert not time_index.takes(last, TimestampOffset(30, 1009))
    assert time_index.takes(last, TimestampOffset(31, 1009))
    assert not time_index.takes(TimeIndex.decode(b"", 1000).last(), TimestampOffset(-1, 1009))


def test_kafkas_bytes_are_read_and_written() -> None:
    index = TimeIndex.decode(KAFKA, 1000)
    assert list(index) == KAFKA_ENTRIES
    assert index.last() == (50, 1015)
    assert time_index.encode(index.timestamps(), index.offsets(), 1000) == KAFKA
    index.sanity_check()


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [(-1, (-1, 1000)), (19, (-1, 1000)), (20, (20, 1003)), (39, (30, 1007)), (2**70, (50, 1015))],
)
def test_a_lookup_finds_the_largest_entry_up_to_the_target(timestamp: int, found: tuple[int, int]) -> None:
    assert TimeIndex.decode(KAFKA, 1000).lookup(timestamp) == found


def test_the_published_lookup_finds_its_entry() -> None:  # I7
    timestamps = [1526384712245, 1526384718283, 1526384720000]
    index = TimeIndex.decode(time_index.encode(timestamps, [6, 28, 40], 0), 0)
    assert index.lookup(1526384718288) == (1526384718283, 28)


def test_an_empty_index_knows_no_timestamp() -> None:
    index = TimeIndex.decode(b"", 42)
    assert index.lookup(50) == index.last() == (-1, 42)
    index.sanity_check()


def test_truncating_keeps_the_entries_below() -> None:
    index = TimeIndex.decode(KAFKA, 1000)
    assert [index.slots_below(offset) for offset in (1003, 1004, 1011, 1016)] == [0, 1, 2, 4]


def test_sizes_round_down_to_whole_entries() -> None:  # I6
    assert TimeIndex.pre_sized_bytes(67) == 60
    assert TimeIndex.pre_sized_bytes(10485760) == 10485756
    assert TimeIndex.pre_sized_bytes(11) == 0


@pytest.mark.parametrize("unused", [1, 5461, 5462, 10000])
def test_zeros_of_a_pre_sized_file_are_recognised(unused: int) -> None:
    index = TimeIndex.decode(KAFKA + bytes(12 * unused), 1000)
    assert index.zero_tail() == unused
    assert list(index.used()) == KAFKA_ENTRIES
    with pytest.raises(CorruptionError, match="has timestamp 0, expected 20") as raised:
        index.sanity_check()  # like Kafka's, which checks the last slot
    assert raised.value.position == 12 * (3 + unused)


def test_a_lone_entry_of_zeros_is_used() -> None:
    """It is timestamp 0 at the base offset: Kafka reads every slot as an entry, and a pre-sized file has more slots."""
    assert list(TimeIndex.decode(bytes(12), 1000).used()) == [(0, 1000)]
    assert list(TimeIndex.decode(bytes(24), 1000).used()) == []
    followed = time_index.encode([0, 7], [1000, 1003], 1000)
    assert list(TimeIndex.decode(followed + bytes(24), 1000).used()) == [(0, 1000), (7, 1003)]


def test_a_cut_entry_is_not_read_and_fails_the_check() -> None:
    index = TimeIndex.decode(KAFKA[:-5], 1000)
    assert list(index) == KAFKA_ENTRIES[:-1]
    with pytest.raises(CorruptionError, match="index of 43 bytes, expected a multiple of 12"):
        index.sanity_check()


def test_a_last_offset_below_the_base_fails_the_check() -> None:
    with pytest.raises(CorruptionError, match="names offset 998, expected 1000"):
        TimeIndex.decode(bytes.fromhex("0000000000000014fffffffe"), 1000).sanity_check()


@pytest.mark.parametrize(
    ("timestamp", "offset", "problem"),
    [
        (-1, 100, "timestamp -1 is negative"),
        (2**63, 100, "an entry cannot hold timestamp 9223372036854775808"),
        (1, 99, "offset 99 is not in the range"),
        (1, 100 + 2**31, "offset 2147483748 is not in the range"),
    ],
)
def test_entries_that_do_not_fit_are_refused(timestamp: int, offset: int, problem: str) -> None:
    with pytest.raises(EncodingError, match=problem):
        time_index.encode_entry(TimestampOffset(timestamp, offset), 100)
    with pytest.raises(EncodingError, match=problem):
        time_index.encode([timestamp], [offset], 100)


@given(
    st.integers(0, 2**62),
    st.dictionaries(st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1), max_size=40),
    st.integers(-5, 2**63),
)
def test_what_is_written_is_read_again_and_searched(base: int, entries: dict[int, int], target: int) -> None:
    timestamps = sorted(entries)
    offsets = sorted(base + relative for relative in entries.values())
    index = TimeIndex.decode(time_index.encode(timestamps, offsets, base), base)
    expected = [TimestampOffset(*entry) for entry in zip(timestamps, offsets, strict=True)]
    assert list(index) == expected
    for timestamp in (target, *timestamps):
        before = [entry for entry in expected if entry.timestamp <= timestamp]
        assert index.lookup(timestamp) == (before[-1] if before else (-1, base))
