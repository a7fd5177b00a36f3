"""Formats records as the lines of Kafka's dump-log, in plain Python."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import Code
from octavo.kernels.reference.columns import check_columns, value_at

# Half of a surrogate pair, encoded as if it were a character: one malformed character in Java, two or three in Python.
# In all other cases they agree on the length of a malformed character.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "�".encode()

_FIXED_BYTES = 200  # more than the fixed words and the numbers of a line need
_EXPANSION = 3  # a byte that is not UTF-8 becomes the three bytes of U+FFFD


def java_text(data: bytes) -> bytes:
    """The UTF-8 of `new String(data, UTF_8)`: malformed bytes become U+FFFD."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace").encode()
    return data


def record_lines(
    columns: RecordColumns,
    first: int,
    end: int,
    sequences: NDArray[np.int32],
    timestamp_type: bytes,
    metadata: bool,
    content: bool,
    out: bytearray,
    at: int,
) -> tuple[int, int, int]:
    """Write one line per row first..end of decoded columns to out[at:]; returns (code, next row, position).

    `sequences` has an int32 for each of these rows. `metadata` adds offset, timestamp, sizes, sequence and header keys;
    `content` adds key and payload as text. FULL: the returned row did not fit.
    """
    needed = columns.key, columns.value, columns.header_offsets, columns.header_key
    if end > columns.rows or any(column is None for column in needed):
        raise ValueError(f"expected {end} rows or more with key, value and headers, found {columns.rows} rows")
    check_columns(columns, first, end)
    view = memoryview(out).cast("B")
    if not 0 <= at <= len(view):
        raise ValueError(f"range {at}..{len(view)} is not inside a buffer of {len(view)} bytes")
    if len(sequences) < end - first:
        raise ValueError(f"{len(sequences)} sequences for {end - first} rows")
    for row in range(first, end):
        if _most_bytes(columns, row, len(timestamp_type), content) > len(view) - at:
            return Code.FULL, row, at
        line = _metadata(columns, row, int(sequences[row - first]), timestamp_type) if metadata else b""
        line += _content(columns, row, metadata) if content else b""
        view[at : at + len(line) + 1] = line + b"\n"
        at += len(line) + 1
    return Code.DONE, end, at


def _metadata(columns: RecordColumns, row: int, sequence: int, timestamp_type: bytes) -> bytes:
    assert columns.header_offsets is not None
    headers = range(int(columns.header_offsets[row]), int(columns.header_offsets[row + 1]))
    return b"| offset: %d %b: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%b]" % (
        columns.offset[row],
        timestamp_type,
        columns.timestamp[row],
        _size(columns.key, row),
        _size(columns.value, row),
        sequence,
        b",".join(java_text(bytes(value_at(columns.header_key, header) or b"")) for header in headers),
    )


def _content(columns: RecordColumns, row: int, metadata: bool) -> bytes:
    pieces: list[bytes] = []
    for name, column in ((b"key: ", columns.key), (b"payload: ", columns.value)):
        value = value_at(column, row)
        if value is not None:
            lead = b" " if metadata or pieces else b"| "
            pieces.append(lead + name + java_text(bytes(value)))
    return b"".join(pieces)


def _size(column: BinaryColumn | None, row: int) -> int:
    value = value_at(column, row)
    return -1 if value is None else len(value)


def _most_bytes(columns: RecordColumns, row: int, type_length: int, content: bool) -> int:
    """An upper bound for the length of this row's line."""
    assert columns.header_offsets is not None and columns.header_key is not None
    first, last = int(columns.header_offsets[row]), int(columns.header_offsets[row + 1])
    names = int(columns.header_key.offsets[last]) - int(columns.header_key.offsets[first])
    most = _FIXED_BYTES + type_length + (last - first) + _EXPANSION * names
    if content:
        held = (column for column in (columns.key, columns.value) if column is not None)
        most += _EXPANSION * sum(int(column.offsets[row + 1]) - int(column.offsets[row]) for column in held)
    return most
