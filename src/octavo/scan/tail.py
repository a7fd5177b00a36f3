"""Where a segment ends: behind its last whole batch with a good CRC, whatever lies there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.time_index import TimestampOffset
from octavo.kernels.layout import NO_TIMESTAMP, Stop
from octavo.scan.files import PartitionFiles, SegmentFiles
from octavo.scan.index_files import last_sound_entry
from octavo.scan.location import ReadableFile, read_fully
from octavo.scan.segment_log import follow, last_offsets, walk_file


class Tail(NamedTuple):
    """The end of a segment."""

    next_offset: int
    position: int  # the end of the last whole sound batch
    size: int  # of the file when it was looked at
    stop: Stop  # why the walk ended
    damaged_batches: int  # whole batches behind `position`, none of them sound
    zeros: bool  # behind `position` lie zeros, as in a preallocated file
    largest: TimestampOffset  # the largest timestamp from the last index entry on, and the last offset of its batch

    @property
    def unread_bytes(self) -> int:
        return self.size - self.position

    def problem(self) -> str | None:
        """What is wrong behind the last sound batch; None where nothing is, or the zeros of a preallocated file are."""
        if not self.unread_bytes or self.zeros:
            return None
        if self.damaged_batches:
            return f"damaged batches at the end ({self.damaged_batches})"
        return _PROBLEMS[self.stop]


_PROBLEMS = {
    Stop.INCOMPLETE_HEADER: "an incomplete batch header at the end",
    Stop.INCOMPLETE_BATCH: "an incomplete batch at the end",
    Stop.SIZE_TOO_SMALL: "bytes at the end that are no batch",
}
_LOOKED_AT_BYTES = 4096


def read_tail(files: PartitionFiles, segment: SegmentFiles) -> Tail:
    """Walk a segment from its last sound index entry on; without one, from its start.

    The index is read before the log's size is taken: a broker appends to the log first.
    """
    with follow(files.path(segment)) as log:
        entry = last_sound_entry(files, segment, log)
        return _walk_tail(log, segment.base_offset, 0 if entry is None else entry.position)


def _walk_tail(log: ReadableFile, base_offset: int, start: int) -> Tail:
    size = log.size()
    next_offset, position, damaged, stop = base_offset, start, 0, Stop.END
    largest = TimestampOffset(NO_TIMESTAMP, base_offset)
    for chunk in walk_file(log, start, size):
        sound = np.flatnonzero(chunk.table["flaws"] == 0)
        if len(sound):
            last = chunk.table[sound[-1]]
            next_offset = int(last_offsets(chunk.table[sound[-1:]])[0]) + 1
            position = chunk.file_position + int(last["position"]) + int(last["size"])
            damaged = 0
            largest = _larger(largest, chunk.table[sound])
        damaged += len(chunk.table) - (int(sound[-1]) + 1 if len(sound) else 0)
        stop = stop if chunk.stop is None else chunk.stop
    zeros = not damaged and _are_zeros(log, position)
    return Tail(next_offset, position, max(size, position), stop, damaged, zeros, largest)


def _larger(largest: TimestampOffset, sound: NDArray[np.void]) -> TimestampOffset:
    row = int(sound["max_timestamp"].argmax())  # the first of several, as in Kafka
    timestamp = int(sound["max_timestamp"][row])
    if timestamp <= largest.timestamp:
        return largest
    return TimestampOffset(timestamp, int(last_offsets(sound[row : row + 1])[0]))


def _are_zeros(log: ReadableFile, position: int) -> bool:
    behind = memoryview(bytearray(_LOOKED_AT_BYTES))
    filled = read_fully(log, behind, position)
    return filled > 0 and not any(behind[:filled])
