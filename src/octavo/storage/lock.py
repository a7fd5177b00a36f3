"""`.lock` in a log dir's root: one owner at a time, a broker or a program."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from octavo.errors import LogDirError
from octavo.format.names import LOCK

# POSIX locks belong to a process: a second LogDir of the same process would get one too, so these are remembered.
_held: set[tuple[int, int]] = set()


class DirectoryLock:
    """Held from its creation to `release`. A broker takes the same POSIX lock; a file that nobody holds is no lock."""

    def __init__(self, root: Path) -> None:
        status = root.stat()
        self._identity = (status.st_dev, status.st_ino)
        self._path = root / LOCK
        if self._identity in _held:
            raise LogDirError(f"{root}: this process has opened it already, expected one owner of {LOCK}")
        existed = self._path.exists()
        # Closing any descriptor of the file gives up the process's lock, so the file is opened only when none is held.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if not existed:
                self._path.unlink(missing_ok=True)
            if isinstance(error, BlockingIOError | PermissionError):
                raise LogDirError(f"{root}: another process (a broker?) holds {LOCK}, expected nobody") from None
            raise
        _held.add(self._identity)

    def release(self) -> None:
        """Give it up and remove the file, as brokers do."""
        if self._identity not in _held:
            return
        _held.discard(self._identity)
        with contextlib.suppress(OSError):  # a disk that failed keeps its file; the lock goes with the descriptor
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
