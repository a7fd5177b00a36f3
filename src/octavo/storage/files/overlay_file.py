"""The files of an overlay: originals, unchanged or cut short, or modified copies."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from octavo.system.filesystem import File, LocalFile, LocalMappedFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COPY_BYTES = 1 << 20

NewPath = Callable[[], Path]


class Original(Protocol):
    """A file that an overlay shows and never changes."""

    def size(self) -> int: ...

    def mtime_ms(self) -> int: ...

    def open(self) -> File:
        """The file, for reading only."""
        ...


@dataclass(frozen=True, slots=True)
class LocalOriginal:
    """A file of this machine; a copy that the overlay made may be written to."""

    path: Path
    is_copy: bool = False

    def size(self) -> int:
        return self.path.stat().st_size

    def mtime_ms(self) -> int:
        return self.path.stat().st_mtime_ns // 1_000_000

    def open(self) -> File:
        return LocalFile(self.path, read_only=not self.is_copy)


@dataclass(slots=True)
class Content:
    """Where a file's bytes are: in the original, cut at `end`, until the first write makes a copy."""

    source: Original
    end: int | None = None
    copy: Path | None = None
    given_mtime_ms: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def empty(cls, path: Path) -> Content:
        path.touch()
        return cls(LocalOriginal(path, is_copy=True), copy=path)

    def size(self) -> int:
        size = self.source.size()
        return size if self.end is None else min(size, self.end)

    def mtime_ms(self) -> int:
        return self.source.mtime_ms() if self.given_mtime_ms is None else self.given_mtime_ms

    def truncate(self, size: int, new_path: NewPath) -> None:
        """Cut the file, or extend it with zeros."""
        if self.copy is None and size <= self.size():
            self.end = size
            return
        os.truncate(self.own(new_path), size)

    def own(self, new_path: NewPath) -> Path:
        """Copy the file at the first call, so that it can be written to; returns the copy. Large holes stay holes."""
        with self.lock:
            if self.copy is None:
                size, path, position = self.size(), new_path(), 0
                source, copy = self.source.open(), LocalFile(path, create=True)
                while (position := source.skip_hole(position)) < size:
                    copy.pwrite(source.pread(min(_COPY_BYTES, size - position), position), position)
                    position += _COPY_BYTES
                copy.truncate(size)
                self.source, self.end, self.copy = LocalOriginal(path, is_copy=True), None, path
            return self.copy


class OverlayFile:
    """An open file: the original, or the copy from the first write on."""

    def __init__(self, content: Content, new_path: NewPath) -> None:
        self._content = content
        self._new_path = new_path
        self._source = content.source
        self._file = self._source.open()

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

    def bring(self, position: int, length: int) -> None:
        self._current().bring(position, length)

    def let_go(self, length: int) -> None:
        """Do nothing: keep the page cache, since the real run may read the files again."""

    def skip_hole(self, position: int) -> int:
        return self._current().skip_hole(position)

    def fileno(self) -> int:
        return self._current().fileno()

    def _current(self) -> File:
        if self._source is not self._content.source:
            self._source = self._content.source
            self._file = self._source.open()
        return self._file


class OverlayMappedFile:
    """A file's first bytes in memory: the original's, or the copy's from the first write on."""

    def __init__(self, content: Content, size: int, new_path: NewPath) -> None:
        self._content = content
        self._size = size
        self._new_path = new_path
        self._copy: LocalMappedFile | None = None
        if content.copy is not None:
            self._copy = LocalMappedFile(content.copy, size)
        else:
            file = content.source.open()
            file.bring(0, size)
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def view(self) -> memoryview:
        return self._copy.view() if self._copy is not None else memoryview(self._map)

    def write(self, data: bytes | bytearray, position: int) -> None:
        if self._copy is None:
            self._copy = LocalMappedFile(self._content.own(self._new_path), self._size)
        self._copy.write(data, position)

    def flush(self) -> None:
        """Do nothing: a dry run's changes need not survive a crash."""

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()
