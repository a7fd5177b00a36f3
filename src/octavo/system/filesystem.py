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
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from octavo.errors import CorruptionError, NotRegularFileError
from octavo.system.regular_file import skip_hole

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

    def skip_hole(self, position: int) -> int:
        """The position itself, or one after it where all between them is known to be zeros without reading it."""
        ...

    def fsync(self) -> None: ...

    def let_go(self, length: int) -> None:
        """Tell the system that so many synced bytes from the start on will not be read again, for it to use the memory.

        From the start, since the system keeps pages of which a part is not covered, and a page may be megabytes long.
        """
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

    def disown(self) -> None:
        """In a forked child: let go of it. The parent still holds it, and the file stays."""
        ...


class FileSystem(Protocol):
    """What a log needs of an operating system. Failures are OSError, as Python has them.

    Only regular files are opened: what else bears a file's name is a NotRegularFileError, a link too, but where only
    bytes are read (`read_bytes`). Nothing is ever written to what lies behind a link.
    """

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
        """The names of a folder's regular files, sorted. Links are not."""
        ...

    def others(self, folder: Path) -> list[str]:
        """The names of all else in a folder, sorted: folders, links, FIFOs, sockets, devices."""
        ...

    def folders(self, folder: Path) -> list[str]:
        """The names of the folders in a folder, sorted, and of links to folders."""
        ...

    def link_target(self, path: Path) -> Path | None:
        """Where a link leads; None for what is not a link."""
        ...

    def exists(self, path: Path) -> bool: ...

    def is_folder(self, path: Path) -> bool: ...

    def size(self, path: Path) -> int: ...

    def mtime_ms(self, path: Path) -> int: ...

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None: ...

    def read_bytes(self, path: Path) -> bytes:
        """All of a file, which may be one that a link leads to."""
        ...

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


# What a failing disk answers. Any other error is about one call, one file or this process: too many open files, a file
# that was renamed meanwhile, a folder that is not empty.
_DISK_ERRORS = {
    getattr(errno, name)
    for name in (
        "EIO",
        "ENOSPC",
        "EDQUOT",
        "EROFS",
        "ENXIO",
        "ENODEV",
        "EUCLEAN",
        "ESTALE",
        "EREMOTEIO",
        "ENOMEDIUM",
        "EBADMSG",
        "ENOTCONN",
        "ESHUTDOWN",
    )
    if hasattr(errno, name)
}


def is_disk_failure(error: OSError) -> bool:
    """Whether the error says that the disk failed, and not just this call."""
    return error.errno is None or error.errno in _DISK_ERRORS


Opened = TypeVar("Opened")

# Called when this process has too many files open; says whether some were closed.
_give_back: list[Callable[[], bool]] = []


def when_too_many_are_open(give_back: Callable[[], bool]) -> None:
    """Let somebody close files that it can do without before an open fails."""
    _give_back.append(give_back)


def with_descriptor(open_it: Callable[[], Opened]) -> Opened:
    """Open something; once more after others gave descriptors back, if there are too many."""
    try:
        return open_it()
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE) or not sum(give_back() for give_back in _give_back):
            raise
    return open_it()


# Nothing that is read as a whole has more: checkpoints, snapshots, a segment of the metadata log.
_MOST_BYTES = 1 << 30

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def not_regular(path: Path, mode: int | None = None) -> NotRegularFileError:
    """What is wrong with what is not a regular file."""
    mode = path.lstat().st_mode if mode is None else mode
    if stat.S_ISLNK(mode):
        problem = "is a link: octavo does not write through links; copy the file into its place"
    else:
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        problem = f"is not a regular file but {kind}: move it away"
    return NotRegularFileError(problem, path=str(path))


def _open_regular(path: Path, flags: int, *, follow: bool = False) -> int:
    """A descriptor of a regular file; it never waits, as opening a FIFO would."""
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:  # a link, a folder and a socket have each their own
        with contextlib.suppress(FileNotFoundError):
            mode = path.stat(follow_symlinks=follow).st_mode
            if not stat.S_ISREG(mode):
                raise not_regular(path, mode) from None
        raise error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise not_regular(path, mode)
    return descriptor


_CAN_ADVISE = hasattr(os, "posix_fadvise")  # macOS has none


class LocalFile:
    """A descriptor that is closed when the last holder lets go.

    There is no `close`: a reader may be between taking the object and reading from it, and the number of a closed
    descriptor soon belongs to another file.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._descriptor = -1
        flags = (os.O_RDONLY if read_only else os.O_RDWR) | (os.O_CREAT if create else 0)
        self._descriptor = with_descriptor(lambda: _open_regular(path, flags))

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
        file = LocalFile(path)
        self._map = with_descriptor(lambda: mmap.mmap(file.fileno(), size))  # which keeps a descriptor of its own

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


# The folders that this process has locked, to say so when it tries again.
_locked: set[tuple[int, int]] = set()
# Linux: a lock of the open file description. A POSIX lock is lost when the process closes any descriptor of the file:
# a backup by shutil.copytree would give the directory away. Both kinds exclude each other, so Java's brokers see it.
_OPEN_FILE_LOCK = getattr(fcntl, "F_OFD_SETLK", None)


class LocalLock:
    """A lock on a whole file, as brokers take it; a file that nobody holds is not a lock."""

    def __init__(self, path: Path) -> None:
        status = path.parent.stat()
        self._folder = (status.st_dev, status.st_ino)
        self._path = path
        if self._folder in _locked:
            raise BlockingIOError(errno.EDEADLK, "this process has opened it already")
        existed = path.exists()
        self._descriptor = with_descriptor(lambda: _open_regular(path, os.O_RDWR | os.O_CREAT))
        try:
            _lock_whole(self._descriptor)
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
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        _locked.discard(self._folder)
        with contextlib.suppress(OSError):  # a disk that failed keeps its file; the lock goes with the descriptor
            self._path.unlink(missing_ok=True)
        os.close(descriptor)

    def disown(self) -> None:
        # Closing the child's copy of the descriptor leaves the lock with the parent's; unlocking would take it away.
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _locked.discard(self._folder)
            os.close(descriptor)

    def _is_in_place(self) -> bool:
        """Whether the locked file still has its name: its last owner removes it, and a third process may make another.

        Without this look the two would both hold a lock.
        """
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def _lock_whole(descriptor: int) -> None:
    if _OPEN_FILE_LOCK is None:  # macOS
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    # struct flock: type, whence, start, length (0: all of it), process (0)
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(descriptor, _OPEN_FILE_LOCK, request)


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
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def others(self, folder: Path) -> list[str]:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if not entry.is_file(follow_symlinks=False))

    def folders(self, folder: Path) -> list[str]:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())

    def link_target(self, path: Path) -> Path | None:
        return path.readlink() if path.is_symlink() else None

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
        descriptor = with_descriptor(lambda: _open_regular(path, os.O_RDONLY, follow=True))
        with open(descriptor, "rb") as file:  # noqa: PTH123 (not a path)
            if (size := os.fstat(file.fileno()).st_size) > _MOST_BYTES:
                raise CorruptionError(f"{size} bytes, more than such a file has", path=str(path))
            return file.read()

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
        descriptor = with_descriptor(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> Lock:
        return LocalLock(path)
