"""The two indexes of a segment, made anew from its log by the rule of appends and of recovery."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.filesystem import FileSystem
from octavo.format import offset_index, time_index
from octavo.format.time_index import TimestampOffset, takes
from octavo.format.walker import STOP_TEXTS, Chunk
from octavo.kernels.layout import INDEX_COUNTERS, NO_TIMESTAMP
from octavo.storage.log_file import LogFile

_INT32_MAX = 2**31 - 1


class IndexLimits(NamedTuple):
    """The two configs that decide which batches get entries."""

    index_interval_bytes: int
    segment_index_bytes: int


class BuiltIndexes(NamedTuple):
    """What the files must hold, and where and why the log could not be followed to its end."""

    offset_index: bytes
    time_index: bytes
    stop_position: int
    problem: str | None


def build_indexes(filesystem: FileSystem, log: Path, base_offset: int, limits: IndexLimits) -> BuiltIndexes:
    """The entries of all batches before the first damaged one, and the time index's closing entry."""
    builder = _Builder(base_offset, limits)
    position, problem = 0, None
    for chunk in LogFile(filesystem, log).chunks(check_crc=True):
        table, problem = _sound(chunk, base_offset)
        if len(table):
            builder.add(table, position)
            position += int(table["size"].sum(dtype=np.int64))
        if problem is not None:
            break
    return BuiltIndexes(bytes(builder.offsets), builder.closed_times(), position, problem)


class _Builder:
    """Collects entries, as many as the files may have: the time index keeps one slot for the closing entry."""

    def __init__(self, base_offset: int, limits: IndexLimits) -> None:
        self.offsets, self._times = bytearray(), bytearray()
        self._base_offset = base_offset
        self._limits = limits
        first = {
            "base_offset": base_offset,
            "bytes_since_last_entry": 0,
            "max_timestamp": NO_TIMESTAMP,
            "max_timestamp_offset": base_offset,
            "last_entry_offset": base_offset - 1,
            "last_entry_timestamp": NO_TIMESTAMP,
        }
        self._counters = array("q", [first[name] for name in INDEX_COUNTERS])

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


def _sound(chunk: Chunk, base_offset: int) -> tuple[NDArray[np.void], str | None]:
    """The batches before the first that is damaged or outside the segment's offsets, and what is wrong there."""
    table = chunk.table
    last = table["base_offset"] + table["last_offset_delta"]
    broken = (table["flaws"] != 0) | (table["base_offset"] < base_offset) | (last - base_offset > _INT32_MAX)
    if broken.any():
        row = int(np.flatnonzero(broken)[0])
        return table[:row], f"the batch at offset {table[row]['base_offset']} is damaged, or not of this segment"
    return table, None if chunk.stop is None else STOP_TEXTS.get(chunk.stop)
