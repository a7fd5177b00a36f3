"""Appending to and reading from `RecordColumns`, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import Code, Column

if TYPE_CHECKING:
    from collections.abc import Sequence

Headers = list[tuple[memoryview, memoryview | None]]


class Row(NamedTuple):
    """One record on its way into the columns."""

    offset: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None
    headers: Headers


class Problem(Exception):
    """Ends a decode with a code, the position of the problem and what was found there."""

    def __init__(self, code: Code, position: int, found: int = 0) -> None:
        super().__init__(code, position, found)
        self.outcome = code, position, found


def signed64(value: int) -> int:
    """Java's long arithmetic: wraps around."""
    return (value + 2**63) % 2**64 - 2**63


def capacity(columns: RecordColumns) -> int:
    assert columns.key is not None and columns.value is not None and columns.header_offsets is not None
    lengths = (columns.key.offsets, columns.value.offsets, columns.header_offsets)
    return min(len(columns.offset), len(columns.timestamp), *(len(array) - 1 for array in lengths))


def require_writable(columns: RecordColumns) -> None:
    """A decode writes every kind of column; those of an encode may lack some."""
    binaries = columns.binaries()
    if len(binaries) < 4 or any(column.validity is None for column in binaries) or columns.header_offsets is None:
        raise ValueError("columns to decode into must have every buffer: make them with RecordColumns.empty")


def free_bytes(column: BinaryColumn | None, row: int) -> int:
    return 0 if column is None else len(column.data) - int(column.offsets[row])


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


def headers_fit(columns: RecordColumns, headers: Sequence[tuple[memoryview, memoryview | None]]) -> bool:
    """Whether these headers fit behind those that are there."""
    key, value, row = columns.header_key, columns.header_value, columns.header_rows
    assert key is not None and value is not None
    return (
        row + len(headers) < min(len(key.offsets), len(value.offsets))
        and sum(len(name) for name, _ in headers) <= free_bytes(key, row)
        and sum(len(content or b"") for _, content in headers) <= free_bytes(value, row)
    )


def append(out: RecordColumns, row: Row, columns: int) -> None:
    assert out.key and out.value and out.header_key and out.header_value and out.header_offsets is not None
    if columns & Column.OFFSET:
        out.offset[out.rows] = row.offset
    if columns & Column.TIMESTAMP:
        out.timestamp[out.rows] = row.timestamp
    if columns & Column.KEY:
        put(out.key, out.rows, row.key)
    if columns & Column.VALUE:
        put(out.value, out.rows, row.value)
    if columns & Column.HEADERS:
        for name, value in row.headers:
            put(out.header_key, out.header_rows, name)
            put(out.header_value, out.header_rows, value)
            out.header_rows += 1
        out.header_offsets[out.rows + 1] = out.header_rows
    out.rows += 1
