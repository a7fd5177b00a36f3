"""Search in index slots, and for a record's time in batches."""

from __future__ import annotations

from bisect import bisect_right
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.format.batches.batch import build_batch
from octavo.format.compression import Codec
from octavo.format.indexes.time_index import ENTRY
from octavo.format.record import Record
from octavo.kernels.layout import BATCH_OVERHEAD, Seek
from tests.kernels import implementations

NOTHING = (-1, -1, -1)


def slots(numbers: list[int]) -> bytes:
    return b"".join(ENTRY.pack(number, slot) for slot, number in enumerate(numbers))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(-(2**63), 2**63 - 1))
def test_last_slot_up_to_is_a_search_from_the_right(numbers: list[int], target: int) -> None:
    for implementation in ("compiled", "reference"):
        kernels = implementations.load(implementation)
        data, expected = slots(sorted(numbers)), bisect_right(sorted(numbers), target) - 1
        assert kernels.last_slot_up_to(data, 12, 0, 8, target) == expected
        assert kernels.last_slot_up_to(data + b"cut", 12, 0, 8, target) == expected
        assert kernels.last_slot_up_to(data, 12, 8, 4, len(numbers) - 2) == max(len(numbers) - 2, -1)
        assert -1 <= kernels.last_slot_up_to(slots(numbers), 12, 0, 8, target) < len(numbers)


def test_numbers_outside_their_entry_or_of_another_width_are_refused(kernels: SimpleNamespace) -> None:
    for position, width in ((5, 8), (-1, 8), (0, 2)):
        with pytest.raises(ValueError, match="a number of"):
            kernels.last_slot_up_to(bytes(24), 12, position, width, 0)


def batch(base_offset: int, timestamps: list[int], *, codec: Codec = Codec.NONE, appended: int | None = None) -> bytes:
    records = [Record(base_offset + n, timestamp, b"k", b"v" * 40) for n, timestamp in enumerate(timestamps)]
    return build_batch(records, codec=codec, partition_leader_epoch=base_offset + 1, log_append_time=appended)


def test_the_first_record_that_is_not_earlier_is_found(kernels: SimpleNamespace) -> None:
    one, two, three = batch(0, [5, 9, 7]), batch(3, [8, 8]), batch(5, [4, 12, 12])
    data = one + two + three
    for timestamp, start, expected in (
        (0, 0, (Seek.FOUND, 0, len(one), 5, 0, 1)),
        (6, 0, (Seek.FOUND, 0, len(one), 9, 1, 1)),
        (6, 2, (Seek.FOUND, 0, len(one), 7, 2, 1)),
        (8, 2, (Seek.FOUND, len(one), len(two), 8, 3, 4)),
        (8, 6, (Seek.FOUND, len(one + two), len(three), 12, 6, 6)),
        (13, 0, (Seek.MORE, len(data), 0, *NOTHING)),
        (0, 99, (Seek.MORE, len(data), 0, *NOTHING)),
    ):
        assert kernels.find_timestamp(data, timestamp, start) == expected
    assert kernels.find_timestamp(b"", 0, 0) == (Seek.MORE, 0, 0, *NOTHING)


def test_the_time_of_the_append_is_that_of_all_records(kernels: SimpleNamespace) -> None:
    data = batch(0, [5, 9], appended=50)
    assert kernels.find_timestamp(data, 40, 1) == (Seek.FOUND, 0, len(data), 50, 1, 1)
    assert kernels.find_timestamp(data, 51, 0) == (Seek.MORE, len(data), 0, *NOTHING)


def test_a_batch_that_is_cut_off_is_searched_as_far_as_it_reaches(kernels: SimpleNamespace) -> None:
    one, two = batch(0, [5]), batch(1, [8, 9])
    data = one + two
    readable = len(data) - len(b"?k?" + b"v" * 40 + b"?")  # the last record's time and offset come before its key
    for end in range(len(data)):
        found = kernels.find_timestamp(data[:end], 9, 0)
        if end < BATCH_OVERHEAD:
            assert found == (Seek.MORE, 0, 0, *NOTHING)
        elif end < len(one) + BATCH_OVERHEAD:
            assert found == (Seek.MORE, len(one), 0, *NOTHING)
        elif end < readable:
            assert found == (Seek.MORE, len(one), len(two), *NOTHING)
        else:
            assert found == (Seek.FOUND, len(one), len(two), 9, 2, 2)


