"""Converts records between Python values and columns, for small amounts: it loops over records in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from octavo.errors import EncodingError
from octavo.format.record import Header, Record
from octavo.kernels.columns import MAX_COLUMN_BYTES, BinaryColumn, RecordColumns


def to_records(columns: RecordColumns, first: int = 0, end: int | None = None) -> list[Record]:
    """The filled rows, or those from `first` to `end`, with their bytes copied out of the columns."""
    end = columns.rows if end is None else end
    keys, values = _values(columns.key, first, end), _values(columns.value, first, end)
    offsets, timestamps = columns.offset[first:end].tolist(), columns.timestamp[first:end].tolist()
    if not columns.header_rows or columns.header_offsets is None:
        return [Record(*row) for row in zip(offsets, timestamps, keys, values, strict=True)]
    ends = columns.header_offsets[first : end + 1].tolist()
    names = _values(columns.header_key, ends[0], ends[-1])
    contents = _values(columns.header_value, ends[0], ends[-1])
    headers = [
        Header((name or b"").decode("utf-8", "surrogateescape"), content)
        for name, content in zip(names, contents, strict=True)
    ]
    groups = [tuple(headers[start - ends[0] : stop - ends[0]]) for start, stop in pairwise(ends)]
    return [Record(*row) for row in zip(offsets, timestamps, keys, values, groups, strict=True)]


def from_records(records: Sequence[Record]) -> RecordColumns:
    headers = [header for record in records for header in record.headers]
    columns = RecordColumns(
        _integers("offset", [record.offset for record in records]),
        _integers("timestamp", [record.timestamp for record in records]),
        _binary("keys", [record.key for record in records]),
        _binary("values", [record.value for record in records]),
        rows=len(records),
        header_rows=len(headers),
    )
    if headers:
        columns.header_offsets = _ends(len(record.headers) for record in records)
        columns.header_key = _binary("header keys", [_header_key(header.key) for header in headers])
        columns.header_value = _binary("header values", [header.value for header in headers])
    return columns


def _header_key(key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodingError(f"header key {key!r} cannot be written as UTF-8: {error.reason}") from None


def _values(column: BinaryColumn | None, first: int, end: int) -> list[bytes | None]:
    if column is None:
        return [None] * (end - first)
    ends = column.offsets[first : end + 1]
    data, ends = column.data[ends[0] : ends[-1]].tobytes(), ends - ends[0]
    values: list[bytes | None] = [data[start:stop] for start, stop in pairwise(ends.tolist())]
    if column.nulls and column.validity is not None:
        valid = np.unpackbits(column.validity, count=end, bitorder="little")[first:]
        for row in np.flatnonzero(valid == 0).tolist():
            values[row] = None
    return values


def _binary(name: str, values: Sequence[bytes | None]) -> BinaryColumn:
    offsets = _ends(len(value) if value is not None else 0 for value in values)
    data = np.frombuffer(b"".join(value for value in values if value), np.uint8)
    if len(data) > MAX_COLUMN_BYTES:
        raise EncodingError(f"{name} of {len(data)} bytes in total, but at most {MAX_COLUMN_BYTES} fit into a batch")
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return BinaryColumn(offsets, data, np.packbits(valid, bitorder="little"), int(len(values) - valid.sum()))


def _ends(lengths: Iterable[int]) -> NDArray[np.int32]:
    return np.cumsum([0, *lengths], dtype=np.int64).astype(np.int32)


def _integers(name: str, values: list[int]) -> NDArray[np.int64]:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        raise EncodingError(f"{name} {max(values, key=abs)} does not fit into 64 bits") from None
