"""Small partitions on disk for tests of the reading side: the batches are given, the indexes follow Kafka's rule."""

from __future__ import annotations

from pathlib import Path

from octavo.format import offset_index, time_index
from octavo.format.names import FileKind, SegmentFile
from octavo.format.time_index import TimestampOffset
from octavo.format.walker import walk
from octavo.storage.index_rule import IndexState, index_entries


def write_segment(
    folder: Path, base_offset: int, *batches: bytes, interval_bytes: int = 200, closed: bool = True, tail: bytes = b""
) -> Path:
    """A segment with its two indexes; one that is not closed has zeros behind their entries, and no closing one.

    `tail` follows the batches. Returns the path of the log file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(batches)
    offsets = times = b""
    if batches:
        state = IndexState(0, TimestampOffset(-1, base_offset))
        found = index_entries(walk(data).table, 0, state, interval_bytes, -1)
        offsets = offset_index.encode(found.offsets, found.positions, base_offset)
        times = time_index.encode(found.timestamps, found.timestamp_offsets, base_offset)
        last = int(found.timestamps[-1]) if len(found.timestamps) else -1
        if closed and found.state.max_so_far.timestamp > last:
            times += time_index.encode_entry(found.state.max_so_far, base_offset)
    room = 0 if closed else 64
    path(folder, base_offset, FileKind.LOG).write_bytes(data + tail)
    path(folder, base_offset, FileKind.OFFSET_INDEX).write_bytes(offsets + bytes(8 * room))
    path(folder, base_offset, FileKind.TIME_INDEX).write_bytes(times + bytes(12 * room))
    return path(folder, base_offset, FileKind.LOG)


def path(folder: Path, base_offset: int, kind: FileKind) -> Path:
    return folder / SegmentFile(base_offset, kind).name
