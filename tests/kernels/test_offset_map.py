"""The table from keys to offsets: what it accepts, when it is full, and Kafka's own layout."""

from __future__ import annotations

import hashlib
import random
from types import SimpleNamespace

import numpy as np
import pytest

from octavo.format.batches.walker import walk
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Code, Column
from octavo.kernels.offset_table import SLOT_BYTES, KeyHash, OffsetTable
from tests.kernels import implementations
from tests.kernels.hand_made import batch, record

SECRET = bytes(range(16))
HASHES = pytest.mark.parametrize("key_hash", list(KeyHash))


def table_of(slots: int, load_factor: float = 0.9, key_hash: KeyHash = KeyHash.SIPHASH) -> OffsetTable:
    return OffsetTable.empty(np.zeros(slots * SLOT_BYTES, np.uint8), load_factor, key_hash, SECRET)


def columns_of(kernels: SimpleNamespace, keys: list[bytes | None], base_offset: int = 0) -> RecordColumns:
    records = b"".join(record(delta, key) for delta, key in enumerate(keys))
    columns = RecordColumns.empty(len(keys), len(records), columns=Column.OFFSET | Column.KEY)
    found = walk(batch(records, len(keys), base_offset=base_offset))
    code, *_ = kernels.decode_records(found.data, found.table, 0, columns, Column.OFFSET | Column.KEY)
    assert code == Code.DONE
    return columns


def offsets_of(kernels: SimpleNamespace, table: OffsetTable, keys: list[bytes | None]) -> list[int]:
    out = np.empty(len(keys), np.int64)
    kernels.find_offsets(table, columns_of(kernels, keys), out)
    return [int(offset) for offset in out]


def test_memory_decides_the_slots_and_the_load_factor_the_keys() -> None:
    # C10
    table = OffsetTable.empty(np.zeros(128 << 20, np.uint8), 0.9, KeyHash.MD5, SECRET)
    assert (table.most_slots, table.capacity) == (5592405, 5033164)


@HASHES
def test_a_key_has_its_last_offset(kernels: SimpleNamespace, key_hash: KeyHash) -> None:
    # C10
    table = table_of(100, key_hash=key_hash)
    keys = [b"a", b"b", None, b"a", b"", b"c", b"a"]
    assert kernels.map_columns(table, columns_of(kernels, keys, 10), 0) == 7
    assert (table.size, table.latest_offset) == (4, 16)
    assert offsets_of(kernels, table, [b"a", b"b", b"", b"c", b"d", None]) == [16, 11, 14, 15, -1, -1]


@HASHES
def test_offsets_before_the_first_are_ignored(kernels: SimpleNamespace, key_hash: KeyHash) -> None:
    table = table_of(100, key_hash=key_hash)
    assert kernels.map_columns(table, columns_of(kernels, [b"a", b"b", b"c"], 10), 11) == 3
    assert offsets_of(kernels, table, [b"a", b"b", b"c"]) == [-1, 11, 12]


@HASHES
def test_a_full_table_accepts_no_key_not_even_one_that_it_has(kernels: SimpleNamespace, key_hash: KeyHash) -> None:
    table = table_of(5, 0.6, key_hash)
    assert kernels.map_columns(table, columns_of(kernels, [b"a", b"b", b"c", b"a"]), 0) == 3
    assert (table.size, table.latest_offset) == (3, 2)
    assert offsets_of(kernels, table, [b"a", b"b", b"c", b"d"]) == [0, 1, 2, -1]


@HASHES
def test_every_slot_may_be_in_use(kernels: SimpleNamespace, key_hash: KeyHash) -> None:
    table = table_of(7, 1.0, key_hash)
    keys: list[bytes | None] = [bytes([number]) for number in range(7)]
    assert kernels.map_columns(table, columns_of(kernels, keys), 0) == 7
    assert offsets_of(kernels, table, [*keys, b"absent"]) == [*range(7), -1]


