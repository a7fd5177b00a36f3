"""What a leader assigns to batches: offsets, leader epoch, timestamp type and timestamp, with a new CRC only if
needed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.format.batches.walker import walk
from octavo.kernels.layout import BATCH, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from tests.kernels import implementations
from tests.kernels.hand_made import batch, message, record

PAIR = batch(record(0, b"k", b"v") + record(1, b"k", b"v"), 2, base_offset=0, last_offset_delta=1, max_timestamp=7)
SINGLE = batch(record(0, b"k", b"v"), 1, base_offset=0, last_offset_delta=0, max_timestamp=9)


def stamped(
    kernels: SimpleNamespace, data: bytes, next_offset: int, epoch: int, appended: bool, times: list[int]
) -> tuple[bytes, NDArray[np.void], int]:
    buffer, table = bytearray(data), walk(data).table
    end = kernels.stamp_batches(buffer, table, next_offset, epoch, appended, np.array(times, np.int64))
    return bytes(buffer), table, end


def test_offsets_follow_one_another(kernels: SimpleNamespace) -> None:
    data, table, end = stamped(kernels, PAIR + SINGLE + PAIR, 100, 5, False, [7, 9, 7])
    assert table["base_offset"].tolist() == [100, 102, 103] and end == 105
    assert table["partition_leader_epoch"].tolist() == [5, 5, 5]
    assert walk(data).table.tolist() == table.tolist()
    before = walk(PAIR + SINGLE + PAIR).table
    assert table["crc"].tolist() == before["crc"].tolist()


def test_without_times_each_batch_keeps_its_own(kernels: SimpleNamespace) -> None:
    for data in (PAIR + SINGLE, stamped(kernels, PAIR + SINGLE, 0, 0, True, [50, 9])[0]):
        buffer, table = bytearray(data), walk(data).table
        times = table["max_timestamp"].tolist()
        assert kernels.stamp_batches(buffer, table, 100, 5, False, None) == 103
        assert (bytes(buffer), table["max_timestamp"].tolist()) == (
            stamped(kernels, data, 100, 5, False, times)[0],
            times,
        )


def test_a_batch_that_has_lost_records_is_placed_by_its_last_offset(kernels: SimpleNamespace) -> None:
    gap = batch(record(4, b"k", b"v"), 1, last_offset_delta=9, max_timestamp=7)
    _, table, end = stamped(kernels, gap, 100, 0, False, [7])
    assert table["base_offset"][0] == 91 and end == 101


def test_a_new_time_or_type_needs_a_new_crc(kernels: SimpleNamespace) -> None:
    data, table, _ = stamped(kernels, PAIR + SINGLE, 0, 0, True, [50, 9])
    assert table["max_timestamp"].tolist() == [50, 9]
    assert table["attributes"].tolist() == [LOG_APPEND_TIME, LOG_APPEND_TIME]
    assert walk(data).table.tolist() == table.tolist()  # including its flaws: no CRC is wrong
    again, _, _ = stamped(kernels, data, 0, 0, False, [7, 9])
    assert walk(again).table["crc"].tolist() == walk(PAIR + SINGLE).table["crc"].tolist()


@pytest.mark.parametrize(("appended", "kept"), [(False, 0x0180), (True, 0)])
def test_unknown_attributes_are_lost_only_with_a_change(kernels: SimpleNamespace, appended: bool, kept: int) -> None:
    known = 4 | TRANSACTIONAL | CONTROL | DELETE_HORIZON
    odd = batch(record(0, b"k", b"v"), 1, attributes=known | 0x0180, max_timestamp=9)
    _, table, _ = stamped(kernels, odd, 0, 0, appended, [9])
    assert table["attributes"][0] == known | kept | (LOG_APPEND_TIME if appended else 0)


@pytest.mark.parametrize(
    ("data", "times"),
    [(PAIR, []), (PAIR, [1, 2]), (message(0, b"k", b"v", magic=1), [1])],
    ids=["no time", "two times", "a message"],
)
def test_messages_and_wrong_numbers_of_times_are_refused(
    kernels: SimpleNamespace, data: bytes, times: list[int]
) -> None:
    with pytest.raises(ValueError, match="batches of magic 2"):
        stamped(kernels, data, 0, 0, False, times)


@pytest.mark.parametrize(("field", "value"), [("position", 1), ("position", -1), ("size", 60), ("size", 10**6)])
def test_batches_outside_the_data_are_refused(kernels: SimpleNamespace, field: str, value: int) -> None:
    buffer, table = bytearray(SINGLE), walk(SINGLE).table
    table[field] = value
    with pytest.raises(ValueError, match="batches of magic 2"):
        kernels.stamp_batches(buffer, table, 0, 0, False, np.array([9]))
    assert buffer == SINGLE


def test_buffers_must_be_writable(kernels: SimpleNamespace) -> None:
    with pytest.raises((BufferError, ValueError)):
        kernels.stamp_batches(SINGLE, walk(SINGLE).table, 0, 0, False, np.array([9]))
    fixed = np.frombuffer(walk(SINGLE).table.tobytes(), BATCH)
    with pytest.raises((BufferError, ValueError)):
        kernels.stamp_batches(bytearray(SINGLE), fixed, 0, 0, False, np.array([9]))


INT64 = st.integers(-(2**63), 2**63 - 1)
BATCHES = st.builds(
    lambda **fields: batch(record(0, b"k", b"v"), **fields),
    count=st.integers(-(2**31), 2**31 - 1),
    attributes=st.integers(-(2**15), 2**15 - 1),
    last_offset_delta=st.integers(-(2**31), 2**31 - 1),
    max_timestamp=INT64 | st.just(5),
)


@given(st.lists(BATCHES, max_size=4), INT64, st.integers(-(2**31), 2**31 - 1), st.booleans(), INT64 | st.just(5))
def test_both_stamp_any_batches_alike(
    batches: list[bytes], next_offset: int, epoch: int, appended: bool, time: int
) -> None:
    results = [
        stamped(implementations.load(name), b"".join(batches), next_offset, epoch, appended, [time] * len(batches))
        for name in ("compiled", "reference")
    ]
    assert results[0][0] == results[1][0] and results[0][2] == results[1][2]
    assert results[0][1].tolist() == results[1][1].tolist()
