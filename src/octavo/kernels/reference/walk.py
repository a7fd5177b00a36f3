"""Walks the entries of a log and groups them, in plain Python."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.layout import Flaw, Kind, Stop
from octavo.kernels.reference.hash import crc32c

if TYPE_CHECKING:
    from typing_extensions import Buffer

_NO_HEADER = (0, 0, 0, -1, -1, -1, -1, -1, 0)


def walk(
    data: Buffer, start: int, end: int, table: NDArray[np.void] | memoryview, check_crc: bool = True
) -> tuple[int, int, int]:
    """Fill `table` with the entries of data[start:end]; returns (rows, next position, Stop).

    Positions are relative to the start of `data`. The walk only follows lengths: a flawed batch gets a row like any
    other.
    """
    view = memoryview(data).cast("B")
    if not 0 <= start <= end <= len(view):
        raise ValueError(f"range {start}..{end} is not inside a buffer of {len(view)} bytes")
    batches = np.frombuffer(table, layout.BATCH)
    rows = 0
    while True:
        left = end - start
        if left <= layout.HEADER_UP_TO_MAGIC:
            return rows, start, Stop.INCOMPLETE_HEADER if left else Stop.END
        offset, size = layout.ENTRY_PREFIX.unpack_from(view, start)
        if size < layout.MIN_MESSAGE_SIZE:
            return rows, start, Stop.SIZE_TOO_SMALL
        if size > left - layout.LOG_OVERHEAD or size > layout.MAX_FILE_BYTES - layout.LOG_OVERHEAD:
            return rows, start, Stop.INCOMPLETE_BATCH
        if rows == len(batches):
            return rows, start, Stop.TABLE_FULL
        entry = view[start : start + layout.LOG_OVERHEAD + size]
        magic = int.from_bytes(entry[layout.MAGIC_POSITION : layout.HEADER_UP_TO_MAGIC], signed=True)
        known = Flaw(0) if 0 <= magic <= 2 else Flaw.UNKNOWN_MAGIC
        if magic < 2:
            fields, flaws = _message(entry, magic, check_crc)
        else:
            fields, flaws = _batch(entry, view[start:end], check_crc)
        batches[rows] = (start, offset, *fields[:3], len(entry), *fields[3:], magic, known | flaws, 0)
        rows += 1
        start += len(entry)


def _batch(entry: memoryview, rest: memoryview, check_crc: bool) -> tuple[tuple[Any, ...], Flaw]:
    flaws = Flaw(0) if check_crc else Flaw.UNCHECKED
    epoch = int.from_bytes(entry[layout.PARTITION_LEADER_EPOCH_POSITION : layout.MAGIC_POSITION], signed=True)
    fields = _NO_HEADER
    if len(entry) < layout.BATCH_OVERHEAD:
        flaws |= Flaw.TOO_SHORT
    # Kafka reads a header's 61 bytes even if the batch claims to be shorter.
    if len(rest) >= layout.BATCH_OVERHEAD:
        fields = layout.BATCH_HEADER.unpack_from(rest)[4:]
    else:
        flaws &= ~Flaw.UNCHECKED
    crc, attributes, delta, base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count = fields
    if check_crc and not flaws and crc != crc32c(entry[layout.ATTRIBUTES_POSITION :]):
        flaws |= Flaw.CRC_MISMATCH
    timestamps = base_timestamp, max_timestamp
    return (*timestamps, producer_id, epoch, crc, delta, sequence, count, attributes, producer_epoch), flaws


def _message(entry: memoryview, magic: int, check_crc: bool) -> tuple[tuple[Any, ...], Flaw]:
    _, _, crc, _, attributes = layout.MESSAGE_V0.unpack_from(entry)
    timestamp = layout.MESSAGE_V1.unpack_from(entry)[5] if magic != 0 else layout.NO_TIMESTAMP
    flaws = Flaw(0) if check_crc else Flaw.UNCHECKED
    if check_crc and crc != zlib.crc32(entry[layout.MESSAGE_MAGIC_POSITION :]):
        flaws |= Flaw.CRC_MISMATCH
    count = -1 if attributes & layout.CODEC_MASK else 1
    return (timestamp, timestamp, -1, -1, crc, 0, -1, count, attributes, -1), flaws


def next_run(table: NDArray[np.void], first: int, max_bytes: int) -> tuple[int, int, int, int]:
    """Find the rows from `first` on that are of one kind; returns (kind, end row, records, bytes).

    Records and bytes are the most that uncompressed rows hold; compressed ones may unpack to more. A run ends with the
    row that brings it to `max_bytes`; a larger row is a run of its own. Messages of a run are consecutive, so that one
    call decodes them all.
    """
    if not 0 <= first < len(table):
        raise ValueError(f"row {first} is not in a table of {len(table)} rows")
    kind, records, size, end = _kind(table[first]), 0, 0, first
    while end < len(table) and _kind(table[end]) == kind:
        row, before = table[end], table[end - 1]
        area = int(row["size"]) if kind == Kind.MESSAGE else max(int(row["size"]) - layout.BATCH_OVERHEAD, 0)
        if end > first and (size >= max_bytes or area > max_bytes):
            break
        if kind == Kind.MESSAGE and end > first and before["position"] + before["size"] != row["position"]:
            break
        # An uncompressed batch's count is limited to what its bytes can hold; the decoder refuses a larger one.
        records += 1 if kind == Kind.MESSAGE else min(max(int(row["count"]), 0), area // layout.MIN_RECORD_BYTES)
        size += area
        end += 1
    return kind, end, records, size


def _kind(row: np.void) -> int:
    if row["flaws"] & (Flaw.UNKNOWN_MAGIC | Flaw.TOO_SHORT):
        return Kind.UNREADABLE
    packed = Kind.PACKED if row["attributes"] & layout.CODEC_MASK else Kind.PLAIN
    return packed + (Kind.MESSAGE if row["magic"] < 2 else Kind.PLAIN)
