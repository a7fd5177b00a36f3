"""The writing side's only door to the operating system.

Tests put another `FileSystem` in its place: one that stops at a chosen write, sync, rename or unlink and forgets
what was not synced.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from octavo.regular_file import skip_hole

if TYPE_CHECKING:
    from typing_extensions import Buffer


class File(Protocol):
    """An open file, read and written by position: threads may share it."""

    def pread(self, length: int, position: int) -> bytes:
        """The bytes from the position on; fewer than `length` only at the file's end."""
        ...

    def pread_into(self, buffer: memoryview, position: int) -> int:
        """Fill the buffer from the position on; returns how many bytes there were."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of the data at the position."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file, or let it grow by zeros."""
        ...

    def size(self) -> int: ...

    def fsync(self) -> None: ...

    def let_go(self, length: int) -> None:
        """Tell the system that so many synced bytes from the start on will not be read again, for it to use the memory.

        From the start, since the system keeps pages of which a part is not covered, and a page may be megabytes long.
        """
        ...

    def skip_hole(self, position: int) -> int:
        """The position itself, or one after it where all between them is known to be zeros without reading it."""
        ...

    def fileno(self) -> int:
        """The descriptor, for sendfile; it is open as long as this object lives."""
        ...


class Mapping(Protocol):
    """A file's first bytes in memory, readable and writable."""

    def view(self) -> memoryview:
        """Of all mapped bytes, to read. It must be released before `close`."""
        ...

    def write(self, data: bytes | bytearray, position: int) -> None: ...

    def flush(self) -> None:
        """Sync what was written to the disk."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """A file's lock, held by this process alone."""

    def release(self) -> None:
        """Give it up and remove the file."""
        ...


class FileSystem(Protocol):
    """What a log needs of an operating system. Failures are OSError, as Python has them."""

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open for reading and writing."""
        ...

    def map(self, path: Path, size: int) -> Mapping:
        """Map the first `size` bytes, at least 1; the file must have them."""
        ...

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file, or let it grow by zeros; one that is missing is created."""
        ...

    def names(self, folder: Path) -> list[str]:
        """The names of a folder's regular files, sorted."""
        ...

    def folders(self, folder: Path) -> list[str]:
        """The names of the folders in a folder, sorted."""
        ...

    def exists(self, path: Path) -> bool: ...

    def is_folder(self, path: Path) -> bool: ...

    def size(self, path: Path) -> int: ...

    def mtime_ms(self, path: Path) -> int: ...

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None: ...

    def read_bytes(self, path: Path) -> bytes: ...

    def rename(self, path: Path, target: Path) -> None:
        """Rename; a file at the target is replaced."""
        ...

    def unlink(self, path: Path) -> bool:
        """Remove a file; says whether there was one."""
        ...

    def mkdir(self, path: Path) -> None:
        """Create a folder and its parents, where missing."""
        ...

    def rmdir(self, path: Path) -> None: ...

    def fsync_folder(self, path: Path) -> None:
        """Sync a folder's entries: names created, renamed and removed in it."""
        ...

    def lock(self, path: Path) -> Lock:
        """Create a file, where it is missing, and take its lock; BlockingIOError says who has it already."""
        ...


_CAN_ADVISE = hasattr(os, "posix_fadvise")  # macOS has none


