"""Index files as hints: their used entries, without the zeros of a preallocated file, and whether to trust them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from octavo.format.indexes.offset_index import OffsetIndex, OffsetPosition
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.names import FileKind
from octavo.kernels.integers import INT32_MAX
from octavo.scanner.places.files import ListedSegment, PartitionFiles
from octavo.scanner.places.location import Location, ReadableFile, read_fully
from octavo.scanner.places.segment_log import first_offset_at

_Index = TypeVar("_Index", OffsetIndex, TimeIndex)

# An active segment's index has 10 MB by default, most of them unused, so the end of its entries is found by searching
# over blocks.
_BLOCK_BYTES = 24 << 10  # a multiple of both entry sizes
_TRIES = 4


def read_offset_index(files: PartitionFiles, segment: ListedSegment) -> OffsetIndex:
    """The used entries of a segment's offset index; none if the file is missing, unreadable or out of order."""
    location = None if segment.offset_index is None else files.path(segment, FileKind.OFFSET_INDEX)
    return _read_ascending(location, OffsetIndex, segment.base_offset)


def read_time_index(files: PartitionFiles, segment: ListedSegment) -> TimeIndex:
    """The used entries of a segment's time index; none if the file is missing, unreadable or out of order."""
    location = None if segment.time_index is None else files.path(segment, FileKind.TIME_INDEX)
    return _read_ascending(location, TimeIndex, segment.base_offset)


def last_sound_entry(files: PartitionFiles, segment: ListedSegment, log: ReadableFile) -> OffsetPosition | None:
    """The last entry of the offset index that points at a sound batch; None if none of the last few does."""
    if segment.offset_index is None:
        return None
    location = files.path(segment, FileKind.OFFSET_INDEX)
    tail = _read_used(location, OffsetIndex, segment.base_offset, tail_only=True)
    end = log.size()
    for slot in range(len(tail) - 1, max(len(tail) - 1 - _TRIES, -1), -1):
        entry = tail[slot]
        if is_sound(entry, segment.base_offset, log, end):
            return entry
    return None


def are_untrimmed(files: PartitionFiles, segment: ListedSegment) -> bool:
    """Whether a segment's indexes end in unused entries: it is being written, or was when a crash came.

    Also true without indexes, because nothing then shows that the segment was closed.
    """
    kinds = [(FileKind.OFFSET_INDEX, OffsetIndex.LAYOUT.size)] if segment.offset_index else []
    kinds += [(FileKind.TIME_INDEX, TimeIndex.LAYOUT.size)] if segment.time_index else []
    return end_unused(_ends_unused(files.path(segment, kind), entry_bytes) for kind, entry_bytes in kinds) is not False


def end_unused(ends: Iterable[bool]) -> bool | None:
    """Whether any index file of a segment ends in unused entries, as after a crash; None without index files.

    One of the two is enough: when a segment is closed, a crash may come between trimming one and the other.
    """
    unused = list(ends)
    return any(unused) if unused else None


def hint_for(files: PartitionFiles, segment: ListedSegment, log: ReadableFile, offset: int) -> int:
    """A position at or before the batch with the offset: from the index if it can be trusted, otherwise 0."""
    if offset <= segment.base_offset:
        return 0
    entry = read_offset_index(files, segment).lookup(offset)
    return entry.position if is_sound(entry, segment.base_offset, log, log.size()) else 0


def sound_position_after(files: PartitionFiles, segment: ListedSegment, log: ReadableFile, position: int) -> int | None:
    """The first indexed position after this one at which a sound batch begins."""
    index, end = read_offset_index(files, segment), log.size()
    for slot in range(int(np.searchsorted(index.positions(), position, "right")), len(index)):
        if is_sound(index[slot], segment.base_offset, log, end):
            return index[slot].position
    return None


def is_sound(entry: OffsetPosition, base_offset: int, log: ReadableFile, end: int) -> bool:
    """Whether a sound batch with matching offsets begins where the entry points.

    The entry may hold the first or the last offset of the batch; before Kafka 3.9.1 and 4.0.1 also the last offset of
    an append of several batches.
    """
    first_offset = first_offset_at(log, entry.position, end)
    return first_offset is not None and base_offset <= first_offset <= entry.offset


def _read_ascending(location: Location | None, kind: type[_Index], base_offset: int) -> _Index:
    index = None if location is None else _read_used(location, kind, base_offset)
    return index if index is not None and index.is_ascending() else kind.decode(b"", base_offset)


def _read_used(location: Location, kind: type[_Index], base_offset: int, *, tail_only: bool = False) -> _Index:
    try:
        with location.open() as file:
            size = file.size() // kind.LAYOUT.size * kind.LAYOUT.size
            size = size if size <= INT32_MAX else 0  # Kafka maps the whole index, so it cannot be larger
            end = size if size == kind.LAYOUT.size else _used_end(file, size, kind.LAYOUT.size)
            start = max(end - _BLOCK_BYTES, 0) // kind.LAYOUT.size * kind.LAYOUT.size if tail_only else 0
            data = memoryview(bytearray(end - start))
            filled = read_fully(file, data, start)
    except OSError:
        return kind.decode(b"", base_offset)
    return kind.decode(data[:filled], base_offset).used()


def _used_end(file: ReadableFile, size: int, entry_bytes: int) -> int:
    """A position less than a block after the last used entry."""
    if size == 0 or _has_entry(file, size - entry_bytes, entry_bytes):
        return size
    low, high = 0, -(-size // _BLOCK_BYTES)  # blocks from `high` on begin with an unused entry
    while low < high:
        middle = (low + high) // 2
        if _has_entry(file, middle * _BLOCK_BYTES, entry_bytes):
            low = middle + 1
        else:
            high = middle
    return min(low * _BLOCK_BYTES, size)


def _ends_unused(location: Location, entry_bytes: int) -> bool:
    try:
        with location.open() as file:
            slots = file.size() // entry_bytes
            return slots > 0 and not _has_entry(file, (slots - 1) * entry_bytes, entry_bytes)
    except OSError:
        return False


def _has_entry(file: ReadableFile, position: int, entry_bytes: int) -> bool:
    entry = memoryview(bytearray(entry_bytes))
    read_fully(file, entry, position)
    return any(entry)
