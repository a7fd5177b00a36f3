"""Finds a batch in a log file by one of its bytes or by an offset, and says why the batches end where they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.cli.explain.open_log import OpenLog
from octavo.cli.options import many
from octavo.format.batches.batch_summary import last_offsets
from octavo.kernels import layout
from octavo.kernels.layout import Stop


class BatchPlacement(NamedTuple):
    """A whole batch in the file."""

    position: int
    size: int


class FileTail(NamedTuple):
    """Where the batches of the file end, and why."""

    position: int
    stop: Stop


def batch_with_byte(log: OpenLog, position: int) -> BatchPlacement | FileTail:
    """The batch that contains this byte; the tail if the byte lies after all batches."""
    return _first(log, lambda table, start: table["position"] + table["size"] > position - start)


def batch_with_offset(log: OpenLog, offset: int) -> BatchPlacement | FileTail:
    """The first batch that extends to this offset; after compaction the record itself may be gone."""
    return _first(log, lambda table, _: last_offsets(table) >= offset)


def _first(log: OpenLog, wanted: Callable[[NDArray[np.void], int], NDArray[np.bool_]]) -> BatchPlacement | FileTail:
    for chunk in log.walk(check_crc=False):
        found = np.flatnonzero(wanted(chunk.table, chunk.file_position))
        if len(found):
            row = chunk.table[found[0]]
            return BatchPlacement(chunk.file_position + int(row["position"]), int(row["size"]))
        if chunk.stop is not None:
            return FileTail(chunk.stop_position, chunk.stop)
    raise AssertionError("a walk ends with a stop")


def tail_text(log: OpenLog, tail: FileTail) -> str:
    """Why the batches end there, in a sentence."""
    left = log.size - tail.position
    if tail.stop is Stop.END:
        return "the file ends with its last batch"
    if tail.stop is Stop.INCOMPLETE_HEADER:
        needed = layout.HEADER_UP_TO_MAGIC + 1
        are_left = f"{many(left, 'byte')} {'is' if left == 1 else 'are'} left"
        return f"{are_left}, but a batch begins with at least {needed}: the end of an append is missing"
    size = int.from_bytes(log.read_at(tail.position + layout.SIZE_POSITION, 4), signed=True)
    if tail.stop is Stop.INCOMPLETE_BATCH:
        takes = size + layout.LOG_OVERHEAD
        return f"the batch here takes {takes} bytes, but {left} are left: the end of an append is missing"
    if log.ends_in_zeros(tail.position):
        return f"{left} zero bytes to the end: a preallocated file that was not closed, or what a crash left"
    smallest = layout.MIN_MESSAGE_SIZE
    return f"a size of {size} here, expected at least {smallest}: the {left} bytes to the end cannot be read"
