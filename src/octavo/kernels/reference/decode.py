"""Decodes v2 records to columns, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import signed64
from octavo.kernels.layout import Code, Column, Outcome
from octavo.kernels.reference.columns import (
    DecodeProblem,
    HeaderRoom,
    HeaderViews,
    RecordRow,
    append,
    capacity,
    free_bytes,
    require_writable,
)
from octavo.kernels.reference.varint import BrokenVarintError, read_varint, read_varlong

if TYPE_CHECKING:
    from typing_extensions import Buffer


def decode_records(
    data: Buffer,
    table: NDArray[np.void],
    first: int,
    out: RecordColumns,
    columns: int = Column.ALL,
    starts: NDArray[np.int64] | memoryview | None = None,
    ends: NDArray[np.int64] | memoryview | None = None,
) -> Outcome:
    """Append the records of v2 batches `first`, `first + 1`, … of `table` to the columns `out`.

    The records lie in `data` after each batch's header or, if given, between `starts` and `ends` (int64, one per row),
    which is how decompressed records are decoded. Returns an `Outcome`; whatever the code, the columns hold the records
    of all batches before the returned one, and none of that one's.
    """
    if first < 0 or (starts is None) != (ends is None):
        raise ValueError("first must not be negative, and starts and ends must be given together")
    require_writable(out, columns)
    view = memoryview(data).cast("B")
    for index in range(first, len(table)):
        batch = table[index]
        if starts is not None and ends is not None:
            if index >= min(len(starts), len(ends)):
                return Code.DONE, index, 0, 0
            start, end = int(starts[index]), int(ends[index])
        else:
            position = int(batch["position"])
            start, end = position + layout.BATCH_OVERHEAD if position >= 0 else -1, position + int(batch["size"])
        if not 0 <= start <= end <= len(view):
            raise ValueError(f"batch {index}: its records do not lie inside a buffer of {len(view)} bytes")
        try:
            rows = _batch(view, start, end, batch, out, columns)
        except DecodeProblem as problem:
            code, position, found = problem.outcome
            return code, index, position, found
        except BrokenVarintError as broken:
            return Code.BROKEN_VARINT, index, broken.position, 0
        for row in rows:
            append(out, row, columns)
    return Code.DONE, max(first, len(table)), 0, 0


def _batch(view: memoryview, at: int, end: int, batch: np.void, out: RecordColumns, columns: int) -> list[RecordRow]:
    count, area = int(batch["count"]), end - at
    if count < 0:
        raise DecodeProblem(Code.NEGATIVE_COUNT, at, count)
    if count == 0:
        return []  # Kafka ignores what follows
    if count * layout.MIN_RECORD_BYTES > area:
        raise DecodeProblem(Code.TOO_MANY_RECORDS, at, count)
    if out.rows + count > capacity(out):
        raise DecodeProblem(Code.FULL, at)
    # Like the compiled twin, ask for room for the whole area, so that no copy needs its own check.
    for column, asked in ((out.key, Column.KEY), (out.value, Column.VALUE)):
        if columns & asked and free_bytes(column, out.rows) < area:
            raise DecodeProblem(Code.FULL, at)
    rows = []
    room = HeaderRoom(out) if columns & Column.HEADERS else None
    for _ in range(count):
        row, at = read_record(view, at, end, batch, room, stored=bool(columns & Column.STORED_TIMESTAMP))
        rows.append(row)
    if at != end:
        raise DecodeProblem(Code.TRAILING_BYTES, at, end - at)
    return rows


def read_record(
    view: memoryview, start: int, end: int, batch: np.void, room: HeaderRoom | None = None, *, stored: bool = False
) -> tuple[RecordRow, int]:
    """The record at `start`, and where it ends; raises DecodeProblem or BrokenVarintError."""
    length, at = read_varint(view, start, end)
    if length < 1 or length > end - at:
        raise DecodeProblem(Code.RECORD_BEYOND_END, start, length)
    end = at + length
    at += 1  # attributes: written as 0, never read
    delta_ms, at = read_varlong(view, at, end)
    delta, at = read_varint(view, at, end)
    key, at = _field(view, at, end, Code.KEY_BEYOND_RECORD)
    value, at = _field(view, at, end, Code.VALUE_BEYOND_RECORD)
    headers, at = _headers(view, at, end, room)
    if at != end:
        raise DecodeProblem(Code.RECORD_LENGTH_MISMATCH, at, end - at)
    timestamp = signed64(int(batch["base_timestamp"]) + delta_ms)
    if batch["attributes"] & layout.LOG_APPEND_TIME and not stored:
        timestamp = int(batch["max_timestamp"])
    return RecordRow(signed64(int(batch["base_offset"]) + delta), timestamp, key, value, headers), end


def _field(view: memoryview, at: int, end: int, beyond: Code) -> tuple[memoryview | None, int]:
    length, start = read_varint(view, at, end)
    if length > end - start:
        raise DecodeProblem(beyond, at, length)
    return (None, start) if length < 0 else (view[start : start + length], start + length)


def _headers(view: memoryview, at: int, end: int, room: HeaderRoom | None) -> tuple[HeaderViews, int]:
    count, start = read_varint(view, at, end)
    if count < 0:
        raise DecodeProblem(Code.NEGATIVE_HEADER_COUNT, at, count)
    if count > end - start:
        raise DecodeProblem(Code.TOO_MANY_HEADERS, at, count)
    headers: HeaderViews = []
    at = start
    for _ in range(count):
        length, _after = read_varint(view, at, end)
        if length < 0:
            raise DecodeProblem(Code.NEGATIVE_HEADER_KEY, at, length)
        name, at = _field(view, at, end, Code.HEADER_BEYOND_RECORD)
        value_at = at
        value, at = _field(view, at, end, Code.HEADER_BEYOND_RECORD)
        assert name is not None
        if room is not None and not room.take(name, value):
            raise DecodeProblem(Code.FULL, value_at)
        headers.append((name, value))
    return headers, at
