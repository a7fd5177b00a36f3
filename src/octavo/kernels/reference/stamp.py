"""Writes what a leader assigns into the headers of v2 batches, in plain Python."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.integers import signed64
from octavo.kernels.reference.hash import crc32c

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Bits unknown to Kafka are lost.
_KEPT_ATTRIBUTES = layout.CODEC_MASK | layout.TRANSACTIONAL | layout.CONTROL | layout.DELETE_HORIZON


def stamp_batches(
    data: Buffer,
    table: NDArray[np.void],
    next_offset: int,
    leader_epoch: int,
    log_append_time: bool,
    max_timestamps: NDArray[np.int64] | array[int] | None,
) -> int:
    """Write consecutive offsets, the leader epoch, a timestamp type and a timestamp into the v2 batches of `table` in
    `data`.

    Each batch gets as many offsets as it has records. `max_timestamps` (int64) has one timestamp per batch; with
    None, each batch keeps its own. Headers and rows are changed; a CRC is recomputed if the type or the timestamp
    changes. Returns the next offset.
    """
    view = memoryview(data).cast("B")
    if view.readonly or not table.flags.writeable:
        raise BufferError("data and table to stamp must be writable")
    if max_timestamps is None:
        max_timestamps = table["max_timestamp"].copy()
    if len(max_timestamps) != len(table) or not all(_is_inside(batch, len(view)) for batch in table):
        raise ValueError(f"expected {len(table)} batches of magic 2 inside the data, and one timestamp for each")
    for batch, max_timestamp in zip(table, max_timestamps.tolist(), strict=True):
        next_offset = signed64(next_offset + int(batch["count"]))
        batch["base_offset"] = signed64(next_offset - 1 - int(batch["last_offset_delta"]))
        batch["partition_leader_epoch"] = leader_epoch
        start = int(batch["position"])
        entry = view[start : start + int(batch["size"])]
        layout.ENTRY_PREFIX.pack_into(entry, 0, int(batch["base_offset"]), len(entry) - layout.LOG_OVERHEAD)
        entry[layout.LOG_OVERHEAD : layout.MAGIC_POSITION] = leader_epoch.to_bytes(4, signed=True)
        _stamp_time(entry, batch, layout.LOG_APPEND_TIME if log_append_time else 0, max_timestamp)
    return next_offset


def _stamp_time(entry: memoryview, batch: np.void, timestamp_type: int, max_timestamp: int) -> None:
    if batch["attributes"] & layout.LOG_APPEND_TIME == timestamp_type and batch["max_timestamp"] == max_timestamp:
        return
    attributes = int(batch["attributes"]) & _KEPT_ATTRIBUTES | timestamp_type
    entry[layout.ATTRIBUTES_POSITION : layout.ATTRIBUTES_POSITION + 2] = attributes.to_bytes(2)
    time_end = layout.MAX_TIMESTAMP_POSITION + 8
    entry[layout.MAX_TIMESTAMP_POSITION : time_end] = max_timestamp.to_bytes(8, signed=True)
    crc = crc32c(entry[layout.ATTRIBUTES_POSITION :])
    entry[layout.CRC_POSITION : layout.ATTRIBUTES_POSITION] = crc.to_bytes(4)
    batch["attributes"], batch["max_timestamp"], batch["crc"] = attributes, max_timestamp, crc


def _is_inside(batch: np.void, length: int) -> bool:
    position, size = int(batch["position"]), int(batch["size"])
    return bool(batch["magic"] == 2) and size >= layout.BATCH_OVERHEAD and 0 <= position <= length - size
