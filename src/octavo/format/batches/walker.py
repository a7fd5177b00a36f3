"""The one batch walker: every reader of log bytes goes through it and is told why it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.chunk_walk import CHUNK_BYTES as CHUNK_BYTES
from octavo.format.batches.chunk_walk import FIRST_TABLE_ROWS, ReadInto, walk_rows
from octavo.kernels.layout import BATCH, Stop

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STOPS = tuple(Stop)  # by code
STOP_TEXTS = {
    Stop.INCOMPLETE_HEADER: "an incomplete batch header",
    Stop.INCOMPLETE_BATCH: "an incomplete batch",
    Stop.SIZE_TOO_SMALL: "bytes that are no batch",
}


class Walk(NamedTuple):
    """The batches of `data`, and why the walk stopped at `next_position`."""

    data: memoryview
    table: NDArray[np.void]  # rows of `BATCH`; positions count from the start of `data`
    next_position: int
    stop: Stop


class Chunk(NamedTuple):
    """Whole batches of a file; `data` and `table` are reused for the next chunk."""

    data: memoryview
    table: NDArray[np.void]  # positions count from the start of `data`
    file_position: int  # of `data`'s first byte
    stop: Stop | None  # None: the file goes on
    stop_position: int  # in the file: the end of the last whole batch


def walk(data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True) -> Walk:
    """All batches of data[start:end]."""
    view = memoryview(data).cast("B")
    end = len(view) if end is None else end
    table = np.empty(FIRST_TABLE_ROWS, BATCH)
    filled, start, code = kernels.walk(view, start, end, table, check_crc)
    table = table[:filled]
    while not code:  # the table is full
        more = np.empty(len(table), BATCH)
        filled, start, code = kernels.walk(view, start, end, more, check_crc)
        table = np.concatenate((table, more[:filled]))
    return Walk(view, table, start, _STOPS[code])


def walk_chunks(
    read_into: ReadInto,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    total_bytes: int | None = None,
    check_crc: bool = True,
) -> Iterator[Chunk]:
    """The batches of a file, in chunks: `octavo.format.batches.chunk_walk.walk_rows` with the rows as a numpy table."""
    rows = walk_rows(read_into, chunk_bytes=chunk_bytes, total_bytes=total_bytes, check_crc=check_crc)
    for data, table, file_position, stop, stop_position in rows:
        yield Chunk(data, np.frombuffer(table, BATCH), file_position, stop, stop_position)
