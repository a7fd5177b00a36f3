"""The file lock by which a process keeps others, including brokers, out of a log directory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from pathlib import Path

from octavo.system.regular_file import open_owned

# The folders this process has locked, so that a second attempt gets a clear error.
_locked: set[tuple[int, int]] = set()
# Linux: a lock on the open file description. A POSIX lock is lost as soon as the process closes any descriptor of the
# file, as a backup with shutil.copytree does. The two kinds exclude each other, so Java's brokers respect it.
_OPEN_FILE_LOCK = getattr(fcntl, "F_OFD_SETLK", None)

_FLOCK = "hhqqi4x"  # struct flock: type, whence, start, length (0: all of it), process


class LocalLock:
    """A lock on a whole file, as brokers take it; the mere existence of the file does not lock anything."""

    def __init__(self, path: Path) -> None:
        status = path.parent.stat()
        self._folder = (status.st_dev, status.st_ino)
        self._path = path
        if self._folder in _locked:
            raise BlockingIOError(errno.EDEADLK, "this process has opened it already")
        existed = path.exists()
        self._descriptor = open_owned(path, os.O_RDWR | os.O_CREAT)
        if not _is_writable(path.parent):  # the file was there, but nothing else could be written
            os.close(self._descriptor)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))
        try:
            _lock_whole(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            if not existed:
                path.unlink(missing_ok=True)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise BlockingIOError(errno.EAGAIN, f"{_holder(path)} holds {path.name}") from None
            raise
        if not self._is_in_place():
            os.close(self._descriptor)
            raise BlockingIOError(errno.ESTALE, f"another process has just released {path.name}; try again")
        _locked.add(self._folder)

    def release(self) -> None:
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        _locked.discard(self._folder)
        with contextlib.suppress(OSError):  # on a failed disk the file stays; closing the descriptor releases the lock
            self._path.unlink(missing_ok=True)
        os.close(descriptor)

    def disown(self) -> None:
        # Closing the child's copy of the descriptor leaves the lock with the parent; unlocking would release it.
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _locked.discard(self._folder)
            os.close(descriptor)

    def _is_in_place(self) -> bool:
        """Whether the locked file is still the one at its path.

        Its last owner may have removed it, and a third process may have created and locked a new one.
        """
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _lock_whole(descriptor: int) -> None:
    if _OPEN_FILE_LOCK is None:  # macOS
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(descriptor, _OPEN_FILE_LOCK, request)


def _holder(path: Path) -> str:
    """The process that holds a file's lock, with its number and name if the system gives them."""
    process = _process_with_lock(path) or _process_with_open(path)
    if process is None:
        return "another process"
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return f"process {process}"
    return f"process {process} ({name})"


def _process_with_lock(path: Path) -> int | None:
    """The process with a POSIX lock, as Java's brokers take it. A lock of an open file description has no process."""
    if _OPEN_FILE_LOCK is None:
        return None
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with contextlib.suppress(OSError), path.open("rb+") as file:
        kind, _, _, _, process = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
        return process if kind != fcntl.F_UNLCK and process > 0 else None
    return None


def _process_with_open(path: Path) -> int | None:
    """A process that has the file open, among those that this one may inspect."""
    with contextlib.suppress(OSError):
        target = path.stat()
        for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                if os.path.samestat(descriptor.stat(), target) and int(descriptor.parts[2]) != os.getpid():
                    return int(descriptor.parts[2])
    return None
