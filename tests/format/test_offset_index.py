"""The offset index: Kafka's bytes, search, and what its check finds."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.indexes import offset_index
from octavo.format.indexes.offset_index import OffsetIndex, OffsetPosition

# Eight appends of 115 bytes and 2 records each, base offset 1000, index.interval.bytes 100, as written by Kafka 4.3.1.
KAFKA = bytes.fromhex(
    "000000030000007300000005000000e6000000070000015900000009000001cc0000000b0000023f0000000d000002b20000000f00000325"
)
KAFKA_ENTRIES = [OffsetPosition(1001 + 2 * n, 115 * n) for n in range(1, 8)]


def test_published_entries_are_read_and_written() -> None:  # I2
    data = bytes.fromhex("00000006 0000009c 0000000e 000001cb")
    assert list(OffsetIndex.decode(data, 0)) == [(6, 156), (14, 459)]
    assert list(OffsetIndex.decode(data, 251)) == [(257, 156), (265, 459)]
    assert offset_index.encode([6, 14], [156, 459], 0) == data


def test_kafkas_bytes_are_read_and_written() -> None:
    index = OffsetIndex.decode(KAFKA, 1000)
    assert list(index) == KAFKA_ENTRIES
    assert index.last() == (1015, 805)
    assert offset_index.encode(index.offsets(), index.positions(), 1000) == KAFKA
    index.sanity_check()


# I4: the largest entry up to the target, else the segment's start.
@pytest.mark.parametrize(
    ("offset", "found"),
    [(0, (251, 0)), (256, (251, 0)), (257, (257, 156)), (272, (265, 459)), (273, (273, 656)), (2**63, (273, 656))],
)
def test_a_lookup_finds_the_largest_entry_up_to_the_target(offset: int, found: tuple[int, int]) -> None:
    index = OffsetIndex.decode(offset_index.encode([257, 265, 273], [156, 459, 656], 251), 251)
    assert index.lookup(offset) == found


def test_the_published_lookup_finds_its_entry() -> None:  # I4
    index = OffsetIndex.decode(offset_index.encode([6, 14, 22, 26], [156, 459, 656, 838], 0), 0)
    assert index.lookup(23) == (22, 656)


def test_an_empty_index_points_to_the_start() -> None:
    index = OffsetIndex.decode(b"", 42)
    assert len(index) == 0
    assert index.lookup(50) == index.last() == (42, 0)
    assert index.upper_bound(0) is None
    index.sanity_check()


def test_upper_bound_is_the_first_entry_at_or_after_the_position() -> None:
    index = OffsetIndex.decode(KAFKA, 1000)
    assert index.upper_bound(0) == index.upper_bound(115) == (1003, 115)
    assert index.upper_bound(116) == (1005, 230)
    assert index.upper_bound(806) is None


def test_truncating_keeps_the_entries_below() -> None:
    index = OffsetIndex.decode(KAFKA, 1000)
    assert [index.slots_below(offset) for offset in (0, 1003, 1004, 1005, 1015, 9999)] == [0, 0, 1, 1, 6, 7]


def test_sizes_round_down_to_whole_entries() -> None:  # I6
    assert OffsetIndex.pre_sized_bytes(67) == 64
    assert OffsetIndex.pre_sized_bytes(10485760) == 10485760
    assert OffsetIndex.pre_sized_bytes(7) == 0


@pytest.mark.parametrize("unused", [0, 1, 8191, 8192, 20000])
def test_zeros_of_a_pre_sized_file_are_recognised(unused: int) -> None:
    index = OffsetIndex.decode(KAFKA + bytes(8 * unused), 1000)
    assert len(index) == 7 + unused
    assert index.zero_tail() == unused
    assert list(index.used()) == KAFKA_ENTRIES
    index.sanity_check()  # Kafka takes the zeros for entries at the base offset


def test_a_file_of_zeros_has_no_used_entry() -> None:
    assert len(OffsetIndex.decode(bytes(800000), 5).used()) == 0


def test_a_zero_entry_before_others_is_an_entry() -> None:
    assert OffsetIndex.decode(bytes(8) + KAFKA, 1000).zero_tail() == 0


def test_a_mapped_file_is_not_copied() -> None:
    with mmap.mmap(-1, 4096) as mapped:
        mapped[:8] = KAFKA[:8]
        index = OffsetIndex.decode(mapped, 1000)
        assert index.used().last() == (1003, 115)
        mapped[8:16] = KAFKA[8:16]
        assert index.used().last() == (1005, 230)
        assert not index.slots.flags.writeable
        del index


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_cut_entry_is_not_read_and_fails_the_check(cut: int) -> None:
    index = OffsetIndex.decode(KAFKA[:-cut], 1000)
    assert list(index) == KAFKA_ENTRIES[:-1]
    with pytest.raises(CorruptionError, match=f"index of {56 - cut} bytes, expected a multiple of 8") as raised:
        index.sanity_check()
    assert raised.value.position == 48


def test_a_last_offset_below_the_base_fails_the_check() -> None:
    index = OffsetIndex.decode(KAFKA + bytes.fromhex("fffffffb00000400"), 1000)
    assert index.last() == (995, 1024)
    with pytest.raises(CorruptionError, match="names offset 995, expected 1000") as raised:
        index.sanity_check()
    assert raised.value.position == 56


@pytest.mark.parametrize(
    ("offset", "position", "problem"),
    [
        (99, 0, "offset 99 is not in the range of an index with base offset 100"),
        (100 + 2**31, 0, "offset 2147483748 is not in the range"),
        (100, 2**31, "an entry cannot hold relative_offset 0, position 2147483648"),
        (2**70, 5, "is not in the range"),
        (100.5, 5, "an entry cannot hold relative_offset 0.5"),
    ],
)
def test_entries_that_do_not_fit_are_refused(offset: int, position: int, problem: str) -> None:
    with pytest.raises(EncodingError, match=problem):
        offset_index.encode([offset], [position], 100)


def test_a_segment_near_the_largest_offset_can_be_indexed() -> None:
    base = 2**63 - 1
    assert list(OffsetIndex.decode(offset_index.encode([base], [7], base), base)) == [(base, 7)]


RELATIVE = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=40).map(sorted)


@given(st.integers(0, 2**62), RELATIVE, st.data())
def test_what_is_written_is_read_again_and_searched(base: int, relative: list[int], data: st.DataObject) -> None:
    positions = sorted(data.draw(st.lists(st.integers(1, 2**31 - 1), min_size=len(relative), max_size=len(relative))))
    entries = [OffsetPosition(base + offset, position) for offset, position in zip(relative, positions, strict=True)]
    encoded = offset_index.encode(np.array(relative, dtype=np.int64) + base, positions, base)
    index = OffsetIndex.decode(encoded, base)
    assert list(index) == entries
    target = base + data.draw(st.integers(-5, 2**31) | st.sampled_from(relative or [0]))
    assert index.lookup(target) == max([entry for entry in entries if entry.offset <= target], default=(base, 0))
    assert index.slots_below(target) == sum(entry.offset < target for entry in entries)


@given(st.binary(max_size=200), st.integers(0, 2**62), st.integers(-(2**64), 2**64))
def test_any_bytes_are_searched_without_a_crash(data: bytes, base: int, target: int) -> None:
    index = OffsetIndex.decode(data, base)
    assert index.lookup(target) in [OffsetPosition(base, 0), *index]
    assert index.upper_bound(target) in [None, *index]
    assert 0 <= index.slots_below(target) <= len(index)
    assert 0 <= index.zero_tail() <= len(index)
