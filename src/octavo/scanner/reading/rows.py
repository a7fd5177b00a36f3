"""Decides which batches of a table are delivered: a consumer's rules, applied to whole columns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import BatchSummary, is_wrapper, last_offsets
from octavo.format.record import TimestampType
from octavo.kernels.layout import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL
from octavo.scanner.reading.aborted import AbortedRanges


def all_delivered(summary: BatchSummary, start: int, end: int) -> bool:
    """True only if a consumer gets all records of the batches, as in most chunks; `delivered` would then keep them all.

    They have magic 2 and CreateTime; none belongs to a transaction, is a marker, or lies outside the bounds.
    """
    return (
        summary.produced
        and summary.ascending
        and not summary.flaws
        and summary.min_magic >= 2
        and not summary.attributes & (TRANSACTIONAL | LOG_APPEND_TIME)
        and summary.first_base_offset >= start
        and summary.last_offset < end
    )


def delivered(table: NDArray[np.void], start: int, end: int, aborted: AbortedRanges) -> NDArray[np.void]:
    """The data batches that may hold offsets from `start` up to, but not including, `end`."""
    last = last_offsets(table)
    keep = (last >= start) & (table["base_offset"] < end)
    keep[1:] &= last[1:] > np.maximum.accumulate(last)[:-1]  # a consumer never goes back
    beyond = np.flatnonzero(table["base_offset"] >= end)
    if len(beyond) and is_wrapper(table[beyond[0]]):
        keep[beyond[0]] = True  # a wrapper has the offset of its last message; its first may lie before the end
    flags = int(np.bitwise_or.reduce(table["attributes"])) if len(table) else 0
    if flags & CONTROL:
        keep &= (table["magic"] < 2) | (table["attributes"] & CONTROL == 0)
    if flags & TRANSACTIONAL and aborted:
        keep &= ~aborted.mask(table)
    return table if keep.all() else table[keep]


def needs_offsets(table: NDArray[np.void], start: int, end: int) -> bool:
    """Whether the batches may hold records outside the bounds, so that offsets must be decoded."""
    if not len(table):
        return False
    first = table[0]
    return bool(first["base_offset"] < start or is_wrapper(first) or last_offsets(table[-1:])[0] >= end)


def timestamp_types(table: NDArray[np.void]) -> list[tuple[NDArray[np.void], TimestampType]]:
    """Group neighbouring batches with the same timestamp type."""
    ids = np.where(table["magic"] == 0, -1, (table["attributes"] & LOG_APPEND_TIME != 0).astype(np.int8))
    bounds = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    return [(table[start:end], TimestampType(int(ids[start]))) for start, end in pairwise(bounds) if start < end]
