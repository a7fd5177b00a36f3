"""A file system for dry runs and read-only brokers: it shows the files there are, and keeps every change to itself."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from octavo.storage.files.overlay_file import Content, LocalOriginal, Original, OverlayFile, OverlayMappedFile
from octavo.system.filesystem import File, FilesToRead, LocalFileSystem, Lock, MappedFile
from octavo.system.regular_file import not_regular
from octavo.system.urls import UrlPath


class Originals(FilesToRead, Protocol):
    """The files that an overlay is laid over: this machine's, or those at URLs."""

    def others(self, folder: Path) -> list[str]: ...

    def folders(self, folder: Path) -> list[str]: ...

    def link_target(self, path: Path) -> Path | None: ...

    def original(self, path: Path) -> Original:
        """A regular file; FileNotFoundError if there is none."""
        ...


class _Machine(LocalFileSystem):
    def original(self, path: Path) -> Original:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise not_regular(path)
        return LocalOriginal(path)


@dataclass(slots=True)
class _Folder:
    """How a folder differs from the original one. None marks a removed file."""

    files: dict[str, Content | None] = field(default_factory=dict)
    exists: bool | None = None  # None: as before


class _NoLock:
    def release(self) -> None:
        """Do nothing: there is nothing to release."""

    def disown(self) -> None:
        """Do nothing: there is nothing to let go of."""


class OverlayFileSystem:
    """Files are opened for reading only; writes go to files in the `scratch` folder.

    It shows the machine's files, and those `at_urls` under their `UrlPath`. A file is copied when it is first written
    to; one that is only truncated just ends earlier. Thread-safe. A folder is renamed with its files but without
    subfolders: partitions have none.
    """

    def __init__(self, scratch: Path, at_urls: Originals | None = None) -> None:
        self._scratch = scratch
        self._machine = _Machine()
        self._at_urls = at_urls or self._machine
        self._folders: dict[Path, _Folder] = {}
        self._copies = 0
        self._lock = threading.RLock()

    def open(self, path: Path, *, create: bool = False) -> File:
        with self._lock:
            if create and not self.exists(path):
                self._put(path, Content.empty(self._new_scratch()))
            return OverlayFile(self._content(path), self._new_scratch)

    def map(self, path: Path, size: int) -> MappedFile:
        return OverlayMappedFile(self._content(path), size, self._new_scratch)

    def truncate(self, path: Path, size: int) -> None:
        self.open(path, create=True).truncate(size)

    def names(self, folder: Path) -> list[str]:
        with self._lock:
            changes = self._changes(folder).files
            untouched = {name for name in self._listed(folder, folders=False) if name not in changes}
            return sorted(untouched | {name for name, content in changes.items() if content is not None})

    def others(self, folder: Path) -> list[str]:
        with self._lock:
            changes = self._changes(folder).files
            files = self._originals(folder)
            there = files.others(folder) if files.is_folder(folder) else []
            return [name for name in there if name not in changes]

    def link_target(self, path: Path) -> Path | None:
        return self._originals(path).link_target(path) if path.name in self.others(path.parent) else None

    def folders(self, folder: Path) -> list[str]:
        with self._lock:
            names = set(self._listed(folder, folders=True))
            for path, changes in self._folders.items():
                if path.parent == folder and changes.exists is not None:
                    (names.add if changes.exists else names.discard)(path.name)
            return sorted(names)

    def exists(self, path: Path) -> bool:
        with self._lock:
            if (known := self._folders.get(path, _Folder()).exists) is not None:
                return known
            changes = self._changes(path.parent).files
            return changes[path.name] is not None if path.name in changes else self._originals(path).exists(path)

    def is_folder(self, path: Path) -> bool:
        with self._lock:
            known = self._folders.get(path, _Folder()).exists
            return self._originals(path).is_folder(path) if known is None else known

    def size(self, path: Path) -> int:
        return self._content(path).size()

    def mtime_ms(self, path: Path) -> int:
        return self._content(path).mtime_ms()

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None:
        self._content(path).given_mtime_ms = mtime_ms

    def read_bytes(self, path: Path) -> bytes:
        if path.name not in self._changes(path.parent).files:
            return self._originals(path).read_bytes(path)
        file = self.open(path)
        return file.pread(file.size(), 0)

    def rename(self, path: Path, target: Path) -> None:
        with self._lock:
            if self.is_folder(path):
                for name in self.names(path):
                    self.rename(path / name, target / name)
                self._changes(path).exists, self._changes(target).exists = False, True
                return
            content = self._content(path)
            self._put(target, content)
            self._put(path, None)

    def unlink(self, path: Path) -> bool:
        with self._lock:
            existed = self.exists(path)
            self._put(path, None)
            return existed

    def mkdir(self, path: Path) -> None:
        with self._lock:
            if not self.exists(path):
                self._changes(path).exists = True

    def rmdir(self, path: Path) -> None:
        with self._lock:
            self._changes(path).exists = False

    def fsync_folder(self, path: Path) -> None:
        """Do nothing: a dry run's changes need not survive a crash."""

    def lock(self, path: Path) -> Lock:
        """A lock that always succeeds: a dry run changes nothing for others."""
        return _NoLock()

    def _content(self, path: Path) -> Content:
        """A file's content, remembered so that all users of the path see the same changes."""
        with self._lock:
            changes = self._changes(path.parent).files
            if path.name not in changes:
                changes[path.name] = Content(self._originals(path).original(path))
            content = changes[path.name]
            if content is None:
                raise FileNotFoundError(2, os.strerror(2), str(path))
            return content

    def _put(self, path: Path, content: Content | None) -> None:
        self._changes(path.parent).files[path.name] = content

    def _changes(self, folder: Path) -> _Folder:
        return self._folders.setdefault(folder, _Folder())

    def _listed(self, folder: Path, *, folders: bool) -> list[str]:
        files = self._originals(folder)
        if not files.is_folder(folder):
            return []
        return files.folders(folder) if folders else files.names(folder)

    def _originals(self, path: Path) -> Originals:
        return self._at_urls if isinstance(path, UrlPath) else self._machine

    def _new_scratch(self) -> Path:
        with self._lock:
            self._copies += 1
            return self._scratch / str(self._copies)
