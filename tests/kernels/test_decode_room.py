"""Columns to decode into: what happens when they are full, and which ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from octavo.kernels.columns import MAX_COLUMN_BYTES, RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code, Column
from tests.kernels.hand_made import batch, content, message, record, table_of

HEADERS = ((b"name", b"content"), (b"n", None))
ENTRIES = [
    batch(record(0, b"key", None, HEADERS) + record(1, None, b"value"), 2, base_offset=10 * i, max_timestamp=i)
    for i in range(5)
]
DATA, TABLE = table_of(*ENTRIES)
AREA = len(ENTRIES[0]) - BATCH_OVERHEAD
ENOUGH: dict[str, Any] = {"rows": 10, "data_bytes": 5 * AREA, "header_rows": 10, "header_bytes": 5 * AREA}


def whole(kernels: SimpleNamespace) -> dict[str, Any]:
    out = RecordColumns.empty(**ENOUGH)
    assert kernels.decode_records(DATA, TABLE, 0, out) == (Code.DONE, 5, 0, 0)
    return content(out)


@pytest.mark.parametrize(
    "room",
    [
        {"rows": 0},
        {"rows": 1},
        {"rows": 2},
        {"rows": 3},
        {"rows": 9},
        {"data_bytes": 0},
        {"data_bytes": AREA - 1},
        {"data_bytes": AREA},
        {"data_bytes": AREA + 10},
        {"header_rows": 0},
        {"header_rows": 1},
        {"header_rows": 3},
        {"header_bytes": 0},
        {"header_bytes": 4},
        {"header_bytes": 6},
        {"header_bytes": 15},
    ],
    ids=str,
)
def test_a_decode_continues_when_full_columns_have_grown(kernels: SimpleNamespace, room: dict[str, Any]) -> None:
    """Whatever was too small: once it has grown, the decode continues with the same result."""
    out = RecordColumns.empty(**ENOUGH | room)
    index, grown = 0, 0
    while True:
        code, index, _, _ = kernels.decode_records(DATA, TABLE, index, out)
        assert out.rows == 2 * index and out.header_rows == 2 * index  # only whole batches
        if code == Code.DONE:
            break
        assert code == Code.FULL
        grown += 1
        out.grow(grown, AREA, grown, grown)
        assert grown < 50
    assert grown > 0
    assert content(out) == whole(kernels)


@pytest.mark.parametrize("wanted", [Column.OFFSET, Column.KEY, Column.VALUE, Column.HEADERS])
def test_only_what_is_asked_for_needs_room(kernels: SimpleNamespace, wanted: Column) -> None:
    room: dict[str, Any] = {"rows": 10, "data_bytes": 5 * AREA * bool(wanted & (Column.KEY | Column.VALUE))}
    if wanted & Column.HEADERS:
        room |= {"header_rows": 10, "header_bytes": 55}
    out = RecordColumns.empty(**room, columns=wanted)
    assert kernels.decode_records(DATA, TABLE, 0, out, wanted) == (Code.DONE, 5, 0, 0)
    assert content(out, wanted).items() <= whole(kernels).items()


def test_nulls_of_a_batch_that_was_taken_back_are_forgotten(kernels: SimpleNamespace) -> None:
    """Its rows are filled again by another batch, with values where it had nulls."""
    damaged = batch(record(0, None, None, ((b"h", None),)) * 9 + b"\1", 10)
    sound = batch(record(0, b"k", b"v", ((b"h", b"x"),)) * 10, 10)
    data, table = table_of(damaged, sound)
    out = RecordColumns.empty(10, 1000, 10, 1000)
    assert kernels.decode_records(data, table, 0, out)[:2] == (Code.RECORD_BEYOND_END, 0)
    table["count"][0] = 9
    assert kernels.decode_records(data, table, 0, out)[:2] == (Code.TRAILING_BYTES, 0)
    assert kernels.decode_records(data, table, 1, out)[:2] == (Code.DONE, 2)
    columns = content(out)
    assert (columns["key"], columns["value"], columns["header_value"]) == ([b"k"] * 10, [b"v"] * 10, [b"x"] * 10)


def test_columns_are_filled_after_what_is_there(kernels: SimpleNamespace) -> None:
    out = RecordColumns.empty(100, 1000, 100, 1000)
    kernels.decode_records(DATA, TABLE[:3], 0, out)
    kernels.decode_messages(message(5, b"k", None), 0, 35, out)
    kernels.decode_records(DATA, TABLE[3:], 0, out)
    columns = content(out)
    assert columns["offset"] == [0, 1, 10, 11, 20, 21, 5, 30, 31, 40, 41]
    assert columns["header_offsets"] == [0, 2, 2, 4, 4, 6, 6, 6, 8, 8, 10, 10]


def test_first_beyond_the_table_decodes_nothing(kernels: SimpleNamespace) -> None:
    out = RecordColumns.empty(**ENOUGH)
    assert kernels.decode_records(DATA, TABLE, 5, out) == (Code.DONE, 5, 0, 0)
    assert kernels.decode_records(DATA, TABLE, 9, out) == (Code.DONE, 9, 0, 0)
    assert kernels.decode_records(b"", TABLE[:0], 0, out) == (Code.DONE, 0, 0, 0)
    assert out.rows == 0


@pytest.mark.parametrize(
    ("position", "size"),
    [(0, 60), (-1, 100), (len(DATA) - 60, 60), (len(DATA), 61), (2**63 - 1, 61), (-(2**63), 61), (0, 2**31 - 1)],
)
def test_a_batch_outside_the_data_is_refused(kernels: SimpleNamespace, position: int, size: int) -> None:
    table = np.zeros(1, BATCH)
    table["position"], table["size"], table["count"] = position, size, 1
    with pytest.raises(ValueError, match="batch 0: its records do not lie inside"):
        kernels.decode_records(DATA, table, 0, RecordColumns.empty(**ENOUGH))


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 4), (0, len(DATA) + 1), (2**63 - 1, 2**63 - 1)])
def test_records_outside_the_data_are_refused(kernels: SimpleNamespace, start: int, end: int) -> None:
    bounds = np.array([start]), np.array([end])
    with pytest.raises(ValueError, match="batch 0: its records do not lie inside"):
        kernels.decode_records(DATA, TABLE[:1], 0, RecordColumns.empty(**ENOUGH), Column.ALL, *bounds)


def test_arguments_that_make_no_sense_are_refused(kernels: SimpleNamespace) -> None:
    out = RecordColumns.empty(**ENOUGH)
    with pytest.raises(ValueError, match="first must not be negative"):
        kernels.decode_records(DATA, TABLE, -1, out)
    with pytest.raises(ValueError, match="starts and ends must be given together"):
        kernels.decode_records(DATA, TABLE, 0, out, Column.ALL, np.zeros(5, np.int64))


def _without(name: str) -> Callable[[RecordColumns], None]:
    return lambda columns: setattr(columns, name, None)


def _no_validity(columns: RecordColumns) -> None:
    assert columns.key is not None
    columns.key.validity = None


def _short_validity(columns: RecordColumns) -> None:
    assert columns.value is not None and columns.value.validity is not None
    columns.value.validity, columns.rows = columns.value.validity[:0], 1


def _offset_before_the_data(columns: RecordColumns) -> None:
    assert columns.key is not None
    columns.key.offsets[0] = -1


def _offset_beyond_the_data(columns: RecordColumns) -> None:
    assert columns.header_value is not None
    columns.header_value.offsets[0] = len(columns.header_value.data) + 1


def _too_many_rows(columns: RecordColumns) -> None:
    columns.rows = 11


def _negative_rows(columns: RecordColumns) -> None:
    columns.rows = -1


def _negative_header_rows(columns: RecordColumns) -> None:
    columns.header_rows = -1


def _too_many_header_rows(columns: RecordColumns) -> None:
    columns.header_rows = 11


def _no_offsets_at_all(columns: RecordColumns) -> None:
    assert columns.value is not None
    columns.value.offsets = columns.value.offsets[:0]


SPOILED: list[Callable[[RecordColumns], None]] = [
    *(_without(name) for name in ("key", "value", "header_offsets", "header_key", "header_value")),
    *(_no_validity, _short_validity, _offset_before_the_data, _offset_beyond_the_data, _too_many_rows),
    *(_negative_rows, _negative_header_rows, _too_many_header_rows, _no_offsets_at_all),
]


@pytest.mark.parametrize("spoil", SPOILED)
def test_columns_that_cannot_be_filled_are_refused(
    kernels: SimpleNamespace, spoil: Callable[[RecordColumns], None]
) -> None:
    out = RecordColumns.empty(**ENOUGH)
    spoil(out)
    with pytest.raises(ValueError, match="columns"):
        kernels.decode_records(DATA, TABLE, 0, out)
    with pytest.raises(ValueError, match="columns"):
        kernels.decode_messages(message(), 0, len(message()), out)


def test_an_offset_never_exceeds_an_int32(kernels: SimpleNamespace) -> None:
    """A buffer may be larger than offsets can reach; the memory is reserved but never touched."""
    out = RecordColumns.empty(10, 0, 10, 1000)
    assert out.key is not None and out.value is not None
    for column in (out.key, out.value):
        column.data = np.empty(MAX_COLUMN_BYTES + 2 * AREA, np.uint8)
        column.offsets[0] = MAX_COLUMN_BYTES - AREA
    assert kernels.decode_records(DATA, TABLE, 0, out)[:2] == (Code.FULL, 1)
    assert out.key.offsets[:3].tolist() == [MAX_COLUMN_BYTES - AREA + used for used in (0, 3, 3)]
