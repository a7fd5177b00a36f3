"""Rows of the batch table as Python values, and what is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from octavo.format.batch_row import BatchRow
from octavo.format.batch_summary import Summary as Summary
from octavo.format.batch_summary import summarize as summarize


def batch_row(table: NDArray[np.void], row: int) -> BatchRow:
    return BatchRow(*table.item(row))


def batch_rows(table: NDArray[np.void]) -> Iterator[BatchRow]:
    return map(BatchRow._make, table.tolist())
