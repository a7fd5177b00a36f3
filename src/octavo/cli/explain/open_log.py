"""An open log file to be explained: its batches, and how to find one of them by one of its bytes or by an offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.cli.options import many
from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.kernels import layout
from octavo.kernels.layout import MAX_FILE_BYTES, Stop
from octavo.scanner.damage.resync import are_zeros
from octavo.scanner.places.location import Location, read_fully
from octavo.scanner.places.segment_log import walk_file
from octavo.system.closing import Closing


class OpenLog(Closing):
    """Owns the open file."""

    def __init__(self, location: Location) -> None:
        self.path = str(location)
        self.name = location.name
        self._file = location.open()
        self.size = self._file.size()
        if self.size > MAX_FILE_BYTES:
            self.close()
            raise CorruptionError(f"a segment of {self.size} bytes, expected at most {MAX_FILE_BYTES}")

    def close(self) -> None:
        self._file.close()

    def read_at(self, position: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer at the end of the file."""
        content = memoryview(bytearray(min(size, max(self.size - position, 0))))
        return bytes(content[: read_fully(self._file, content, position)])

    def walk(self, *, check_crc: bool = True) -> Iterator[Chunk]:
        """The batches of the file."""
        return walk_file(self._file, 0, self.size, check_crc=check_crc)

    def ends_in_zeros(self, position: int) -> bool:
        """Whether the file holds nothing but zeros from here on."""
        return are_zeros(self._file, position, self.size)


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
