"""Converts record columns to Arrow arrays and back, as far as possible without copying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from octavo.errors import EncodingError
from octavo.format.java.utf8 import decode_utf8
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import NO_TIMESTAMP
from octavo.system.shown import count

HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
_NO_HEADERS = pa.nulls(0, HEADER)  # pa.array would import pandas, which takes long
FIELDS = {
    "offset": pa.field("offset", pa.int64(), nullable=False),
    "timestamp": pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),
    "key": pa.field("key", pa.binary()),
    "value": pa.field("value", pa.binary()),
    "headers": pa.field("headers", pa.list_(pa.field("item", HEADER, nullable=False)), nullable=False),
}


def to_array(columns: RecordColumns, name: str) -> pa.Array:
    """A column of `FIELDS` over the memory of the filled rows, valid until they are filled again."""
    return _MAKERS[name](columns)


def from_arrow(batch: pa.RecordBatch) -> RecordColumns:
    """A record batch with some of the columns offset, timestamp, key, value, headers, as columns to encode.

    Without an offset column, rows are numbered from 0; without a timestamp column, timestamps are -1. Strings become
    UTF-8.
    """
    rows = batch.num_rows
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    unknown = given.keys() - FIELDS.keys()
    if unknown:
        raise EncodingError(f"column {min(unknown)!r} is not a column of records: give some of {', '.join(FIELDS)}")
    columns = RecordColumns(
        _int64("offset", given["offset"]) if "offset" in given else np.arange(rows, dtype=np.int64),
        _int64("timestamp", milliseconds(given["timestamp"])) if "timestamp" in given else np.full(rows, NO_TIMESTAMP),
        _column("key", given.get("key")),
        _column("value", given.get("value")),
        rows=rows,
    )
    if "headers" in given and not pa.types.is_null(given["headers"].type):
        _add_headers(columns, given["headers"])
    return columns


def fixed_array(kind: pa.DataType, values: NDArray[Any], rows: int) -> pa.Array:
    """The first rows of a column of numbers, over the same memory."""
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(values)])


def binary_array(kind: pa.DataType, column: BinaryColumn | None, rows: int) -> pa.Array:
    """The first rows of a binary column, over the same memory; all null if there is no column."""
    if column is None:
        return pa.nulls(rows, kind)
    validity = pa.py_buffer(column.validity) if column.nulls else None
    buffers = [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count=column.nulls)


def _headers(columns: RecordColumns) -> pa.Array:
    kind, rows = FIELDS["headers"].type, columns.header_rows
    if columns.header_offsets is None:
        return pa.array([[]] * columns.rows, kind)
    entries = _NO_HEADERS
    if rows:
        keys = _text(binary_array(pa.string(), columns.header_key, rows))
        values = binary_array(pa.binary(), columns.header_value, rows)
        entries = pa.StructArray.from_arrays([keys, values], fields=list(HEADER))
    offsets = pa.py_buffer(columns.header_offsets)
    return pa.Array.from_buffers(kind, columns.rows, [None, offsets], children=[entries])


def _text(keys: pa.Array) -> pa.Array:
    """Header keys as strings; bytes that are not UTF-8 become what a Java client would show."""
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        shown = [decode_utf8(key) for key in keys.view(pa.binary()).to_pylist()]
        return pa.array(shown, pa.string())
    return keys


def cast_column(name: str, array: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column cast to another type; EncodingError if it cannot be converted."""
    try:
        return array.cast(kind)
    except pa.ArrowException as error:
        raise EncodingError(f"column {name!r} is of type {array.type}, expected {kind}: {error}") from None


def milliseconds(times: pa.Array) -> pa.Array:
    """Timestamps as milliseconds; a column of integers is used unchanged."""
    if not pa.types.is_integer(times.type):
        times = cast_column("timestamp", times, pa.timestamp("ms"))
    return cast_column("timestamp", times, pa.int64())


def _int64(name: str, array: pa.Array) -> NDArray[np.int64]:
    plain = cast_column(name, array, pa.int64())
    if plain.null_count:
        raise EncodingError(f"{count(plain.null_count, 'null')} in column {name!r}, expected none")
    return np.frombuffer(plain.buffers()[1], np.int64)[plain.offset : plain.offset + len(plain)]


def _column(name: str, array: pa.Array | None) -> BinaryColumn | None:
    if array is None or pa.types.is_null(array.type):
        return None
    if not pa.types.is_binary(array.type) and not pa.types.is_string(array.type):
        array = cast_column(name, array, pa.binary())
    if array.offset % 8 and array.null_count:
        array = pa.concat_arrays([array])  # a bitmap must begin at a byte boundary
    validity, offsets, data = array.buffers()
    first, rows = array.offset, len(array)
    bitmap = None if not array.null_count else np.frombuffer(validity, np.uint8)[first // 8 :]
    ends = np.frombuffer(offsets, np.int32)[first : first + rows + 1] if rows else np.zeros(1, np.int32)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return BinaryColumn(ends, content, bitmap, array.null_count)


def _add_headers(columns: RecordColumns, headers: pa.Array) -> None:
    _check_headers(headers.type)
    if headers.null_count:
        headers = headers.fill_null([])
    if headers.offset % 8:
        headers = pa.concat_arrays([headers])
    entries = headers.values
    keys = entries.field("key")
    if keys.null_count and (missing := headers.flatten().field("key").null_count):  # in these rows, not in others
        raise EncodingError(f"{count(missing, 'header')} without a key, expected none")
    ends = headers.offsets.cast(pa.int32())
    columns.header_offsets = np.frombuffer(ends.buffers()[1], np.int32)[ends.offset : ends.offset + len(headers) + 1]
    columns.header_key = _column("headers.key", keys)
    columns.header_value = _column("headers.value", entries.field("value"))
    columns.header_rows = len(entries)


def _check_headers(kind: pa.DataType) -> None:
    """Refuse a type that is neither a list of structs with key and value nor a map, which has the same layout."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    has_fields = is_list and pa.types.is_struct(kind.value_type)
    has_fields = has_fields and {"key", "value"} <= {field.name for field in kind.value_type}
    if not has_fields and not pa.types.is_map(kind):
        raise EncodingError(f"column 'headers' is of type {kind}, expected {FIELDS['headers'].type}")


_MAKERS: dict[str, Callable[[RecordColumns], pa.Array]] = {
    "offset": lambda columns: fixed_array(pa.int64(), columns.offset, columns.rows),
    "timestamp": lambda columns: fixed_array(FIELDS["timestamp"].type, columns.timestamp, columns.rows),
    "key": lambda columns: binary_array(pa.binary(), columns.key, columns.rows),
    "value": lambda columns: binary_array(pa.binary(), columns.value, columns.rows),
    "headers": _headers,
}
