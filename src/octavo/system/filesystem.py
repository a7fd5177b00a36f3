"""The file system as the writing side sees it, so that tests can replace it.

They use one that stops at a chosen write, sync, rename or unlink, and loses what was not synced.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from octavo.errors import CorruptionError
from octavo.system.file_lock import LocalLock
from octavo.system.regular_file import open_owned, skip_hole, with_descriptor

if TYPE_CHECKING:
    from typing_extensions import Buffer


class File(Protocol):
    """An open file, read and written by position, so that threads can share it."""

    def pread(self, length: int, position: int) -> bytes:
        """The bytes from the position on; fewer than `length` only at the file's end."""
        ...

    def pread_into(self, buffer: memoryview, position: int) -> int:
        """Fill the buffer from the position on; returns the number of bytes read."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of the data at the position."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file, or extend it with zeros."""
        ...

    def size(self) -> int: ...

    def skip_hole(self, position: int) -> int:
        """The first position from the given one on that may hold data; all bytes in between are known to be zeros."""
        ...

    def fsync(self) -> None: ...

    def bring(self, position: int, length: int) -> None:
        """Make the descriptor's bytes in this range valid: a file from elsewhere may not have been fetched yet."""
        ...

    def let_go(self, length: int) -> None:
        """Let the system drop the file's first `length` bytes from its cache: they are synced and not needed soon.

        The range always begins at 0: the system keeps pages that it covers only partly, and a page may be megabytes.
        """
        ...

    def fileno(self) -> int:
        """The descriptor, for sendfile of what `bring` was asked for; it stays open as long as this object lives."""
        ...


class MappedFile(Protocol):
    """A file's first bytes in memory, readable and writable."""

    def view(self) -> memoryview:
        """All mapped bytes, for reading. Release the view before `close`."""
        ...

    def write(self, data: bytes | bytearray, position: int) -> None: ...

    def flush(self) -> None:
        """Sync what was written to disk."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """A file's lock, held by this process only."""

    def release(self) -> None:
        """Release the lock and remove the file."""
        ...

    def disown(self) -> None:
        """In a forked child: forget the lock. The parent still holds it, and the file stays."""
        ...


class FilesToRead(Protocol):
    """The part of a `FileSystem` that reads whole files; file systems other than this machine's can have it too."""

    def names(self, folder: Path) -> list[str]:
        """The names of a folder's regular files, sorted; links are left out."""
        ...

    def exists(self, path: Path) -> bool: ...

    def is_folder(self, path: Path) -> bool: ...

    def read_bytes(self, path: Path) -> bytes:
        """A file's whole content; links are followed."""
        ...


class FileSystem(FilesToRead, Protocol):
    """What a log needs from the operating system. Failures raise Python's OSError.

    Only regular files are opened; anything else raises NotRegularFileError. That includes links, except in
    `read_bytes`, so that no linked file is ever written.
    """

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open a file for reading and writing."""
        ...

    def map(self, path: Path, size: int) -> MappedFile:
        """Map the first `size` bytes, at least 1; the file must have them."""
        ...

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file, or extend it with zeros; a missing file is created."""
        ...

    def others(self, folder: Path) -> list[str]:
        """The names of everything else in a folder, sorted: folders, links, FIFOs, sockets, devices."""
        ...

    def folders(self, folder: Path) -> list[str]:
        """The names of the folders in a folder, and of links to folders, sorted."""
        ...

    def link_target(self, path: Path) -> Path | None:
        """The target of a link; None if the path is not a link."""
        ...

    def size(self, path: Path) -> int: ...

    def mtime_ms(self, path: Path) -> int: ...

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None: ...

    def rename(self, path: Path, target: Path) -> None:
        """Rename a file; one at the target is replaced."""
        ...

    def unlink(self, path: Path) -> bool:
        """Remove a file; returns whether there was one."""
        ...

    def mkdir(self, path: Path) -> None:
        """Create a folder and its parents, if they are missing."""
        ...

    def rmdir(self, path: Path) -> None: ...

    def fsync_folder(self, path: Path) -> None:
        """Sync a folder's entries: the names created, renamed or removed in it."""
        ...

    def lock(self, path: Path) -> Lock:
        """Create the file if missing, and take its lock; BlockingIOError says who holds it."""
        ...


# The errors of a failing disk. Any other error concerns one call, one file or this process: too many open files, a file
# that was just renamed, a folder that is not empty.
_DISK_ERROR_NAMES = [
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
]
_DISK_ERRORS = {getattr(errno, name) for name in _DISK_ERROR_NAMES if hasattr(errno, name)}


def is_disk_failure(error: OSError) -> bool:
    """Whether the error means that the disk failed, not just this call."""
    return error.errno is None or error.errno in _DISK_ERRORS


# The files read with `read_bytes` are smaller than this: checkpoints, snapshots, segments of the metadata log.
MOST_BYTES = 1 << 30

_CAN_ADVISE = hasattr(os, "posix_fadvise")  # not on macOS


class LocalFile:
    """A descriptor that is closed with the last reference to this object.

    There is no `close`: another thread may be about to read, and the number of a closed descriptor is soon reused for
    another file.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._descriptor = -1
        flags = (os.O_RDONLY if read_only else os.O_RDWR) | (os.O_CREAT if create else 0)
        self._descriptor = open_owned(path, flags)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at exit the module `os` may already be gone
        if self._descriptor >= 0:
            close(self._descriptor)

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

    def bring(self, position: int, length: int) -> None:
        """Do nothing: all bytes are here."""

    def let_go(self, length: int) -> None:
        if _CAN_ADVISE:
            os.posix_fadvise(self._descriptor, 0, length, os.POSIX_FADV_DONTNEED)

    def skip_hole(self, position: int) -> int:
        return skip_hole(self._descriptor, position)

    def fileno(self) -> int:
        return self._descriptor


class LocalMappedFile:
    """Reads through an mmap, but writes with system calls: the first store into a page of a hole costs far more.

    (0.5 ms on ext4, compared with 2 µs for a write; both go to the same page cache.)
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._file: LocalFile | None = None  # most mappings are never written to
        file = LocalFile(path)
        self._map = with_descriptor(lambda: mmap.mmap(file.fileno(), size))  # the mmap keeps its own descriptor

    def view(self) -> memoryview:
        return memoryview(self._map)

    def write(self, data: bytes | bytearray, position: int) -> None:
        (self._file or self._opened()).pwrite(data, position)

    def flush(self) -> None:
        # This also syncs what was written through an earlier mapping of the file.
        (self._file or self._opened()).fsync()

    def close(self) -> None:
        self._map.close()

    def _opened(self) -> LocalFile:
        self._file = LocalFile(self._path)
        return self._file


class LocalFileSystem:
    """This machine's files."""

    def open(self, path: Path, *, create: bool = False) -> File:
        return LocalFile(path, create=create)

    def map(self, path: Path, size: int) -> MappedFile:
        return LocalMappedFile(path, size)

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
        return os.path.exists(path)  # noqa: PTH110 (three times as fast, and called for each of thousands of logs)

    def is_folder(self, path: Path) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 (as above)

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def mtime_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None:
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def read_bytes(self, path: Path) -> bytes:
        descriptor = open_owned(path, os.O_RDONLY, follow=True)
        with open(descriptor, "rb") as file:  # noqa: PTH123 (not a path)
            if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:
                raise CorruptionError(f"a file of {size} bytes, expected at most {MOST_BYTES}", path=str(path))
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
