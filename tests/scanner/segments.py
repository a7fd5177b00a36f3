"""Small partitions on disk for tests of the reading side: the batches are given, the indexes follow Kafka's rule."""

from __future__ import annotations

from array import array
from pathlib import Path

from octavo import kernels
from octavo.format.batches.walker import walk
from octavo.format.indexes import offset_index, time_index
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.names import FileKind, SegmentFile


def write_segment(
    folder: Path, base_offset: int, *batches: bytes, interval_bytes: int = 200, closed: bool = True, tail: bytes = b""
) -> Path:
    """A segment with its two indexes; if it is not closed, they have zeros after their entries, and no closing entry.

    `tail` follows the batches. Returns the path of the log file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(batches)
    table = walk(data).table
    counters = array("q", [base_offset, 0, -1, base_offset, base_offset - 1, -1])
    offsets, times = kernels.index_batches(table, 0, interval_bytes, counters, len(table), len(table))
    largest, last = TimestampOffset(counters[2], counters[3]), counters[5]
    if closed and largest.timestamp > last:
        times += time_index.encode_entry(largest, base_offset)
    room = 0 if closed else 64
    path(folder, base_offset, FileKind.LOG).write_bytes(data + tail)
    path(folder, base_offset, FileKind.OFFSET_INDEX).write_bytes(offsets + bytes(offset_index.ENTRY.size * room))
    path(folder, base_offset, FileKind.TIME_INDEX).write_bytes(times + bytes(time_index.ENTRY.size * room))
    return path(folder, base_offset, FileKind.LOG)


def path(folder: Path, base_offset: int, kind: FileKind) -> Path:
    return folder / SegmentFile(base_offset, kind).name
