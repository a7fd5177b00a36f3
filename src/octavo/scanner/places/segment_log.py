"""Walks the batches of an open log file, and finds the sound batch at a position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offset
from octavo.format.batches.chunk_walk import CHUNK_BYTES, Chunk, walk_chunks
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import broken
from octavo.format.batches.walker import walk
from octavo.kernels.layout import CODEC_MASK, LOG_OVERHEAD, MIN_MESSAGE_SIZE, SIZE_POSITION, Column
from octavo.scanner.places.location import ReadableFile, read_fully

if TYPE_CHECKING:
    from octavo.scanner.places.location import Location

_LEAST_CHUNK_BYTES = 16 << 10


def walk_file(file: ReadableFile, start: int, end: int, *, check_crc: bool = True, path: str = "") -> Iterator[Chunk]:
    """The batches between two positions; the chunks' file positions are relative to the start of the file.

    If the disk fails, its OSError is raised after the batches that were read before.
    """
    position = start
    failure: OSError | None = None

    def read_into(buffer: memoryview) -> int:
        nonlocal position, failure
        try:
            got = file.pread(buffer[: end - position], position) if position < end else 0
        except OSError as error:
            failure, got = error, 0
        position += got
        return got

    chunk_bytes = min(max(end - start, _LEAST_CHUNK_BYTES), CHUNK_BYTES)
    yield from walk_chunks(
        read_into, start=start, chunk_bytes=chunk_bytes, total_bytes=end - start, check_crc=check_crc, path=path
    )
    if failure is not None:
        raise failure


class FoundBatch(NamedTuple):
    """The size and the offsets of a sound batch."""

    size: int
    first_offset: int
    last_offset: int


def batch_at(file: ReadableFile, position: int, end: int) -> FoundBatch | None:
    """The batch at a position; None unless a sound one begins there, ends by `end`, and can be read."""
    try:
        return _batch_at(file, position, end)
    except OSError:
        return None


def _batch_at(file: ReadableFile, position: int, end: int) -> FoundBatch | None:
    if not 0 <= position <= end - LOG_OVERHEAD - MIN_MESSAGE_SIZE:
        return None
    head = memoryview(bytearray(LOG_OVERHEAD))
    if read_fully(file, head, position) < len(head):
        return None
    size = LOG_OVERHEAD + int.from_bytes(head[SIZE_POSITION:LOG_OVERHEAD], signed=True)
    if not LOG_OVERHEAD + MIN_MESSAGE_SIZE <= size <= end - position:
        return None
    data = memoryview(bytearray(size))
    if read_fully(file, data, position) < size:
        return None
    walked = walk(data)
    if len(walked.table) != 1 or broken(walked.table)[0]:
        return None
    row = walked.table[0]
    first_offset = int(row["base_offset"])
    if row["magic"] < 2 and row["attributes"] & CODEC_MASK:  # a wrapper has the offset of its last message
        try:
            first_offset = int(Decoder(Column.OFFSET).decode_one(data, row).offset[0])
        except CorruptionError:
            return None
    return FoundBatch(size, first_offset, last_offset(row))


def follow(location: Location) -> ReadableFile:
    """Open a log file, under its new name if it is about to be deleted: a broker renames it first."""
    try:
        return location.open()
    except FileNotFoundError:
        return location.parent.child(f"{location.name}.deleted").open()
