"""Rows of the batch table as Python values, and what is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batch_row import BatchRow


def batch_row(table: NDArray[np.void], row: int) -> BatchRow:
    return BatchRow(*table.item(row))


def batch_rows(table: NDArray[np.void]) -> Iterator[BatchRow]:
    return map(BatchRow._make, table.tolist())


class Summary(NamedTuple):
    """`layout.BATCH_SUMMARY` of a set."""

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


def summarize(table: NDArray[np.void]) -> Summary:
    return Summary._make(kernels.summarize_batches(table))