@HASHES
def test_both_make_the_same_table(both: tuple[SimpleNamespace, SimpleNamespace], key_hash: KeyHash) -> None:
    rng = random.Random(7)
    keys: list[bytes | None] = [rng.randbytes(rng.choice([0, 1, 7, 8, 9, 16, 55, 56, 64, 200])) for _ in range(400)]
    keys += [rng.choice(keys) for _ in range(100)]
    tables = []
    for kernels in both:
        tables.append(table := table_of(350, 0.97, key_hash))
        kernels.map_columns(table, columns_of(kernels, keys), 0)
        assert table.size == table.capacity
    assert tables[0].slots.tobytes() == tables[1].slots.tobytes()
    assert tables[0].state.tolist() == tables[1].state.tolist()


def test_a_table_takes_more_slots_as_keys_come(kernels: SimpleNamespace) -> None:
    table = table_of(60_000, 0.9)
    assert (table.slot_count, table.most_slots) == (1024, 60_000)
    keys: list[bytes | None] = [b"%d" % number for number in range(3_000)]
    assert kernels.map_columns(table, columns_of(kernels, [*keys, *keys[:100]]), 0) == 3_100
    assert (table.slot_count, table.size) == (16_384, 3_000)
    assert not table.slots[table.slot_count * SLOT_BYTES :].any()
    assert offsets_of(kernels, table, [*keys, b"absent"]) == [*range(3_000, 3_100), *range(100, 3_000), -1]


def test_a_table_that_grew_takes_all_that_fits() -> None:
    # C10
    kernels = implementations.load("compiled")
    table = table_of(200_000, 0.9)
    keys: list[bytes | None] = [b"%x" % number for number in range(200_000)]
    assert kernels.map_columns(table, columns_of(kernels, keys), 0) == 180_000
    assert (table.slot_count, table.size, table.latest_offset) == (200_000, 180_000, 179_999)
    assert offsets_of(kernels, table, keys) == [*range(180_000), *([-1] * 20_000)]


def test_a_table_that_grows_keeps_every_key_however_badly_they_are_spread() -> None:
    kernels = implementations.load("compiled")
    table, count = table_of(60_000), 5_000
    table.slot_count, table.size = 7_000, count
    used = table.slots[: count * SLOT_BYTES].view(np.int64).reshape(count, 3)
    used[:, 0] = range(1, count + 1)  # hashes that all belong in the first slot
    used[:, 2] = range(count)
    table.mark_offsets(0, count)
    table.superseded[:] = 0xFF
    assert kernels.map_columns(table, columns_of(kernels, [b"a"], count), 0) == 1
    kernels.settle_marks(table)
    assert (table.slot_count, table.size) == (28_000, count + 1)
    assert np.count_nonzero(table.slots.view(np.int64).reshape(-1, 3)[:, 0]) == count + 1
    assert not table.superseded.any()


def test_md5_lies_in_a_slot_as_in_kafka(kernels: SimpleNamespace) -> None:
    table = table_of(11, key_hash=KeyHash.MD5)
    kernels.map_columns(table, columns_of(kernels, [b"key"], 300), 0)
    digest = hashlib.md5(b"key", usedforsecurity=False).digest()
    slot = abs(int.from_bytes(digest[:4], signed=True)) % 11
    wanted = digest + (300).to_bytes(8)
    assert table.slots[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES].tobytes() == wanted


def test_the_secret_changes_the_places(kernels: SimpleNamespace) -> None:
    tables = [OffsetTable.empty(np.zeros(2400, np.uint8), 0.9, KeyHash.SIPHASH, bytes([n] * 16)) for n in (1, 2)]
    for table in tables:
        kernels.map_columns(table, columns_of(kernels, [b"a", b"b"]), 0)
    assert tables[0].slots.tobytes() != tables[1].slots.tobytes()


def mapped(kernels: SimpleNamespace, table: OffsetTable, data: bytes, first: int = 0, skip: int | None = None) -> int:
    found = walk(data)
    skipped = np.zeros(len(found.table), np.uint8)
    if skip is not None:
        skipped[skip] = 1
    return int(kernels.map_batches(table, found.data, found.table, skipped, first)[0])


def data_of(*batches: tuple[int, list[bytes | None]], last_delta: int = 0) -> bytes:
    return b"".join(
        batch(
            b"".join(record(delta, key, b"v", ((b"h", b"x"),)) for delta, key in enumerate(keys)),
            len(keys),
            base_offset=base,
            last_offset_delta=max(len(keys) - 1, last_delta),
        )
        for base, keys in batches
    )


