"""Encodes rows in any order as runs of batches, in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Code
from octavo.kernels.reference.accumulate import cut_batches
from octavo.kernels.reference.columns import check_columns
from octavo.kernels.reference.encode import encode_batches

_CUT = ("count", "last_offset_delta", "base_timestamp", "max_timestamp", "size")


def encode_runs(
    columns: RecordColumns,
    order: NDArray[np.int32],
    ends: NDArray[np.int64],
    table: NDArray[np.void],
    out: bytearray,
    batch_size: int,
    seal: bool,
) -> tuple[int, int, int]:
    """Write runs of v2 batches one after another to `out`; run i has the rows order[ends[i - 1]:ends[i]].

    Offsets in each batch count from 0. Each row of `table` already has the rest of its batch's header, and gets
    position, size, count, lastOffsetDelta and timestamps. With `seal`, header and CRC are written too; otherwise the
    header's bytes are left unchanged. `ends` becomes the number of batches up to each run's end. Returns (code, batches
    written, end position).
    """
    check_columns(columns, 0, columns.rows)
    _check_order(order, ends, columns.rows)
    place = batch = at = 0
    for run, end in enumerate(ends.tolist()):
        taken = columns.taken(order[place:end].astype(np.intp))
        row = 0
        while row < end - place:
            if batch == len(table):
                return Code.FULL, batch, at
            size, row = _encode_one(taken, row, table[batch : batch + 1], memoryview(out)[at:], batch_size, seal)
            if size is None:
                return Code.FULL, batch, at
            table["position"][batch] = at
            batch, at = batch + 1, at + size
        place, ends[run] = end, batch
    return Code.DONE, batch, at


def _encode_one(
    columns: RecordColumns, row: int, batch: NDArray[np.void], out: memoryview, batch_size: int, seal: bool
) -> tuple[int | None, int]:
    """The size of the batch of rows that fit from `row` on (None if there is no room), and the row after them."""
    draft = batch.copy()
    _, end = cut_batches(columns, row, columns.rows, draft, batch_size, 0.0)
    size, count = int(draft["size"][0]), end - row
    columns.offset = np.arange(columns.rows) - row + int(batch["base_offset"][0])
    room = bytearray(size + 5)  # the encoder needs room for the longest length field of a record
    code, _, written = encode_batches(columns, row, draft, room, 0)
    if code != Code.DONE or written > len(out):
        return None, row
    assert (written, count) == (size, int(draft["count"][0])), "a cut that does not add up"
    if seal:
        out[:size] = room[:size]
        batch[:] = draft
    else:
        out[layout.BATCH_OVERHEAD : size] = room[layout.BATCH_OVERHEAD : size]
        for name in _CUT:
            batch[name] = draft[name]
    return size, end


def _check_order(order: NDArray[np.int32], ends: NDArray[np.int64], rows: int) -> None:
    for row in order.tolist():
        if not 0 <= row < rows:
            raise ValueError(f"the order has row {row}, but there are {rows} rows")
    for run, (before, end) in enumerate(zip([0, *ends.tolist()], ends.tolist(), strict=False)):
        if not before <= end <= len(order):
            raise ValueError(f"run {run} ends at {end}, expected {before} to {len(order)} (rows in the order)")
