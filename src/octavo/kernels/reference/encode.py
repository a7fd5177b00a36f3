"""Encodes columns as v2 records and whole batches, in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import signed64
from octavo.kernels.layout import Code
from octavo.kernels.reference.columns import check_columns, value_at
from octavo.kernels.reference.hash import crc32c
from octavo.kernels.reference.varint import write_varint, write_varlong

_INT32 = range(-(2**31), 2**31)


def encode_records(
    columns: RecordColumns, first: int, end: int, base_offset: int, base_timestamp: int, out: bytearray, at: int
) -> tuple[int, int]:
    """Write the records of rows first..end to out[at:]; returns (code, end position)."""
    check_columns(columns, first, end)
    view = memoryview(out).cast("B")
    if not 0 <= at <= len(view):
        raise ValueError(f"range {at}..{len(view)} is not inside a buffer of {len(view)} bytes")
    position = at
    for row in range(first, end):
        delta = signed64(int(columns.offset[row]) - base_offset)
        if delta not in _INT32:
            return Code.DELTA_OUT_OF_RANGE, at
        delta_ms = signed64(int(columns.timestamp[row]) - base_timestamp)
        body = b"".join((b"\0", write_varlong(delta_ms), write_varint(delta), fields_of(columns, row)))
        if len(body) > layout.MAX_FILE_BYTES or len(body) + 5 > len(view) - position:
            return Code.FULL, at
        record = write_varint(len(body)) + body
        view[position : position + len(record)] = record
        position += len(record)
    return Code.DONE, position


def encode_batches(
    columns: RecordColumns, row: int, table: NDArray[np.void], out: bytearray, at: int
) -> tuple[int, int, int]:
    """Write uncompressed v2 batches one after another to out[at:].

    Each row of `table` has the header of its batch and takes the next `count` rows of the columns, from `row` on;
    `position`, `size`, `crc`, `magic` and `flaws` are filled in. Returns (code, batches written, end position).
    """
    view = memoryview(out).cast("B")
    if not 0 <= at <= len(view):
        raise ValueError(f"range {at}..{len(view)} is not inside a buffer of {len(view)} bytes")
    for index, batch in enumerate(table):
        if batch["count"] < 0:
            raise ValueError(f"batch {index}: count {batch['count']} is negative")
    check_columns(columns, row, row + int(table["count"].sum(dtype=np.int64)))
    for index, batch in enumerate(table):
        start, count, base_offset = at + layout.BATCH_OVERHEAD, int(batch["count"]), int(batch["base_offset"])
        if start > len(view):
            return Code.FULL, index, at
        code, end = encode_records(columns, row, row + count, base_offset, int(batch["base_timestamp"]), out, start)
        if code != Code.DONE:
            return code, index, at
        if end - at > layout.MAX_FILE_BYTES:
            return Code.FULL, index, at
        batch["position"], batch["size"], batch["magic"], batch["flaws"] = at, end - at, 2, 0
        _write_header(view, at, batch)
        batch["crc"] = crc32c(view[at + layout.ATTRIBUTES_POSITION : end])
        view[at + layout.CRC_POSITION : at + layout.ATTRIBUTES_POSITION] = int(batch["crc"]).to_bytes(4)
        row, at = row + count, end
    return Code.DONE, len(table), at


def _write_header(view: memoryview, at: int, batch: np.void) -> None:
    names = ("attributes", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch")
    fields = [int(batch[name]) for name in (*names, "base_sequence", "count")]
    start = int(batch["base_offset"]), int(batch["size"]) - layout.LOG_OVERHEAD, int(batch["partition_leader_epoch"])
    layout.BATCH_HEADER.pack_into(view, at, *start, 2, 0, *fields)


def fields_of(columns: RecordColumns, row: int) -> bytes:
    """Key, value and headers, each after its length."""
    first, last = 0, 0
    if columns.header_offsets is not None:
        first, last = int(columns.header_offsets[row]), int(columns.header_offsets[row + 1])
    parts = [sized(value_at(columns.key, row)), sized(value_at(columns.value, row)), write_varint(last - first)]
    for header in range(first, last):
        parts += [sized(value_at(columns.header_key, header)), sized(value_at(columns.header_value, header))]
    return b"".join(parts)


def sized(value: bytes | memoryview | None) -> bytes:
    return write_varint(-1) if value is None else write_varint(len(value)) + value
