"""The walk: every stop, every flaw, every field."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, ENTRY_PREFIX, Flaw, Stop
from tests.golden import strings
from tests.kernels.hand_made import batch, message, raw_message, record

ONE = batch(record(), 1, base_offset=7)


def walk(
    kernels: SimpleNamespace, data: bytes, rows: int = 100, *, check_crc: bool = True
) -> tuple[list[dict[str, int]], int, Stop]:
    table = np.full(rows, -1).astype(BATCH)  # no field may keep its old value
    filled, position, stop = kernels.walk(data, 0, len(data), table, check_crc)
    names = BATCH.names or ()
    return [{name: int(row[name]) for name in names} for row in table[:filled]], position, Stop(stop)


@pytest.mark.parametrize("name", strings.EVERYTHING)
def test_golden_entries_are_sound(kernels: SimpleNamespace, name: str) -> None:
    data = strings.EVERYTHING[name]
    rows, position, stop = walk(kernels, data)
    assert (position, stop) == (len(data), Stop.END)
    assert [row["flaws"] for row in rows] == [0] * len(rows)
    assert sum(row["size"] for row in rows) == len(data)


def test_every_field_of_a_batch_is_in_its_row(kernels: SimpleNamespace) -> None:
    (row,), _, _ = walk(kernels, strings.BATCHES["transactional"])
    assert row == {
        "position": 0,
        "base_offset": 100,
        "base_timestamp": strings.TS0,
        "max_timestamp": strings.TS0 + 5,
        "producer_id": 4000,
        "size": 95,
        "partition_leader_epoch": 5,
        "crc": 0x46D20DDD,
        "last_offset_delta": 2,
        "base_sequence": 7,
        "count": 3,
        "attributes": 0x10,
        "producer_epoch": 3,
        "magic": 2,
        "flaws": 0,
        "reserved": 0,
    }


def test_extreme_fields_keep_their_sign(kernels: SimpleNamespace) -> None:
    low, high = -(2**63), 2**63 - 1
    entry = batch(
        b"",
        -(2**31),
        base_offset=low,
        partition_leader_epoch=-(2**31),
        attributes=-(2**15),
        last_offset_delta=-1,
        base_timestamp=low,
        max_timestamp=high,
        producer_id=high,
        producer_epoch=2**15 - 1,
        base_sequence=2**31 - 1,
    )
    (row,), _, _ = walk(kernels, entry)
    assert (row["base_offset"], row["base_timestamp"], row["max_timestamp"]) == (low, low, high)
    assert (row["count"], row["attributes"], row["producer_epoch"]) == (-(2**31), -(2**15), 2**15 - 1)
    assert (row["last_offset_delta"], row["base_sequence"], row["producer_id"]) == (-1, 2**31 - 1, high)


def test_messages_are_rows_too(kernels: SimpleNamespace) -> None:
    rows, _, _ = walk(kernels, strings.MESSAGES["v0"] + strings.MESSAGES["v1_appended"] + strings.WRAPPERS["v1_gzip"])
    assert [row["magic"] for row in rows] == [0, 0, 1, 1]
    assert [row["base_offset"] for row in rows] == [10, 11, 10, 11]
    assert [row["max_timestamp"] for row in rows] == [-1, -1, strings.TS0 + 7, strings.TS0 + 5]
    assert [row["attributes"] for row in rows] == [0, 0, 8, 1]
    assert [row["count"] for row in rows] == [1, 1, 1, -1]
    for row in rows:
        assert row["base_timestamp"] == row["max_timestamp"]
        assert row["last_offset_delta"] == 0
        producer = ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch")
        assert {row[name] for name in producer} == {-1}


def test_a_walk_ends_at_the_end_of_the_data(kernels: SimpleNamespace) -> None:
    assert walk(kernels, b"") == ([], 0, Stop.END)
    rows, position, stop = walk(kernels, ONE + ONE)
    assert ([row["position"] for row in rows], position, stop) == ([0, len(ONE)], 2 * len(ONE), Stop.END)


@pytest.mark.parametrize("left", range(1, 18))
def test_up_to_seventeen_bytes_are_an_incomplete_header(kernels: SimpleNamespace, left: int) -> None:
    for tail in (ONE[:left], b"\0" * left, b"\xff" * left):
        rows, position, stop = walk(kernels, ONE + tail)
        assert (len(rows), position, stop) == (1, len(ONE), Stop.INCOMPLETE_HEADER)


def test_a_batch_that_is_cut_is_incomplete(kernels: SimpleNamespace) -> None:
    for end in range(18, len(ONE)):
        rows, position, stop = walk(kernels, ONE + ONE[:end])
        assert (len(rows), position, stop) == (1, len(ONE), Stop.INCOMPLETE_BATCH)


@pytest.mark.parametrize("size", [0, -1, 13, -(2**31)])
def test_a_size_below_the_smallest_message_stops(kernels: SimpleNamespace, size: int) -> None:
    rows, position, stop = walk(kernels, ONE + ENTRY_PREFIX.pack(1, size) + b"\0" * 100)
    assert (len(rows), position, stop) == (1, len(ONE), Stop.SIZE_TOO_SMALL)


@pytest.mark.parametrize("size", [2**31 - 1, 2**31 - 12, 2**31 - 13, 1000])
def test_a_size_beyond_the_end_is_an_incomplete_batch(kernels: SimpleNamespace, size: int) -> None:
    rows, position, stop = walk(kernels, ONE + ENTRY_PREFIX.pack(1, size) + b"\0" * 100)
    assert (len(rows), position, stop) == (1, len(ONE), Stop.INCOMPLETE_BATCH)


@pytest.mark.parametrize("magic", [0, 1])
def test_the_smallest_message_is_a_row(kernels: SimpleNamespace, magic: int) -> None:
    """A size of 14 is enough for the walk, even for a v1 message, which then has no room for key and value."""
    entry = raw_message(5, magic, 0, b"\0" * 8)
    (row,), position, stop = walk(kernels, entry)
    assert (row["size"], row["flaws"], position, stop) == (26, 0, 26, Stop.END)
    assert row["max_timestamp"] == (-1 if magic == 0 else 0)


def test_a_walk_continues_after_a_full_table(kernels: SimpleNamespace) -> None:
    data = ONE * 5
    table = np.zeros(2, BATCH)
    seen: list[int] = []
    position, stop = 0, Stop.TABLE_FULL
    while stop == Stop.TABLE_FULL:
        filled, position, code = kernels.walk(data, position, len(data), table)
        stop = Stop(code)
        seen += table["position"][:filled].tolist()
    assert seen == [len(ONE) * i for i in range(5)]
    assert (position, stop) == (len(data), Stop.END)


def test_a_table_that_is_just_large_enough_reaches_the_end(kernels: SimpleNamespace) -> None:
    assert walk(kernels, ONE * 3, rows=3)[1:] == (3 * len(ONE), Stop.END)
    assert walk(kernels, ONE, rows=0)[1:] == (0, Stop.TABLE_FULL)
    assert walk(kernels, b"", rows=0)[1:] == (0, Stop.END)


@pytest.mark.parametrize("entry", [ONE, message(), message(magic=0)])
def test_a_flipped_bit_is_a_crc_mismatch(kernels: SimpleNamespace, entry: bytes) -> None:
    damaged = entry[:-1] + bytes([entry[-1] ^ 1])
    rows, position, stop = walk(kernels, damaged + entry)
    assert [row["flaws"] for row in rows] == [Flaw.CRC_MISMATCH, 0]
    assert (position, stop) == (2 * len(entry), Stop.END)


def test_the_crc_does_not_cover_what_a_leader_sets(kernels: SimpleNamespace) -> None:
    changed = bytearray(ONE)
    changed[0:8] = (99).to_bytes(8)
    changed[12:16] = (4).to_bytes(4)
    (row,), _, _ = walk(kernels, bytes(changed))
    assert (row["flaws"], row["base_offset"], row["partition_leader_epoch"]) == (0, 99, 4)


@pytest.mark.parametrize("entry", [ONE, message(), message(magic=0)])
def test_a_walk_may_leave_the_crc_unchecked(kernels: SimpleNamespace, entry: bytes) -> None:
    damaged = entry[:-1] + bytes([entry[-1] ^ 1])
    rows, _, _ = walk(kernels, damaged + entry, check_crc=False)
    assert [row["flaws"] for row in rows] == [Flaw.UNCHECKED, Flaw.UNCHECKED]


@pytest.mark.parametrize("magic", [3, 127, -1, -128])
def test_an_unknown_magic_is_read_by_kafkas_rule(kernels: SimpleNamespace, magic: int) -> None:
    is_batch = magic > 2
    made = batch(record(), 1, magic=magic, partition_leader_epoch=9), raw_message(3, magic, 0, b"\0" * 20)
    entry = made[0] if is_batch else made[1]
    (row,), _, stop = walk(kernels, entry)
    assert (row["magic"], row["flaws"], stop) == (magic, Flaw.UNKNOWN_MAGIC, Stop.END)
    assert row["count"] == 1
    assert row["partition_leader_epoch"] == (9 if is_batch else -1), "a batch has an epoch, a message does not"


@pytest.mark.parametrize("size", [14, 48])
def test_a_batch_shorter_than_its_header_is_a_row_with_a_flaw(kernels: SimpleNamespace, size: int) -> None:
    """Its header goes on in what follows, as in Kafka; at the end of the data it has no fields after its magic."""
    short = batch(b"", 5, size=size, partition_leader_epoch=9)[: 12 + size]
    whole, position, stop = walk(kernels, short)
    assert (position, stop) == (12 + size, Stop.END)
    assert whole[0]["flaws"] == Flaw.TOO_SHORT
    assert (whole[0]["partition_leader_epoch"], whole[0]["count"], whole[0]["max_timestamp"]) == (9, 0, -1)
    followed, _, _ = walk(kernels, short + ONE)
    assert followed[0]["flaws"] == Flaw.TOO_SHORT
    assert followed[0]["count"] == int.from_bytes((short + ONE)[57:61], signed=True)
    unchecked, _, _ = walk(kernels, short + ONE, check_crc=False)
    assert unchecked[0]["flaws"] == Flaw.TOO_SHORT | Flaw.UNCHECKED


def test_a_batch_of_exactly_its_header_is_sound(kernels: SimpleNamespace) -> None:
    entry = batch(b"", 0)
    assert len(entry) == BATCH_OVERHEAD
    (row,), _, _ = walk(kernels, entry)
    assert (row["size"], row["flaws"], row["count"]) == (61, 0, 0)


def test_positions_count_from_the_start_of_the_data(kernels: SimpleNamespace) -> None:
    table = np.zeros(5, BATCH)
    rows, position, stop = kernels.walk(b"xyz" + ONE + ONE + b"rest", 3, 3 + 2 * len(ONE), table)
    assert (rows, position, stop) == (2, 3 + 2 * len(ONE), Stop.END)
    assert table["position"][:2].tolist() == [3, 3 + len(ONE)]


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (3, 2), (0, 11), (11, 11)])
def test_a_range_outside_the_data_is_refused(kernels: SimpleNamespace, start: int, end: int) -> None:
    data = bytearray(10)
    with pytest.raises(ValueError, match="not inside a buffer of 10 bytes"):
        kernels.walk(data, start, end, np.zeros(1, BATCH))
    data.clear()  # a BufferError if the kernel still held it
