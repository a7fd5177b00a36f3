"""`.lock` in a log dir's root: one owner at a time, a broker or a program."""

from __future__ import annotations

from pathlib import Path

from octavo.errors import LogDirLockedError
from octavo.format.names import LOCK
from octavo.system.filesystem import FileSystem, LocalFileSystem


class DirectoryLock:
    """Held from its creation to `release`. A broker takes the same lock; a file that nobody holds is no lock."""

    def __init__(self, root: Path, filesystem: FileSystem | None = None) -> None:
        try:
            self._lock = (filesystem or LocalFileSystem()).lock(root / LOCK)
        except BlockingIOError as error:
            raise LogDirLockedError(f"{root}: {error.strerror}, expected nobody to hold {LOCK}") from None

    def release(self) -> None:
        """Give it up and remove the file, as brokers do."""
        self._lock.release()

    def disown(self) -> None:
        """In a forked child: let go of it, which leaves it with the parent."""
        self._lock.disown()
