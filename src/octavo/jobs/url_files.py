"""Files at URLs, for an overlay: folders are listed once, and files fetched block by block when they are read."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from octavo.errors import LogDirError
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.location import Entry, Location, locate, read_fully
from octavo.scanner.places.wrong_place import check_log_dir
from octavo.storage.directory.log_roots import Paths
from octavo.system.filesystem import LocalFile, is_disk_failure
from octavo.system.os_errors import described, placed
from octavo.system.urls import UrlPath, local_path

# Opening a log reads the end of its last segment, and a consumer's request about 1 MB of each partition.
_BLOCK_BYTES = 4 << 20


class UrlFiles:
    """Shows the files as they were listed. What is fetched is kept in the `scratch` folder, until its owner removes it.

    Thread-safe. The store is only read.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._roots: dict[Path, Location] = {}
        self._listed: dict[Path, dict[str, Entry]] = {}
        self._files: dict[Path, UrlFile] = {}
        self._lock = threading.Lock()

    def paths(self, places: Paths) -> list[str | os.PathLike[str]]:
        """The places, with each URL of a log directory replaced by a path that this object knows."""
        given = [places] if isinstance(places, str | os.PathLike) else places
        return [place if local_path(os.fspath(place)) is not None else self._add(os.fspath(place)) for place in given]

    def _add(self, url: str) -> UrlPath:
        location = locate(url)
        try:
            check_log_dir(read_directory(location, lambda _: False))
        except OSError as error:
            raise LogDirError(f"{described(error)}; check the URL and whether its store can be reached") from error
        path = UrlPath(str(location))
        self._roots[path] = location
        return path

    def names(self, folder: Path) -> list[str]:
        return sorted(entry.name for entry in self._entries(folder).values() if not entry.is_folder)

    def folders(self, folder: Path) -> list[str]:
        return sorted(entry.name for entry in self._entries(folder).values() if entry.is_folder)

    others = folders

    def link_target(self, path: Path) -> Path | None:
        """None: stores have no links."""
        return None

    def exists(self, path: Path) -> bool:
        return path in self._roots or path.name in self._entries(path.parent)

    def is_folder(self, path: Path) -> bool:
        return path in self._roots or (self.exists(path) and self._entries(path.parent)[path.name].is_folder)

    def read_bytes(self, path: Path) -> bytes:
        file = self.original(path)
        return file.open().pread(file.size(), 0)

    def original(self, path: Path) -> UrlFile:
        entry = self._entries(path.parent).get(path.name)
        if entry is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        with self._lock:
            if path not in self._files:
                copy = self._scratch / f"fetched-{len(self._files)}"
                self._files[path] = UrlFile(self._location(path), entry, copy)
            return self._files[path]

    def _entries(self, folder: Path) -> dict[str, Entry]:
        if folder not in self._listed:
            found = self._location(folder).list() if self.is_folder(folder) else []
            self._listed[folder] = {entry.name: entry for entry in found}
        return self._listed[folder]

    def _location(self, path: Path) -> Location:
        root = next(root for root in self._roots if path.is_relative_to(root))
        return self._roots[root].child(str(path.relative_to(root))) if path != root else self._roots[root]


class UrlFile:
    """A file at a URL and its local copy, which begins as one hole. A block that the copy has is not fetched again."""

    def __init__(self, location: Location, entry: Entry, copy: Path) -> None:
        self._location = location
        self._entry = entry
        self._copy = copy
        self._fetched: set[int] = set()  # blocks, by number
        self._lock = threading.Lock()

    def size(self) -> int:
        return self._entry.size

    def mtime_ms(self) -> int:
        return self._entry.mtime_ms

    def open(self) -> LocalFile:
        """The copy; its bytes are fetched when they are read."""
        with self._lock:
            if not self._copy.exists():
                LocalFile(self._copy, create=True).truncate(self._entry.size)
        return _Copy(self._copy, self)

    def bring(self, position: int, length: int) -> None:
        """Fetch the blocks in this range that are missing."""
        end = min(position + length, self._entry.size)
        wanted = range(position // _BLOCK_BYTES, -(-end // _BLOCK_BYTES))
        with self._lock:
            for block in [block for block in wanted if block not in self._fetched]:
                start = block * _BLOCK_BYTES
                data = self._read(start, min(_BLOCK_BYTES, self._entry.size - start))
                with placed(self._copy):
                    LocalFile(self._copy).pwrite(data, start)
                self._fetched.add(block)

    def _read(self, position: int, length: int) -> memoryview:
        buffer = memoryview(bytearray(length))
        try:
            with self._location.open() as file:
                if read_fully(file, buffer, position) == length:
                    return buffer
            raise OSError(errno.EIO, "the file is shorter than when it was listed", str(self._location))
        except OSError as error:
            if not is_disk_failure(error):
                raise
            # The next attempt may succeed, so this must not take the directory offline as a failing disk does.
            raise OSError(errno.EHOSTUNREACH, error.strerror, error.filename) from None


class _Copy(LocalFile):
    """An open copy. A hole in it says nothing about the file."""

    def __init__(self, path: Path, of: UrlFile) -> None:
        super().__init__(path, read_only=True)
        self._of = of

    def bring(self, position: int, length: int) -> None:
        self._of.bring(position, length)

    def pread(self, length: int, position: int) -> bytes:
        self.bring(position, length)
        return super().pread(length, position)

    def pread_into(self, buffer: memoryview, position: int) -> int:
        self.bring(position, len(buffer))
        return super().pread_into(buffer, position)

    def skip_hole(self, position: int) -> int:
        return position
