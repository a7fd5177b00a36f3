"""Small partitions on disk for tests of the reading side: the batches are given, the indexes follow Kafka's rule."""

from __future__ import annotations

from pathlib import Path

from octavo.format import offset_index, time_index
from octavo.format.names import FileKind, SegmentFile
from octavo.format.time_index import TimestampOffset
from octavo.format.walker import walk


def write_segment(
    folder: Path, base_offset: int, *batches: bytes, interval_bytes: int = 200, closed: bool = True, tail: bytes = b""
) -> Path:
    """A segment with its two indexes; one that is not closed has zeros behind their entries, and no closing one.

    `tail` follows the batches. Returns the path of the log file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(batches)
    offsets, times = index_bytes(data, base_offset, interval_bytes, closed=closed)
    room = 0 if closed else 64
    path(folder, base_offset, FileKind.LOG).write_bytes(data + tail)
    path(folder, base_offset, FileKind.OFFSET_INDEX).write_bytes(offsets + bytes(8 * room))
    path(folder, base_offset, FileKind.TIME_INDEX).write_bytes(times + bytes(12 * room))
    return path(folder, base_offset, FileKind.LOG)


def path(folder: Path, base_offset: int, kind: FileKind) -> Path:
    return folder / SegmentFile(base_offset, kind).name


def index_bytes(data: bytes, base_offset: int, interval_bytes: int, *, closed: bool = True) -> tuple[bytes, bytes]:
    """The entries of both indexes: after more than `interval_bytes` one for the batch that comes then."""
    positions, offsets = [], []
    times: list[TimestampOffset] = []
    largest, indexed = TimestampOffset(-1, base_offset), 0
    for row in walk(data).table:
        last_offset = int(row["base_offset"] + row["last_offset_delta"])
        if row["max_timestamp"] > largest.timestamp:
            largest = TimestampOffset(int(row["max_timestamp"]), last_offset)
        if row["position"] - indexed > interval_bytes:
            indexed = int(row["position"])
            positions.append(indexed)
            offsets.append(last_offset)
            times += [largest] if largest.timestamp > (times[-1].timestamp if times else -1) else []
    if closed and largest.timestamp > (times[-1].timestamp if times else -1):
        times.append(largest)
    return (
        offset_index.encode(offsets, positions, base_offset),
        b"".join(time_index.encode_entry(entry, base_offset) for entry in times),
    )
