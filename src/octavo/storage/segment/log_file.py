"""A segment's `.log` file: its bytes, its used length, and the walks over its batches."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import CHUNK_BYTES, Chunk, walk_chunks
from octavo.format.batches.zeros import zeros_end
from octavo.format.indexes.offset_index import OffsetPosition
from octavo.kernels.layout import (
    BATCH,
    ENTRY_PREFIX,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MESSAGE_V1,
    MIN_MESSAGE_SIZE,
    NO_TIMESTAMP,
    Seek,
    Stop,
)
from octavo.storage.files.open_files import OPEN_FILES, ReleasableFile
from octavo.system.filesystem import File, FileSystem

if TYPE_CHECKING:
    from typing_extensions import Buffer

# How much is read at once to find a batch near an index entry; by default, entries are about 4096 bytes apart.
_HEADERS_BYTES = 8 << 10
_HEADERS_ROWS = 128
_FOUND, _DECODE = int(Seek.FOUND), int(Seek.DECODE)  # a member of an enum takes longer to compare


class BatchPlace(NamedTuple):
    """A batch in a segment's log file."""

    base_offset: int
    position: int
    size: int


class SearchBy(Enum):
    """What a batch is searched by."""

    LAST_OFFSET = "last offset"
    MAX_TIMESTAMP = "max timestamp"


