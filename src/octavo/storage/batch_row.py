"""Rows of the batch table as Python values, and what is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from octavo.format.batch_row import BatchRow


def batch_row(table: NDArray[np.void], row: int) -> BatchRow:
    return BatchRow(*table.item(row))


def batch_rows(table: NDArray[np.void]) -> Iterator[BatchRow]:
    return map(BatchRow._make, table.tolist())


def all_attributes(table: NDArray[np.void]) -> int:
    """The attribute bits that any of the batches has."""
    attributes = table["attributes"]
    return int(attributes.item(0) if len(table) == 1 else np.bitwise_or.reduce(attributes))


def largest_timestamp(table: NDArray[np.void]) -> int:
    timestamps = table["max_timestamp"]
    return int(timestamps.item(0) if len(table) == 1 else timestamps.max())
