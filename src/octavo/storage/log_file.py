"""A segment's `.log`: its bytes, its used length, and the walks over its batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.filesystem import File, FileSystem
from octavo.format.walker import CHUNK_BYTES, Chunk, walk_chunks

if TYPE_CHECKING:
    from typing_extensions import Buffer

# For walks that are to find one batch near an index entry, and are left then.
SHORT_CHUNK_BYTES = 16 << 10


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
