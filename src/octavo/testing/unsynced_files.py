"""Files without waiting for the disk: what a test writes need not survive a power loss."""

from __future__ import annotations

from pathlib import Path

from octavo.system.filesystem import File, LocalFile, LocalFileSystem, LocalMappedFile, MappedFile


class UnsyncedFile(LocalFile):
    def fsync(self) -> None:
        pass


class UnsyncedMappedFile(LocalMappedFile):
    def flush(self) -> None:
        pass


class UnsyncedFileSystem(LocalFileSystem):
    def open(self, path: Path, *, create: bool = False) -> File:
        return UnsyncedFile(path, create=create)

    def map(self, path: Path, size: int) -> MappedFile:
        return UnsyncedMappedFile(path, size)

    def fsync_folder(self, path: Path) -> None:
        pass
