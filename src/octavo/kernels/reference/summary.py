"""What an append asks of all its batches at once, in plain Python."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout

Summary = tuple[int, int, int, int, int, int, int, int, bool, bool, bool]


def summarize_batches(table: NDArray[np.void]) -> Summary:
    """The fields of `layout.BATCH_SUMMARY` over the rows of a table; of none zeros, and True for what all would do."""
    rows = [dict(zip(layout.BATCH_COLUMNS, row, strict=True)) for row in table.tolist()]
    if not rows:
        return 0, 0, 0, 0, 0, 0, 0, 0, True, True, True
    epochs = [row["partition_leader_epoch"] for row in rows]
    last_offsets = [-1, *(_int64(row["base_offset"] + row["last_offset_delta"]) for row in rows)]
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
    )


def _is_produced(row: dict[str, int]) -> bool:
    counted = row["count"] > 0 and row["count"] - 1 == row["last_offset_delta"]
    numbered = row["producer_id"] <= layout.NO_PRODUCER_ID or row["base_sequence"] >= 0
    return counted and numbered and not row["attributes"] & layout.CONTROL


def _int64(number: int) -> int:
    """Java's arithmetic."""
    return (number + 2**63) % 2**64 - 2**63
