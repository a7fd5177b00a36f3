"""Collects a producer's records into batches, in plain Python."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import INT32_MAX, signed64
from octavo.kernels.layout import Refused
from octavo.kernels.reference.columns import check_columns
from octavo.kernels.reference.encode import fields_of, sized
from octavo.kernels.reference.varint import write_varint, write_varlong

COMPRESSION_RATE_ESTIMATION_FACTOR = np.float32(1.05)

# The compiled kernel holds the GIL throughout, so threads take turns here too.
_turn = threading.Lock()


def append_record(
    batch: bytearray,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    headers: bytes,
    write_limit: int,
    ratio: float,
    max_bytes: int,
) -> int:
    """Add a record to an open batch; returns its number there, or one of `Refused`.

    An open batch is a zeroed bytearray; its header has the size, count and timestamps of its records so far, and the
    magic 0 until it is closed. `headers` is encoded, including its count.
    """
    fields = sized(key) + sized(value) + headers
    if layout.BATCH_OVERHEAD + layout.MAX_RECORD_OVERHEAD + len(fields) > max_bytes:
        return Refused.TOO_LARGE
    if len(batch) < layout.BATCH_OVERHEAD:
        raise ValueError(f"an open batch of {len(batch)} bytes, expected at least {layout.BATCH_OVERHEAD}")
    with _turn:
        if batch[layout.MAGIC_POSITION]:
            return Refused.NO_ROOM
        header = layout.BATCH_HEADER.unpack_from(batch)
        (_, size, *_, base_timestamp, max_timestamp, _, _, _, count) = header
        at = size + layout.LOG_OVERHEAD if count else layout.BATCH_OVERHEAD
        if count < 0 or not layout.BATCH_OVERHEAD <= at <= len(batch):
            raise ValueError(f"{count} records up to position {at} in an open batch of {len(batch)} bytes")
        delta_ms = signed64(timestamp - base_timestamp) if count else 0
        record = _record(delta_ms, count, fields)
        estimated = _estimated_size(at - layout.BATCH_OVERHEAD, ratio)
        if count and (write_limit <= estimated or write_limit < estimated + len(record) or count == INT32_MAX):
            return Refused.NO_ROOM
        if at + len(record) > len(batch):
            return Refused.SHORT_BUFFER
        batch[at : at + len(record)] = record
        timestamps = (base_timestamp, max(max_timestamp, timestamp)) if count else (timestamp, timestamp)
        changed = (*header[:1], at + len(record) - layout.LOG_OVERHEAD, *header[2:6], count, *timestamps)
        layout.BATCH_HEADER.pack_into(batch, 0, *changed, *header[9:12], count + 1)
        return int(count)


def close_batch(batch: bytearray) -> None:
    """Close an open batch: from now on it has no room. One that is already closed stays as it is."""
    with _turn:
        if len(batch) >= layout.BATCH_OVERHEAD:
            batch[layout.MAGIC_POSITION] = 2


def cut_batches(
    columns: RecordColumns, row: int, end: int, table: NDArray[np.void], batch_size: int, ratio: float
) -> tuple[int, int]:
    """Cut rows into batches as if records were sent one by one; returns (batches, first remaining row).

    Each row of `table` gets count, lastOffsetDelta, timestamps and, in `size`, its bytes before compression.
    """
    check_columns(columns, row, end)
    for index, batch in enumerate(table):
        if row == end:
            return index, row
        row = _cut_one(columns, row, end, batch, batch_size, ratio)
    return len(table), row


def _cut_one(columns: RecordColumns, row: int, end: int, batch: np.void, batch_size: int, ratio: float) -> int:
    """Fill a batch with as many rows from `row` on as fit; returns the row after them."""
    first, used, limit = row, 0, batch_size
    timestamps = columns.timestamp
    base_timestamp = int(timestamps[row])
    while row < end and row - first < INT32_MAX:
        fields = fields_of(columns, row)
        size = len(_record(signed64(int(timestamps[row]) - base_timestamp), row - first, fields))
        if row == first:
            limit = max(batch_size, layout.BATCH_OVERHEAD + layout.MAX_RECORD_OVERHEAD + len(fields))
        else:
            estimated = _estimated_size(used, ratio)
            if limit <= estimated or limit < estimated + size:
                break
        used, row = used + size, row + 1
    batch["count"], batch["last_offset_delta"] = row - first, row - first - 1
    batch["base_timestamp"], batch["max_timestamp"] = base_timestamp, timestamps[first:row].max()
    batch["size"] = min(layout.BATCH_OVERHEAD + used, layout.MAX_FILE_BYTES)
    return row


def _estimated_size(record_bytes: int, ratio: float) -> int:
    """The estimated size of a batch with this many bytes of records, in Kafka's float arithmetic; ratio 0 means no
    codec."""
    if ratio == 0:
        return layout.BATCH_OVERHEAD + record_bytes
    packed = np.float32(record_bytes) * np.float32(ratio) * COMPRESSION_RATE_ESTIMATION_FACTOR
    return layout.BATCH_OVERHEAD + int(packed)


def _record(delta_ms: int, place: int, fields: bytes) -> bytes:
    body = b"".join((b"\0", write_varlong(delta_ms), write_varint(place), fields))
    return write_varint(len(body)) + body
