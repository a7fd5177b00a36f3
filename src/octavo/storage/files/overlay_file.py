"""The files of a dry run: the machine's own, unchanged or cut short, or modified copies."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.system.filesystem import LocalFile, LocalMappedFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COPY_BYTES = 1 << 20

NewPath = Callable[[], Path]


@dataclass(slots=True)
class Content:
    """Where a file's bytes are: in the machine's own file, cut at `end`, until the first write makes a copy."""

    source: Path
    end: int | None = None
    is_copy: bool = False
    given_mtime_ms: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def empty(cls, path: Path) -> Content:
        path.touch()
        return cls(path, is_copy=True)

    def size(self) -> int:
        size = self.source.stat().st_size
        return size if self.end is None else min(size, self.end)

    def mtime_ms(self) -> int:
        if self.given_mtime_ms is not None:
            return self.given_mtime_ms
        return self.source.stat().st_mtime_ns // 1_000_000

    def truncate(self, size: int, new_path: NewPath) -> None:
        """Cut the file, or extend it with zeros."""
        if not self.is_copy and size <= self.size():
            self.end = size
            return
        self.own(new_path)
        os.truncate(self.source, size)

    def own(self, new_path: NewPath) -> None:
        """Copy the file at the first call, so that it can be written to. Holes stay holes."""
        with self.lock:
            if self.is_copy:
                return
            size, path = self.size(), new_path()
            with self.source.open("rb") as source, path.open("wb") as copy:
                for start, end in _data(source.fileno(), size):
                    for position in range(start, end, _COPY_BYTES):
                        os.pwrite(copy.fileno(), os.pread(source.fileno(), min(_COPY_BYTES, end - position), position),
                                  position)  # fmt: skip
                os.ftruncate(copy.fileno(), size)
            self.source, self.end, self.is_copy = path, None, True


class OverlayFile:
    """An open file. The machine's own files are opened for reading only."""

    def __init__(self, content: Content, new_path: NewPath) -> None:
        self._content = content
        self._new_path = new_path
        self._file = LocalFile(content.source, read_only=not content.is_copy)
        self._is_copy = content.is_copy

    def pread(self, length: int, position: int) -> bytes:
        return self._current().pread(max(min(length, self._content.size() - position), 0), position)

    def pread_into(self, buffer: memoryview, position: int) -> int:
        length = max(min(len(buffer), self._content.size() - position), 0)
        return self._current().pread_into(buffer[:length], position)

    def pwrite(self, data: Buffer, position: int) -> None:
        self._content.own(self._new_path)
        self._current().pwrite(data, position)

    def truncate(self, size: int) -> None:
        self._content.truncate(size, self._new_path)

    def size(self) -> int:
        return self._content.size()

    def fsync(self) -> None:
        """Do nothing: a dry run's changes need not survive a crash."""

    def let_go(self, length: int) -> None:
        """Do nothing: keep the page cache, since the real run may read the files again."""

    def skip_hole(self, position: int) -> int:
        return self._current().skip_hole(position)

    def fileno(self) -> int:
        return self._current().fileno()

    def _current(self) -> LocalFile:
        if self._is_copy != self._content.is_copy:
            self._file, self._is_copy = LocalFile(self._content.source), True
        return self._file


class OverlayMappedFile:
    """A file's first bytes in memory: the machine's own, or the copy's from the first write on."""

    def __init__(self, content: Content, size: int, new_path: NewPath) -> None:
        self._content = content
        self._size = size
        self._new_path = new_path
        self._copy: LocalMappedFile | None = None
        if content.is_copy:
            self._copy = LocalMappedFile(content.source, size)
        else:
            with content.source.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def view(self) -> memoryview:
        return self._copy.view() if self._copy is not None else memoryview(self._map)

    def write(self, data: bytes | bytearray, position: int) -> None:
        if self._copy is None:
            self._content.own(self._new_path)
            self._copy = LocalMappedFile(self._content.source, self._size)
        self._copy.write(data, position)

    def flush(self) -> None:
        """Do nothing: a dry run's changes need not survive a crash."""

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()


def _data(descriptor: int, size: int) -> list[tuple[int, int]]:
    """The parts of a file that are not holes."""
    found, position = [], 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:
            break  # only a hole remains up to the end
        position = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        if start < size:
            found.append((start, position))
    return found