def test_a_batch_whose_records_cannot_be_searched_is_left_to_the_caller(kernels: SimpleNamespace) -> None:
    packed = batch(0, [5, 9], codec=Codec.GZIP)
    assert kernels.find_timestamp(packed, 6, 0) == (Seek.DECODE, 0, len(packed), *NOTHING)
    assert kernels.find_timestamp(packed, 10, 0) == (Seek.MORE, len(packed), 0, *NOTHING)
    old = bytearray(batch(0, [5]))
    old[16] = 1
    assert kernels.find_timestamp(old, 0, 0) == (Seek.DECODE, 0, len(old), *NOTHING)
    broken = bytearray(batch(0, [5, 9]))
    broken[BATCH_OVERHEAD] = 0x7F  # a negative length
    assert kernels.find_timestamp(broken, 0, 0) == (Seek.DECODE, 0, len(broken), *NOTHING)


@given(st.binary(max_size=200), st.integers(-10, 10), st.integers(-10, 10))
def test_both_agree_on_garbage(garbage: bytes, timestamp: int, start_offset: int) -> None:
    compiled, reference = implementations.both()
    good = batch(0, [5, 9, 1])
    for data in (garbage, good + garbage, good[:BATCH_OVERHEAD] + garbage):
        expected = reference.find_timestamp(data, timestamp, start_offset)
        assert compiled.find_timestamp(data, timestamp, start_offset) == expected


def test_the_first_batch_that_reaches_a_target_is_found(kernels: SimpleNamespace) -> None:
    one, two, three = batch(0, [5, 9, 7]), batch(3, [8, 8]), batch(5, [4, 12, 12])
    data = one + two + three
    third = (Seek.FOUND, 5, len(one + two), len(three))
    for target, by_timestamp, expected in (
        (0, False, (Seek.FOUND, 0, 0, len(one))),
        (2, False, (Seek.FOUND, 0, 0, len(one))),
        (3, False, (Seek.FOUND, 3, len(one), len(two))),
        (7, False, third),
        (8, False, (Seek.MORE, -1, len(data), 0)),
        (9, True, (Seek.FOUND, 0, 0, len(one))),
        (10, True, third),
        (13, True, (Seek.MORE, -1, len(data), 0)),
    ):
        assert kernels.find_batch(data, target, by_timestamp) == expected
    assert kernels.find_batch(data[: len(one + two) + BATCH_OVERHEAD], 7, False) == third  # a header is enough
    assert kernels.find_batch(data[: len(one + two) + 20], 7, False) == (Seek.MORE, -1, len(one + two), 0)
    assert kernels.find_batch(b"", 0, False) == (Seek.MORE, -1, 0, 0)


def test_a_batch_whose_header_does_not_suffice_is_left_to_the_caller(kernels: SimpleNamespace) -> None:
    one, old = batch(0, [5]), bytearray(batch(1, [6]))
    old[16] = 1
    assert kernels.find_batch(one + bytes(old), 1, False) == (Seek.DECODE, -1, len(one), 0)
    short = bytearray(batch(1, [6]))
    short[8:12] = (20).to_bytes(4)
    assert kernels.find_batch(one + bytes(short), 1, False) == (Seek.DECODE, -1, len(one), 0)


@given(st.binary(max_size=300), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_both_implementations_find_the_same_batch(data: bytes, target: int, by_timestamp: bool) -> None:
    for content in (data, batch(0, [5, 9]) + data, batch(2**30, [-1]) + data):
        compiled, reference = implementations.both()
        assert compiled.find_batch(content, target, by_timestamp) == reference.find_batch(content, target, by_timestamp)