class LocalFile:
    """A descriptor that is closed when the last holder lets go.

    There is no `close`: a reader may be between taking the object and reading from it, and the number of a closed
    descriptor soon belongs to another file.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._descriptor = -1
        access = os.O_RDONLY if read_only else os.O_RDWR
        self._descriptor = os.open(path, access | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def pread(self, length: int, position: int) -> bytes:
        data = os.pread(self._descriptor, length, position)
        while len(data) < length:
            more = os.pread(self._descriptor, length - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def pread_into(self, buffer: memoryview, position: int) -> int:
        filled = 0
        while filled < len(buffer):
            got = os.preadv(self._descriptor, [buffer[filled:]], position + filled)
            if not got:
                break
            filled += got
        return filled

    def pwrite(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self._descriptor, data, position)
        length = memoryview(data).nbytes
        while written < length:
            written += os.pwrite(self._descriptor, memoryview(data).cast("B")[written:], position + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def fsync(self) -> None:
        os.fsync(self._descriptor)

    def let_go(self, length: int) -> None:
        if _CAN_ADVISE:
            os.posix_fadvise(self._descriptor, 0, length, os.POSIX_FADV_DONTNEED)

    def skip_hole(self, position: int) -> int:
        return skip_hole(self._descriptor, position)

    def fileno(self) -> int:
        return self._descriptor


class LocalMapping:
    """An mmap to read through, written by system calls: the first store into a page of a hole costs far more.

    (0.5 ms on ext4, against 2 µs for a write; both see the same page cache.)
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._file: LocalFile | None = None  # most mappings are never written to
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)

    def view(self) -> memoryview:
        return memoryview(self._map)

    def write(self, data: bytes | bytearray, position: int) -> None:
        (self._file or self._opened()).pwrite(data, position)

    def flush(self) -> None:
        # Also what was written through an earlier mapping of the same file.
        (self._file or self._opened()).fsync()

    def close(self) -> None:
        self._map.close()

    def _opened(self) -> LocalFile:
        self._file = LocalFile(self._path)
        return self._file


# POSIX locks belong to a process: it would get one a second time too, so those that it has are remembered.
_locked: set[tuple[int, int]] = set()


class LocalLock:
    """A POSIX lock on a whole file, as brokers take it; a file that nobody holds is no lock."""

    def __init__(self, path: Path) -> None:
        status = path.parent.stat()
        self._folder = (status.st_dev, status.st_ino)
        self._path = path
        if self._folder in _locked:
            raise BlockingIOError(errno.EDEADLK, "this process has opened it already")
        existed = path.exists()
        # Closing any descriptor of the file gives up the process's lock, so the file is opened only when none is held.
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            if not existed:
                path.unlink(missing_ok=True)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise BlockingIOError(errno.EAGAIN, f"another process (a broker?) holds {path.name}") from None
            raise
        if not self._is_in_place():
            os.close(self._descriptor)
            raise BlockingIOError(errno.EAGAIN, f"another process has just given {path.name} up")
        _locked.add(self._folder)

    def release(self) -> None:
        if self._folder not in _locked:
            return
        _locked.discard(self._folder)
        with contextlib.suppress(OSError):  # a disk that failed keeps its file; the lock goes with the descriptor
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        """Whether the locked file still has its name: its last owner removes it, and a third process may make another.

        Without this look the two would both hold a lock.
        """
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


class LocalFileSystem:
    """This machine's files."""

    def open(self, path: Path, *, create: bool = False) -> File:
        return LocalFile(path, create=create)

    def map(self, path: Path, size: int) -> Mapping:
        return LocalMapping(path, size)

    def truncate(self, path: Path, size: int) -> None:
        LocalFile(path, create=True).truncate(size)

    def names(self, folder: Path) -> list[str]:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())

    def folders(self, folder: Path) -> list[str]:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())

    def exists(self, path: Path) -> bool:
        return os.path.exists(path)  # noqa: PTH110 (three times as fast, and asked for each of thousands of logs)

    def is_folder(self, path: Path) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 (as above)

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def mtime_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None:
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def read_bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def rename(self, path: Path, target: Path) -> None:
        path.replace(target)

    def unlink(self, path: Path) -> bool:
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        return True

    def mkdir(self, path: Path) -> None:
        if not self.is_folder(path):
            path.mkdir(parents=True, exist_ok=True)

    def rmdir(self, path: Path) -> None:
        path.rmdir()

    def fsync_folder(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> Lock:
        return LocalLock(path)
