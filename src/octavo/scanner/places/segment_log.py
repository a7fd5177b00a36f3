"""Walks the batches of an open log file, and looks for a sound batch at a position."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import is_wrapper
from octavo.format.batches.chunk_walk import CHUNK_BYTES, Chunk, walk_chunks
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import broken
from octavo.format.batches.walker import walk
from octavo.kernels.layout import LOG_OVERHEAD, MIN_MESSAGE_SIZE, SIZE_POSITION, Column
from octavo.scanner.places.location import Location, ReadableFile, read_fully

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


def first_offset_at(file: ReadableFile, position: int, end: int) -> int | None:
    """The first offset of the batch at a position; None unless a sound one begins there, ends by `end`, and can be
    read."""
    if not 0 <= position <= end - LOG_OVERHEAD - MIN_MESSAGE_SIZE:
        return None
    head = memoryview(bytearray(LOG_OVERHEAD))
    try:
        read_fully(file, head, position)
        size = LOG_OVERHEAD + int.from_bytes(head[SIZE_POSITION:], signed=True)
        if not LOG_OVERHEAD + MIN_MESSAGE_SIZE <= size <= end - position:
            return None
        data = memoryview(bytearray(size))
        table = walk(data[: read_fully(file, data, position)]).table
        if len(table) != 1 or broken(table)[0]:
            return None
        if is_wrapper(table[0]):  # it has the offset of its last message
            return int(Decoder(Column.OFFSET).decode_one(data, table[0]).offset[0])
        return int(table[0]["base_offset"])
    except (OSError, CorruptionError):
        return None


def follow(location: Location) -> ReadableFile:
    """Open a segment's file, under its new name if it is about to be deleted: a broker renames it first."""
    try:
        return location.open()
    except FileNotFoundError:
        return location.parent.child(f"{location.name}.deleted").open()
