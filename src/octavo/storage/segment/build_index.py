"""Builds a segment's two indexes from its log, by the same rule as appends and recovery."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.marker_table import decode_markers
from octavo.format.batches.sound import sound_part, up_to_marker
from octavo.format.indexes import offset_index, time_index
from octavo.format.indexes.time_index import TimestampOffset, takes
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import CONTROL, INDEX_COUNTERS, NO_TIMESTAMP
from octavo.storage.segment.log_file import LogFile
from octavo.system.filesystem import FileSystem


class IndexLimits(NamedTuple):
    """The two configs that decide which batches get index entries."""

    index_interval_bytes: int
    segment_index_bytes: int


class BuiltIndexes(NamedTuple):
    """The content of the index files, and where and why the log could not be read to its end."""

    offset_index: bytes
    time_index: bytes
    stop_position: int
    problem: str | None


def build_indexes(filesystem: FileSystem, log: Path, base_offset: int, limits: IndexLimits) -> BuiltIndexes:
    """The entries of all batches that recovery would keep, and the time index's closing entry."""
    builder = _Builder(base_offset, limits)
    position, problem = 0, None
    for chunk in LogFile(filesystem, log).chunks(check_crc=True):
        table, problem = _indexable(chunk, base_offset)
        if len(table):
            builder.add(table, position)
            position += int(table["size"].sum(dtype=np.int64))
        if problem is not None:
            break
    return BuiltIndexes(bytes(builder.offsets), builder.closed_times(), position, problem)


def new_counters(base_offset: int, last_entry_offset: int, largest: TimestampOffset) -> array[int]:
    """`layout.INDEX_COUNTERS` of a segment whose offset index ends with this offset, and its time index with `largest`,
    with no byte counted since."""
    return array("q", [base_offset, 0, *largest, last_entry_offset, largest.timestamp])


class _Builder:
    """Collects entries up to the limit of the files; the time index reserves one slot for the closing entry."""

    def __init__(self, base_offset: int, limits: IndexLimits) -> None:
        self.offsets, self._times = bytearray(), bytearray()
        self._base_offset = base_offset
        self._limits = limits
        self._counters = new_counters(base_offset, base_offset - 1, TimestampOffset(NO_TIMESTAMP, base_offset))

    def add(self, table: NDArray[np.void], position: int) -> None:
        offset_bytes, time_bytes = offset_index.ENTRY.size, time_index.ENTRY.size
        maximum = self._limits.segment_index_bytes
        offset_room = maximum // offset_bytes - len(self.offsets) // offset_bytes
        time_room = maximum // time_bytes - 1 - len(self._times) // time_bytes
        offsets, times = kernels.index_batches(
            table, position, self._limits.index_interval_bytes, self._counters, offset_room, time_room
        )
        self.offsets += offsets
        self._times += times

    def closed_times(self) -> bytes:
        counters = dict(zip(INDEX_COUNTERS, self._counters, strict=True))
        largest = TimestampOffset(counters["max_timestamp"], counters["max_timestamp_offset"])
        last = TimestampOffset(counters["last_entry_timestamp"], self._base_offset)
        closing = time_index.encode_entry(largest, self._base_offset) if takes(last, largest) else b""
        return bytes(self._times) + closing


def _indexable(chunk: Chunk, base_offset: int) -> tuple[NDArray[np.void], str | None]:
    """The batches before the point where recovery would end or split the segment, and what is wrong there."""
    table, found, problem = sound_part(chunk, base_offset)
    if found.attributes & CONTROL:
        _, rows, damage = decode_markers(chunk.data, table)
        if damage is not None:
            table, problem = up_to_marker(table, rows, damage)
    far = np.flatnonzero(last_offsets(table) - base_offset > INT32_MAX)
    if len(far):
        offset, table = int(table[far[0]]["base_offset"]), table[: far[0]]
        problem = f"offset {offset} is too far from the segment's base offset; recovery splits such a segment"
    return table, problem
