"""Walks all batches of one buffer; says why it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.chunk_walk import FIRST_TABLE_ROWS
from octavo.kernels.layout import BATCH, Stop

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STOPS = tuple(Stop)  # by code
_FEW_ROWS, _BYTES_PER_ROW = 16, 1024  # most buffers hold a single batch; if the table is too small, it is extended
STOP_TEXTS = {
    Stop.INCOMPLETE_HEADER: "an incomplete batch header",
    Stop.INCOMPLETE_BATCH: "an incomplete batch",
    Stop.SIZE_TOO_SMALL: "bytes that are not a batch",
}


class Walk(NamedTuple):
    """The batches of `data`, and why the walk stopped at `next_position`."""

    data: memoryview
    table: NDArray[np.void]  # rows of `BATCH`; positions are relative to the start of `data`
    next_position: int
    stop: Stop


def walk(data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True) -> Walk:
    """All batches of data[start:end]."""
    view = memoryview(data).cast("B")
    end = len(view) if end is None else end
    table = np.empty(min(FIRST_TABLE_ROWS, _FEW_ROWS + (end - start) // _BYTES_PER_ROW), BATCH)
    filled, start, code = kernels.walk(view, start, end, table, check_crc)
    table = table[:filled]
    while not code:  # the table is full
        more = np.empty(len(table), BATCH)
        filled, start, code = kernels.walk(view, start, end, more, check_crc)
        table = np.concatenate((table, more[:filled]))
    return Walk(view, table, start, _STOPS[code])