def test_batches_bring_their_keys_and_their_last_offset(kernels: SimpleNamespace) -> None:
    table = table_of(100)
    data = data_of((10, [b"a", b"b"]), (20, [b"a", None]), (30, []), last_delta=5)
    assert mapped(kernels, table, data) == Code.DONE
    assert table.latest_offset == 35
    assert offsets_of(kernels, table, [b"a", b"b"]) == [20, 11]


def test_a_batch_that_is_skipped_only_moves_the_latest_offset(kernels: SimpleNamespace) -> None:
    table = table_of(100)
    assert mapped(kernels, table, data_of((10, [b"a"]), (20, [b"b"])), skip=1) == Code.DONE
    assert (table.latest_offset, table.size) == (20, 1)


def test_the_latest_offset_stays_if_all_offsets_lie_before_the_first(kernels: SimpleNamespace) -> None:
    table = table_of(100)
    assert mapped(kernels, table, data_of((10, [b"a"])), first=11) == Code.DONE
    assert (table.latest_offset, table.size) == (-1, 0)


def test_only_the_batches_that_all_arrays_have_are_mapped(kernels: SimpleNamespace) -> None:
    found = walk(data_of((10, [b"a"]), (20, [b"b"]), (30, [b"c"])))
    given = kernels.map_batches(table_of(9), found.data, found.table, np.zeros(2, np.uint8), 0)
    assert given == (Code.DONE, 2, 0, 0)
    starts, ends = (np.zeros(count, np.int64) for count in (2, 1))
    skipped = np.ones(3, np.uint8)
    assert kernels.map_batches(table_of(9), found.data, found.table, skipped, 0, starts, ends) == (Code.DONE, 1, 0, 0)


def test_a_full_table_ends_in_the_middle_of_a_batch(kernels: SimpleNamespace) -> None:
    table = table_of(5, 0.6)
    assert mapped(kernels, table, data_of((10, [b"a", b"b"]), (20, [b"c", None, b"a"]), (30, [b"d"]))) == Code.FULL
    assert (table.latest_offset, table.size) == (20, 3)


def test_a_full_table_takes_batches_without_keys(kernels: SimpleNamespace) -> None:
    table = table_of(5, 0.4)
    assert mapped(kernels, table, data_of((10, [b"a", b"b"]), (20, [None, None]))) == Code.DONE
    assert (table.latest_offset, table.size) == (21, 2)


def test_both_map_many_small_batches_alike(both: tuple[SimpleNamespace, SimpleNamespace]) -> None:
    batches: list[tuple[int, list[bytes | None]]] = [(number, [b"%d" % (number % 37)]) for number in range(300)]
    data = data_of(*batches)
    tables = [table_of(100) for _ in both]
    for kernels, table in zip(both, tables, strict=True):
        assert mapped(kernels, table, data, first=5) == Code.DONE
    assert tables[0].slots.tobytes() == tables[1].slots.tobytes()


@pytest.mark.parametrize(
    ("records", "count", "code"),
    [
        (record()[:-1], 1, Code.RECORD_BEYOND_END),
        (record() + b"\x00", 1, Code.TRAILING_BYTES),
        (record(), -1, Code.NEGATIVE_COUNT),
        (b"\x10\x00\x00\x00\x7ek\x02v\x00", 1, Code.KEY_BEYOND_RECORD),
    ],
)
def test_damaged_records_end_the_mapping_with_their_code(
    kernels: SimpleNamespace, records: bytes, count: int, code: Code
) -> None:
    assert mapped(kernels, table_of(9), batch(records, count)) == code


def test_memory_that_holds_no_slot_is_refused(kernels: SimpleNamespace) -> None:
    table = OffsetTable.empty(np.zeros(8, np.uint8), 0.9, KeyHash.MD5, SECRET)
    with pytest.raises(ValueError, match="one slot or more"):
        kernels.map_columns(table, columns_of(kernels, [b"a"]), 0)


def test_a_position_outside_the_data_is_refused(kernels: SimpleNamespace) -> None:
    found = walk(data_of((0, [b"a"])))
    found.table["position"] = 10**6
    with pytest.raises(ValueError, match="inside a buffer"):
        kernels.map_batches(table_of(9), found.data, found.table, np.zeros(1, np.uint8), 0)
