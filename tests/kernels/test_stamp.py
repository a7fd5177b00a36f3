"""What a leader writes into the headers of batches that it appends."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.kernels.layout import BATCH, LOG_APPEND_TIME
from tests.kernels import implementations
from tests.kernels.hand_made import batch, record, table_of

INT64 = st.integers(-(2**63), 2**63 - 1)


def walked(kernels: SimpleNamespace, data: bytes | bytearray) -> NDArray[np.void]:
    table = np.zeros(20, BATCH)
    return table[: kernels.walk(data, 0, len(data), table)[0]]


def entry(count: int, **fields: int) -> bytes:
    records = b"".join(record(delta) for delta in range(count))
    return batch(records, count, last_offset_delta=count - 1, **fields)


def test_offsets_follow_one_another(kernels: SimpleNamespace) -> None:
    """The last offset is what counts: a compacted batch spans more offsets than it has records."""
    entries = [entry(3), entry(1), batch(record(0) + record(4), 2, last_offset_delta=4)]
    whole, table = table_of(*entries)
    data = bytearray(whole)
    assert kernels.stamp_batches(data, table, 100, 7, False, np.zeros(3, np.int64)) == 106
    found = walked(kernels, data)
    assert found["base_offset"].tolist() == table["base_offset"].tolist() == [100, 103, 101]
    assert found["partition_leader_epoch"].tolist() == [7, 7, 7]
    assert not found["flaws"].any()
    assert found["crc"].tolist() == table_of(*entries)[1]["crc"].tolist()  # neither of them is covered


def test_time_and_type_change_the_checksum(kernels: SimpleNamespace) -> None:
    """Bits that Kafka does not know are lost with them; a batch that has them already stays as it is."""
    entries = [entry(1, attributes=0x70, max_timestamp=5), entry(1, attributes=-1 & ~7, max_timestamp=777)]
    whole, table = table_of(*entries)
    data = bytearray(whole)
    kernels.stamp_batches(data, table, 0, -1, True, np.array([777, 777]))
    found = walked(kernels, data)
    assert found.tolist() == table.tolist()
    assert not found["flaws"].any()
    assert found["max_timestamp"].tolist() == [777, 777]
    assert found["attributes"].tolist() == [0x70 | LOG_APPEND_TIME, -1 & ~7]
    kernels.stamp_batches(data, table, 0, -1, False, np.array([9, 9]))
    assert walked(kernels, data)["attributes"].tolist() == [0x70, 0x70]


def spoiled() -> dict[str, NDArray[np.void]]:
    tables = {}
    for name, field, value in (
        ("another magic", "magic", 1),
        ("shorter than a header", "size", 60),
        ("before the data", "position", -1),
        ("behind the data", "position", 2),
        ("far behind the data", "position", 2**63 - 1),
        ("longer than the data", "size", 2**31 - 1),
    ):
        tables[name] = table_of(entry(1))[1]
        tables[name][field] = value
    return tables


@pytest.mark.parametrize("name", spoiled())
def test_rows_that_lead_outside_are_refused(kernels: SimpleNamespace, name: str) -> None:
    """Before anything is written, of the sound rows too."""
    whole, good = table_of(entry(1))
    data = bytearray(whole)
    with pytest.raises(ValueError, match="2 batches of magic 2 inside the data"):
        kernels.stamp_batches(data, np.concatenate([good, spoiled()[name]]), 50, 1, True, np.zeros(2, np.int64))
    assert data == whole
    data.clear()  # a BufferError if the kernel still held it


@pytest.mark.parametrize("times", [0, 2])
def test_each_batch_needs_a_time(kernels: SimpleNamespace, times: int) -> None:
    whole, table = table_of(entry(1))
    with pytest.raises(ValueError, match="a time each"):
        kernels.stamp_batches(bytearray(whole), table, 0, 0, False, np.zeros(times, np.int64))


def test_nothing_to_stamp(kernels: SimpleNamespace) -> None:
    assert kernels.stamp_batches(bytearray(), np.zeros(0, BATCH), 42, 0, False, np.zeros(0, np.int64)) == 42


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**15), 2**15 - 1), INT64), min_size=1, max_size=3),
    INT64,
    st.integers(-(2**31), 2**31 - 1),
    st.booleans(),
    st.lists(INT64, min_size=3, max_size=3),
)
def test_both_stamp_alike(
    batches: list[tuple[int, int, int]], next_offset: int, epoch: int, appended: bool, times: list[int]
) -> None:
    results = []
    for kernels in (implementations.load("compiled"), implementations.load("reference")):
        whole, table = table_of(*(entry(count, attributes=bits, max_timestamp=time) for count, bits, time in batches))
        data = bytearray(whole)
        given_times = np.array(times[: len(batches)])
        end = kernels.stamp_batches(data, table, next_offset, epoch, appended, given_times)
        results.append((end, bytes(data), table.tolist()))
        assert not walked(kernels, data)["flaws"].any()
    assert results[0] == results[1]