class LogFile(ReleasableFile):
    """One thread appends, under the log's lock; many may read.

    `size` is the used length; a preallocated file is longer. `size` grows only after the bytes are written, so a reader
    that stops there sees only whole appends.
    """

    def __init__(self, filesystem: FileSystem, path: Path) -> None:
        super().__init__(filesystem, path)
        self.size = filesystem.size(path)

    @classmethod
    def create(cls, filesystem: FileSystem, path: Path, preallocated_bytes: int = 0) -> LogFile:
        """Create an empty file; with `preallocated_bytes`, it has that length at once, as a hole."""
        filesystem.truncate(path, preallocated_bytes)
        log = cls(filesystem, path)
        log.size = 0
        return log

    @property
    def file(self) -> File:
        """The open file; whoever holds it can continue reading even after the segment is deleted."""
        if (file := self._file) is None:
            file = self._file = self._filesystem.open(self.path)
            OPEN_FILES.opened(self)
        return file

    def append(self, data: Buffer) -> int:
        """Append bytes with one write; returns the position of the first."""
        position = self.size
        self.file.pwrite(data, position)
        self.size = position + memoryview(data).nbytes
        return position

    def chunks(
        self, position: int = 0, end: int | None = None, *, chunk_bytes: int = CHUNK_BYTES, check_crc: bool = False
    ) -> Iterator[Chunk]:
        """The batches between two file positions; there is no chunk if there are no bytes."""
        end, at = self.size if end is None else end, position
        if position >= end:
            return
        file, chunk_bytes = self.file, min(chunk_bytes, max(end - position, _HEADERS_BYTES))

        def read_into(buffer: memoryview) -> int:
            nonlocal at
            got = file.pread_into(buffer[: max(end - at, 0)], at)
            at += got
            return got

        yield from walk_chunks(
            read_into, start=position, chunk_bytes=chunk_bytes, total_bytes=end - position, check_crc=check_crc
        )

    def head(self, position: int) -> bytes:
        """The first bytes from a position on, which `begins_batch` and `find` look at."""
        left = self.size - position
        return self.file.pread(min(_HEADERS_BYTES, left), position) if position >= 0 and left > 0 else b""

    def find(self, search_by: SearchBy, target: int, position: int, head: bytes | None = None) -> BatchPlace | None:
        """The first batch from a position on whose last offset or largest timestamp is not below the target, if any.

        Reads little at once, and only the header of a large batch. `head`, if given, holds the bytes at the position,
        which are then not read again.
        """
        end, by_timestamp = self.size, search_by is SearchBy.MAX_TIMESTAMP
        while position < end:
            data = self.head(position) if head is None else head
            code, base_offset, at, size = kernels.find_batch(data, target, by_timestamp)
            position, head = position + at, None
            if code == _FOUND:
                return BatchPlace(base_offset, position, size) if position + size <= end else None
            if code == _DECODE or not at:  # an old message may be shorter than a v2 header
                place, position = self._find_old(search_by, target, position)
                if place is not None:
                    return place
        return None

    def _find_old(self, search_by: SearchBy, target: int, position: int) -> tuple[BatchPlace | None, int]:
        """`find` for old formats, among the next few batches; also returns where the search continues."""
        data, table = self.head(position), _tables.table
        rows, length, stop = kernels.walk(data, 0, len(data), table, False)
        if rows:
            found = table[:rows]
            reached = _values(found, search_by) >= target
            first = int(reached.argmax())
            if reached[first]:
                return BatchPlace(
                    found["base_offset"].item(first),
                    position + found["position"].item(first),
                    found["size"].item(first),
                ), position
        elif stop == Stop.INCOMPLETE_BATCH:
            place, value = _message_alone(data, position, search_by)
            length = place.size
            if value >= target and position + length <= self.size:
                return place, position
        else:
            length = self.size
        return None, position + length

    def begins_batch(self, entry: OffsetPosition, head: bytes) -> bool:
        """Whether a batch begins where an index entry points (`head` has the bytes), at or before the entry's offset.

        Only the header is checked. The header of a compressed message in an old format holds its last offset, which may
        be larger than the offset in an old broker's entry.
        """
        if len(head) <= MAGIC_POSITION:
            return False
        base_offset, size = ENTRY_PREFIX.unpack_from(head)
        is_whole = MIN_MESSAGE_SIZE <= size <= self.size - entry.position - LOG_OVERHEAD
        return is_whole and (head[MAGIC_POSITION] < 2 or base_offset <= entry.offset)

    def read_batch(self, place: BatchPlace) -> tuple[bytes, NDArray[np.void]]:
        """A batch's bytes, and its row as a table that is valid until the next call in this thread."""
        data, table = self.file.pread(place.size, place.position), _tables.table
        rows, _, _ = kernels.walk(data, 0, len(data), table[:1], False)
        return data, table[:rows]

    def is_zero_from(self, position: int) -> bool:
        """Whether only zeros follow a position."""
        file = self.file
        return zeros_end(file.pread_into, position, self.size, file.skip_hole) >= self.size

    def truncate_to(self, size: int) -> int:
        """Cut the file; returns how many bytes were cut."""
        cut = self.size - size
        self.file.truncate(size)
        self.size = size
        return cut

    def trim(self) -> None:
        """Cut off the unused end of a preallocated file."""
        if self._filesystem.size(self.path) != self.size:
            self.file.truncate(self.size)

    def fsync(self) -> None:
        self.file.fsync()

    @property
    def mtime_ms(self) -> int:
        return self._filesystem.mtime_ms(self.path)

    def rename(self, path: Path) -> None:
        self._filesystem.rename(self.path, path)
        self.path = path


def _values(table: NDArray[np.void], search_by: SearchBy) -> NDArray[np.int64]:
    if search_by is SearchBy.MAX_TIMESTAMP:
        timestamps: NDArray[np.int64] = table["max_timestamp"]
        return timestamps
    return last_offsets(table)


def _message_alone(data: bytes, position: int, search_by: SearchBy) -> tuple[BatchPlace, int]:
    """The place of a message of which little more than the header was read, and the value it is searched by."""
    offset, size = ENTRY_PREFIX.unpack_from(data)
    value = offset
    if search_by is SearchBy.MAX_TIMESTAMP:
        has_timestamp = data[MAGIC_POSITION] == 1 and len(data) >= MESSAGE_V1.size
        value = MESSAGE_V1.unpack_from(data)[-1] if has_timestamp else NO_TIMESTAMP
    return BatchPlace(offset, position, size + LOG_OVERHEAD), value


class _Tables(threading.local):
    """One small table per thread, created once."""

    def __init__(self) -> None:
        self.table = np.empty(_HEADERS_ROWS, BATCH)


_tables = _Tables()
