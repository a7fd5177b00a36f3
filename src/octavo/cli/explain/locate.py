"""Find a batch in a log file: by a byte of it, or by an offset that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.cli.log_file import LogFile
from octavo.format.walker import walk_chunks
from octavo.kernels import layout
from octavo.kernels.layout import Stop


class Place(NamedTuple):
    """A whole batch in the file."""

    position: int
    size: int


class Tail(NamedTuple):
    """Where the batches of the file end, and why."""

    position: int
    stop: Stop


def batch_with_byte(log: LogFile, position: int) -> Place | Tail:
    """The batch that has this byte; the tail when it lies behind all batches."""
    return _first(log, lambda table, start: table["position"] + table["size"] > position - start)


def batch_with_offset(log: LogFile, offset: int) -> Place | Tail:
    """The first batch that reaches to this offset; after compaction the record itself may be gone."""
    return _first(log, lambda table, _: last_offsets(table) >= offset)


def last_offsets(table: NDArray[np.void]) -> NDArray[np.int64]:
    """The last offset of each batch; a v0 or v1 message carries it, its delta is 0."""
    offsets: NDArray[np.int64] = table["base_offset"] + table["last_offset_delta"]
    return offsets


def _first(log: LogFile, wanted: Callable[[NDArray[np.void], int], NDArray[np.bool_]]) -> Place | Tail:
    for chunk in walk_chunks(log.reader(0, log.size), check_crc=False):
        found = np.flatnonzero(wanted(chunk.table, chunk.file_position))
        if len(found):
            row = chunk.table[found[0]]
            return Place(chunk.file_position + int(row["position"]), int(row["size"]))
        if chunk.stop is not None:
            return Tail(chunk.stop_position, chunk.stop)
    raise AssertionError("a walk ends with a stop")


def tail_text(log: LogFile, tail: Tail) -> str:
    """Why the batches end there, in a sentence."""
    left = log.size - tail.position
    if tail.stop is Stop.END:
        return "the file ends with its last batch"
    if tail.stop is Stop.INCOMPLETE_HEADER:
        needed = layout.HEADER_UP_TO_MAGIC + 1
        return f"{left} bytes are left, a batch begins with at least {needed}: the end of an append is missing"
    size = int.from_bytes(log.read_at(tail.position + layout.SIZE_POSITION, 4), signed=True)
    if tail.stop is Stop.INCOMPLETE_BATCH:
        takes = size + layout.LOG_OVERHEAD
        return f"the batch here takes {takes} bytes and {left} are left: the end of an append is missing"
    if is_zero(log, tail.position):
        return f"{left} zero bytes to the end: a preallocated file that was not closed, or what a crash left"
    smallest = layout.MIN_MESSAGE_SIZE
    return f"a size of {size} here, expected at least {smallest}: {left} bytes to the end cannot be followed"


def is_zero(log: LogFile, position: int, step: int = 1 << 20) -> bool:
    """Whether the file holds nothing but zeros from here on."""
    while position < log.size:
        content = log.read_at(position, step)
        if not content or content.count(0) != len(content):
            return not content
        position += len(content)
    return True
