"""Summarizes all batches of a table at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.kernels.layout import CODEC_MASK


class BatchSummary(NamedTuple):
    """The fields of `kernels.layout.BATCH_SUMMARY`, in its order."""

    flaws: int
    attributes: int
    max_codec: int
    max_size: int
    max_timestamp: int
    min_epoch: int
    max_epoch: int
    min_magic: int
    from_zero: bool
    ascending: bool
    produced: bool
    with_producers: bool
    first_magic: int
    first_base_offset: int
    first_last_offset: int
    last_offset: int
    end: int


def last_offsets(table: NDArray[np.void]) -> NDArray[np.int64]:
    """The last offset of each batch; after compaction there may be no record there."""
    last: NDArray[np.int64] = table["base_offset"] + table["last_offset_delta"]
    return last


def last_offset(batch: np.void) -> int:
    """`last_offsets` for one row."""
    return int(batch["base_offset"]) + int(batch["last_offset_delta"])


def is_wrapper(batch: np.void) -> bool:
    """Whether the batch is a compressed message of an old format, whose offset is that of the last message inside."""
    return bool(batch["magic"] < 2 and batch["attributes"] & CODEC_MASK)


def summarize(table: NDArray[np.void]) -> BatchSummary:
    return BatchSummary._make(kernels.summarize_batches(table))
