"""Appends to `RecordColumns` and reads from them, in plain Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.kernels.columns import MAX_COLUMN_BYTES, BinaryColumn, RecordColumns
from octavo.kernels.layout import Code, Column

HeaderViews = list[tuple[memoryview, memoryview | None]]


class RecordRow(NamedTuple):
    """One record on its way into the columns."""

    offset: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None
    headers: HeaderViews


class DecodeProblem(Exception):
    """Ends a decode with a code, the position of the problem and the value found there."""

    def __init__(self, code: Code, position: int, found: int = 0) -> None:
        super().__init__(code, position, found)
        self.outcome = code, position, found


def capacity(columns: RecordColumns) -> int:
    lengths = [len(columns.offset), len(columns.timestamp)]
    lengths += [room for room in (_row_capacity(columns.key), _row_capacity(columns.value)) if room is not None]
    return min(lengths if columns.header_offsets is None else [*lengths, len(columns.header_offsets) - 1])


def check_rows(columns: RecordColumns) -> None:
    if not 0 <= columns.rows <= capacity(columns):
        raise ValueError(f"{columns.rows} rows, but the columns have room for {capacity(columns)}")


def require_writable(out: RecordColumns, columns: int) -> None:
    """Check that every requested column exists and is filled up to the last row."""
    check_rows(out)
    rows, header_rows = out.rows, out.header_rows
    sound = (
        (not columns & Column.KEY or _appendable(out.key, rows))
        and (not columns & Column.VALUE or _appendable(out.value, rows))
        and (
            not columns & Column.HEADERS
            or (
                out.header_offsets is not None
                and _appendable(out.header_key, header_rows)
                and _appendable(out.header_value, header_rows)
            )
        )
    )
    if not sound:
        raise ValueError(
            "a requested column (key, value or headers) is missing from the columns to decode into, or is not filled "
            "up to its last row; make them with RecordColumns.empty"
        )


def _row_capacity(column: BinaryColumn | None) -> int | None:
    if column is None:
        return None
    rows = len(column.offsets) - 1
    return rows if column.validity is None else min(rows, 8 * len(column.validity))


def _appendable(column: BinaryColumn | None, rows: int) -> bool:
    """Whether a column's first `rows` values lie inside it, so that filling can continue there; it may be full."""
    room = _row_capacity(column)
    if column is None or column.validity is None or room is None:
        return False
    return 0 <= rows <= room and 0 <= column.offsets[rows] <= _byte_capacity(column)


def _byte_capacity(column: BinaryColumn) -> int:
    return min(len(column.data), MAX_COLUMN_BYTES)


def free_bytes(column: BinaryColumn | None, row: int) -> int:
    return 0 if column is None else _byte_capacity(column) - int(column.offsets[row])


def put(column: BinaryColumn, row: int, value: memoryview | None) -> None:
    at = int(column.offsets[row])
    if value is None:
        assert column.validity is not None
        column.validity[row >> 3] &= ~np.uint8(1 << (row & 7))
        column.nulls += 1
        value = memoryview(b"")
    else:
        column.data[at : at + len(value)] = np.frombuffer(value, np.uint8)
    column.offsets[row + 1] = at + len(value)


def value_at(column: BinaryColumn | None, row: int) -> memoryview | None:
    if column is None or (column.validity is not None and not column.validity[row >> 3] >> (row & 7) & 1):
        return None
    return column.data[int(column.offsets[row]) : int(column.offsets[row + 1])].data


class HeaderRoom:
    """The room for headers after the filled ones."""

    def __init__(self, out: RecordColumns) -> None:
        room = [_row_capacity(column) or 0 for column in (out.header_key, out.header_value)]
        self._rows = min(room) - out.header_rows
        self._key_bytes = free_bytes(out.header_key, out.header_rows)
        self._value_bytes = free_bytes(out.header_value, out.header_rows)

    def take(self, name: memoryview, value: memoryview | None) -> bool:
        """Take the room for one more header; returns whether there was enough."""
        self._rows -= 1
        self._key_bytes -= len(name)
        self._value_bytes -= len(value or b"")
        return min(self._rows, self._key_bytes, self._value_bytes) >= 0


def append(out: RecordColumns, row: RecordRow, columns: int) -> None:
    """Add one record to the requested columns; `require_writable` has checked them."""
    if columns & Column.OFFSET:
        out.offset[out.rows] = row.offset
    if columns & Column.TIMESTAMP:
        out.timestamp[out.rows] = row.timestamp
    if columns & Column.KEY and out.key is not None:
        put(out.key, out.rows, row.key)
    if columns & Column.VALUE and out.value is not None:
        put(out.value, out.rows, row.value)
    if columns & Column.HEADERS and out.header_key and out.header_value and out.header_offsets is not None:
        for name, value in row.headers:
            put(out.header_key, out.header_rows, name)
            put(out.header_value, out.header_rows, value)
            out.header_rows += 1
        out.header_offsets[out.rows + 1] = out.header_rows
    out.rows += 1


def check_columns(columns: RecordColumns, first: int, end: int) -> None:
    """Refuse columns whose offsets point outside their data, and headers without a key."""
    check_rows(columns)
    sound = 0 <= first <= end <= capacity(columns)
    sound = sound and _sound(columns.key, first, end) and _sound(columns.value, first, end)
    if sound and columns.header_offsets is not None and first < end:
        offsets = columns.header_offsets[first : end + 1]
        sound = len(offsets) == end - first + 1 and bool(offsets[0] >= 0) and bool((np.diff(offsets) >= 0).all())
        for column in (columns.header_key, columns.header_value):
            sound = sound and _sound(column, int(offsets[0]), int(offsets[-1]))
        for header in range(int(offsets[0]), int(offsets[-1])) if sound else ():
            if value_at(columns.header_key, header) is None:
                raise ValueError(f"rows {first} to {end}: header {header} has no key")
    if not sound:
        raise ValueError(f"rows {first} to {end}: a column's offsets do not lie inside its data")


def _sound(column: BinaryColumn | None, first: int, end: int) -> bool:
    if column is None or first == end:
        return True
    offsets = column.offsets[first : end + 1]
    if len(offsets) < end - first + 1 or (column.validity is not None and len(column.validity) * 8 < end):
        return False
    return bool(offsets[0] >= 0) and bool(offsets[-1] <= len(column.data)) and bool((np.diff(offsets) >= 0).all())
