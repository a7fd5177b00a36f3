"""Batches, records and messages made byte by byte, so that each field can be wrong on its own."""

from __future__ import annotations

import zlib
from typing import Any

import crc32c as independent_crc32c
import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import BinaryColumn, RecordColumns

# The table's names for the fields of a v2 header, in the order of the bytes.
HEADER = (
    *("base_offset", "size", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta"),
    *("base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count"),
)

Headers = tuple[tuple[bytes, bytes | None], ...]


def varint(value: int) -> bytes:
    """Zigzag, then groups of seven bits: for int32 and int64 alike."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def field(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(
    delta: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: Headers = (),
    *,
    delta_ms: int = 0,
) -> bytes:
    pairs = b"".join(field(name) + field(content) for name, content in headers)
    return sized(b"\0" + varint(delta_ms) + varint(delta) + field(key) + field(value) + varint(len(headers)) + pairs)


def sized(body: bytes) -> bytes:
    return varint(len(body)) + body


def batch(records: bytes, count: int, *, size: int | None = None, magic: int = 2, **fields: int) -> bytes:
    """A v2 batch with a correct CRC; `size` is the length field, if it should be wrong."""
    defaults = {"base_offset": 0, "partition_leader_epoch": -1, "attributes": 0, "last_offset_delta": 0}
    defaults |= {"base_timestamp": 0, "max_timestamp": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    assert fields.keys() <= defaults.keys()
    h = defaults | fields
    stated = layout.BATCH_OVERHEAD - layout.LOG_OVERHEAD + len(records) if size is None else size
    entry = bytearray(
        layout.BATCH_HEADER.pack(
            *(h["base_offset"], stated, h["partition_leader_epoch"], magic, 0, h["attributes"]),
            *(h["last_offset_delta"], h["base_timestamp"], h["max_timestamp"], h["producer_id"]),
            *(h["producer_epoch"], h["base_sequence"], count),
        )
    )
    entry += records
    crc = independent_crc32c.crc32c(bytes(entry[layout.ATTRIBUTES_POSITION :]))
    entry[layout.CRC_POSITION : layout.ATTRIBUTES_POSITION] = crc.to_bytes(4)
    return bytes(entry)


def message(
    offset: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    magic: int = 1,
    timestamp: int = 0,
    attributes: int = 0,
) -> bytes:
    fields = b"".join((-1).to_bytes(4, signed=True) if f is None else len(f).to_bytes(4) + f for f in (key, value))
    return raw_message(offset, magic, attributes, (b"" if magic == 0 else timestamp.to_bytes(8, signed=True)) + fields)


def raw_message(offset: int, magic: int, attributes: int, rest: bytes) -> bytes:
    """A message with a correct CRC around any bytes."""
    body = magic.to_bytes(1, signed=True) + attributes.to_bytes(1) + rest
    return layout.ENTRY_PREFIX.pack(offset, 4 + len(body)) + zlib.crc32(body).to_bytes(4) + body


def table_of(*entries: bytes) -> tuple[bytes, NDArray[np.void]]:
    """Batches one after another, and the table that says where they are (from their own headers)."""
    table = np.zeros(len(entries), layout.BATCH)
    position = 0
    for row, entry in zip(table, entries, strict=True):
        for name, value in zip(HEADER, layout.BATCH_HEADER.unpack_from(entry), strict=True):
            row[name] = value
        row["position"], row["size"] = position, len(entry)
        position += len(entry)
    return b"".join(entries), table


def content(columns: RecordColumns, wanted: int = layout.Column.ALL) -> dict[str, Any]:
    """The filled part of the requested columns, as plain values that compare with ==."""
    rows = columns.rows
    filled: dict[str, Any] = {"rows": rows}
    if wanted & layout.Column.OFFSET:
        filled["offset"] = columns.offset[:rows].tolist()
    if wanted & layout.Column.TIMESTAMP:
        filled["timestamp"] = columns.timestamp[:rows].tolist()
    if wanted & layout.Column.KEY:
        filled["key"] = values(columns.key, rows)
    if wanted & layout.Column.VALUE:
        filled["value"] = values(columns.value, rows)
    if wanted & layout.Column.HEADERS:
        assert columns.header_offsets is not None
        filled["header_offsets"] = columns.header_offsets[: rows + 1].tolist()
        filled["header_key"] = values(columns.header_key, columns.header_rows)
        filled["header_value"] = values(columns.header_value, columns.header_rows)
    return filled


def values(column: BinaryColumn | None, rows: int) -> list[bytes | None]:
    """A column's values, after checking its offsets, null count, and bits beyond the last row."""
    assert column is not None and column.validity is not None
    offsets = column.offsets[: rows + 1].tolist()
    assert offsets[0] == 0 and offsets == sorted(offsets)
    valid = np.unpackbits(column.validity, bitorder="little")
    assert valid[rows:].all(), "a row that is not filled must be left valid"
    assert column.nulls == rows - valid[:rows].sum()
    data = column.data.tobytes()
    return [data[offsets[row] : offsets[row + 1]] if valid[row] else None for row in range(rows)]
