"""A segment's `.log`: its bytes, its used length, and the walks over its batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.filesystem import File, FileSystem
from octavo.format.walker import CHUNK_BYTES, Chunk, walk_chunks
from octavo.kernels.layout import (
    BATCH,
    BATCH_FIELDS,
    BATCH_HEADER,
    BATCH_OVERHEAD,
    ENTRY_PREFIX,
    HEADER_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MESSAGE_V1,
    NO_TIMESTAMP,
    Stop,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

# What is read at once to find a batch near an index entry: by default those are some 4096 bytes of batches apart.
_HEADERS_BYTES = 8 << 10
_HEADERS_ROWS = 128


class LogFile:
    """Appended to by one thread under the log's lock, read by many.

    `size` is the used length: a preallocated file is longer. It grows only once the bytes are written, so a reader
    that stops there sees whole appends.
    """

    def __init__(self, filesystem: FileSystem, path: Path) -> None:
        self.path = path
        self._filesystem = filesystem
        self._file: File | None = None
        self.size = filesystem.size(path)

    @classmethod
    def create(cls, filesystem: FileSystem, path: Path, preallocated_bytes: int = 0) -> LogFile:
        """An empty file, which takes its room on the disk at once if a size is given."""
        filesystem.truncate(path, preallocated_bytes)
        log = cls(filesystem, path)
        log.size = 0
        return log

    @property
    def file(self) -> File:
        """The open file; whoever holds it can read on, even when the segment is deleted."""
        if (file := self._file) is None:
            file = self._file = self._filesystem.open(self.path)
        return file

    def append(self, data: Buffer) -> None:
        """Write behind what is there, with one write."""
        self.file.pwrite(data, self.size)
        self.size += memoryview(data).nbytes

    def chunks(
        self, position: int = 0, end: int | None = None, *, chunk_bytes: int = CHUNK_BYTES, check_crc: bool = False
    ) -> Iterator[Chunk]:
        """The batches between two positions; a chunk's positions are those in the file."""
        file, end = self.file, self.size if end is None else end
        at = position

        def read_into(buffer: memoryview) -> int:
            nonlocal at
            got = file.pread_into(buffer[: max(end - at, 0)], at)
            at += got
            return got

        for chunk in walk_chunks(read_into, chunk_bytes=chunk_bytes, check_crc=check_crc):
            yield chunk._replace(
                file_position=position + chunk.file_position, stop_position=position + chunk.stop_position
            )

    def headers(self, position: int) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Tables of the batches from a position on, each with the position that its rows count from.

        For whoever looks for one batch: little is read at once, and of a large batch only its header.
        """
        file, end = self.file, self.size
        table = np.empty(_HEADERS_ROWS, BATCH)
        while position < end:
            data = file.pread(min(_HEADERS_BYTES, end - position), position)
            rows, length, stop = kernels.walk(data, 0, len(data), table, False)
            if not rows:
                if stop != Stop.INCOMPLETE_BATCH or len(data) < HEADER_UP_TO_MAGIC:
                    return
                length, rows = _header_alone(data, table), 1
                if position + length > end:
                    return
            yield position, table[:rows]
            position += length

    def truncate_to(self, size: int) -> int:
        """Cut the file; returns how many bytes of it went."""
        cut = self.size - size
        self.file.truncate(size)
        self.size = size
        return cut

    def trim(self) -> None:
        """Give back what was preallocated and not used."""
        if self._filesystem.size(self.path) != self.size:
            self.file.truncate(self.size)

    def fsync(self) -> None:
        self.file.fsync()

    @property
    def mtime_ms(self) -> int:
        return self._filesystem.mtime_ms(self.path)

    def release(self) -> None:
        """Give the descriptor back; the next use opens the file again."""
        self._file = None

    def rename(self, path: Path) -> None:
        self._filesystem.rename(self.path, path)
        self.path = path

    def unlink(self) -> None:
        self._file = None
        self._filesystem.unlink(self.path)


def _header_alone(data: bytes, table: NDArray[np.void]) -> int:
    """Fill in the first row for a batch of which little more than the header was read; returns its size."""
    offset, size = ENTRY_PREFIX.unpack_from(data)
    row = table[0]
    row["position"], row["size"], row["base_offset"] = 0, size + LOG_OVERHEAD, offset
    row["magic"], row["last_offset_delta"] = data[MAGIC_POSITION], 0
    if data[MAGIC_POSITION] >= 2 and len(data) >= BATCH_OVERHEAD:
        fields = dict(zip(BATCH_FIELDS, BATCH_HEADER.unpack_from(data), strict=True))
        row["last_offset_delta"], row["max_timestamp"] = fields["lastOffsetDelta"], fields["maxTimestamp"]
        row["partition_leader_epoch"] = fields["partitionLeaderEpoch"]
    elif data[MAGIC_POSITION] == 1 and len(data) >= MESSAGE_V1.size:
        row["max_timestamp"] = MESSAGE_V1.unpack_from(data)[-1]
    else:
        row["max_timestamp"] = NO_TIMESTAMP
    return size + LOG_OVERHEAD
