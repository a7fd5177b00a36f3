"""Summarizes all batches of a table at once, in plain Python."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.integers import signed64


def summarize_batches(table: NDArray[np.void]) -> tuple[int, ...]:
    """The fields of `layout.BATCH_SUMMARY` over the rows of a table.

    For an empty table they are 0, or -1 for offsets, epochs and times, or True for conditions on all batches.
    """
    rows = [dict(zip(layout.BATCH_COLUMNS, row, strict=True)) for row in table.tolist()]
    if not rows:
        return 0, 0, 0, 0, -1, -1, -1, 0, True, True, True, False, 0, -1, -1, -1, 0
    epochs = [row["partition_leader_epoch"] for row in rows]
    last_offsets = [-1, *(signed64(row["base_offset"] + row["last_offset_delta"]) for row in rows)]
    return (
        reduce(or_, (row["flaws"] for row in rows)),
        reduce(or_, (row["attributes"] for row in rows)),
        max(row["attributes"] & layout.CODEC_MASK for row in rows),
        max(row["size"] for row in rows),
        max(row["max_timestamp"] for row in rows),
        min(epochs),
        max(epochs),
        min(row["magic"] for row in rows),
        all(row["base_offset"] == 0 for row in rows),
        all(after > before for before, after in pairwise(last_offsets)),
        all(map(_is_produced, rows)),
        any(row["producer_id"] > layout.NO_PRODUCER_ID for row in rows),
        rows[0]["magic"],
        rows[0]["base_offset"],
        last_offsets[1],
        last_offsets[-1],
        signed64(rows[-1]["position"] + rows[-1]["size"]),
    )


def _is_produced(row: dict[str, int]) -> bool:
    counted = row["count"] > 0 and row["count"] - 1 == row["last_offset_delta"]
    numbered = row["producer_id"] <= layout.NO_PRODUCER_ID or row["base_sequence"] >= 0
    return counted and numbered and not row["attributes"] & layout.CONTROL
