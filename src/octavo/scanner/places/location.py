"""Where files are read from: a path or a URL, with one small interface that can list and read, but not write."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from io import FileIO
from typing import NamedTuple, Protocol, Self

from octavo.errors import ScanError
from octavo.system.closing import Closing
from octavo.system.regular_file import open_regular, skip_hole
from octavo.system.urls import local_path, whole_url

UNKNOWN_SIZE = -1
# The limit for files that are read as a whole (checkpoints, snapshots, transaction indexes); a million producers take
# 46 MB.
MOST_SMALL_BYTES = 256 << 20


class Entry(NamedTuple):
    """A file or folder in a listing. A folder's size and time are not looked up and are 0.

    What cannot be looked up (a link to itself, a bad disk) and what is not a regular file (a FIFO) has `UNKNOWN_SIZE`;
    opening it raises an error that says why.
    """

    name: str
    size: int
    mtime_ms: int
    is_folder: bool


class ReadableFile(Protocol):
    """An open file, to be closed by its opener. Several threads may read it at once."""

    def size(self) -> int:
        """The size now, as a broker may be appending to the file; at a URL, the size when it was opened."""
        ...

    def pread(self, buffer: memoryview, position: int, /) -> int:
        """Read bytes from the position on into the buffer; returns their number, 0 at the end."""
        ...

    def skip_hole(self, position: int, /) -> int:
        """The position, or a later one if all bytes in between are known to be zero without reading them."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ReadableFileSystem(Protocol):
    """A picklable file system. A missing path raises FileNotFoundError, other failures an OSError."""

    def list(self, folder: str, /) -> list[Entry]: ...

    def entry(self, path: str, /) -> Entry: ...

    def open(self, path: str, /) -> ReadableFile: ...

    def absolute(self, path: str, /) -> str:
        """The absolute path, in which even `.` has a name."""
        ...

    def shown(self, path: str, /) -> str:
        """The path as users write it, with the scheme of a URL."""
        ...


@dataclass(frozen=True, slots=True)
class Location:
    """A path in a file system. Creating one does not touch the file system."""

    file_system: ReadableFileSystem
    path: str

    @property
    def name(self) -> str:
        return self.file_system.absolute(self.path).rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The folder that contains it."""
        head, slash, name = self.path.rpartition("/")
        if not slash or name in (".", ".."):  # a relative path of one part, or one that ends in a dot
            head, _, _ = self.file_system.absolute(self.path).rpartition("/")
        return Location(self.file_system, head or "/")

    def child(self, name: str) -> Location:
        return Location(self.file_system, f"{self.path.rstrip('/')}/{name}")

    def list(self) -> list[Entry]:
        return self.file_system.list(self.path)

    def entry(self) -> Entry:
        return self.file_system.entry(self.path)

    def open(self) -> ReadableFile:
        return self.file_system.open(self.path)

    def read(self, limit: int = MOST_SMALL_BYTES) -> bytes:
        """The whole content of a small file; OSError if it is larger than the limit."""
        with self.open() as file:
            size = file.size()
            if size > limit:
                raise OSError(errno.EFBIG, f"a file of {size} bytes, expected at most {limit}", str(self))
            buffer = memoryview(bytearray(size))
            return bytes(buffer[: read_fully(file, buffer, 0)])

    def __str__(self) -> str:
        return self.file_system.shown(self.path)


def printable(name: str) -> str:
    """A file name as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def read_fully(file: ReadableFile, buffer: memoryview, position: int) -> int:
    """Fill the buffer as far as the file goes; returns the number of bytes read."""
    filled = 0
    while filled < len(buffer):
        got = file.pread(buffer[filled:], position + filled)
        if got == 0:
            break
        filled += got
    return filled


class LocalReadableFile(Closing):
    """A local file, read with preadv. It is not mapped, because a truncation would then crash the reader.

    A FileIO holds the descriptor: unlike a `__del__` here, it cannot swallow the KeyboardInterrupt of a Ctrl-C.
    """

    __slots__ = ("_file", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = FileIO(open_regular(path))

    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def pread(self, buffer: memoryview, position: int, /) -> int:
        try:
            return os.preadv(self._file.fileno(), [buffer], position)
        except OSError as error:  # the error has no path, because preadv gets only a descriptor
            raise OSError(error.errno, error.strerror, self._path) from None

    def skip_hole(self, position: int, /) -> int:
        return skip_hole(self._file.fileno(), position)

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class LocalReadableFileSystem:
    """The local file system."""

    def list(self, folder: str, /) -> list[Entry]:
        """The folder's entries, in no particular order, without links to nothing and what vanishes meanwhile."""
        listed = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir():
                        listed.append(Entry(entry.name, 0, 0, True))
                        continue
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                except OSError:
                    listed.append(Entry(entry.name, UNKNOWN_SIZE, 0, False))
                    continue
                listed.append(_file_entry(entry.name, status))
        return listed

    def entry(self, path: str, /) -> Entry:
        status = os.stat(path)  # noqa: PTH116 - paths are text here, as URLs are
        name = self.absolute(path).rpartition("/")[2]
        if stat.S_ISDIR(status.st_mode):
            return Entry(name, 0, 0, True)
        return _file_entry(name, status)

    def open(self, path: str, /) -> LocalReadableFile:
        return LocalReadableFile(path)

    def absolute(self, path: str, /) -> str:
        return os.path.abspath(path)  # noqa: PTH100

    def shown(self, path: str, /) -> str:
        return path


def _file_entry(name: str, status: os.stat_result) -> Entry:
    size = status.st_size if stat.S_ISREG(status.st_mode) else UNKNOWN_SIZE
    return Entry(name, size, status.st_mtime_ns // 1_000_000, False)


LOCAL = LocalReadableFileSystem()


def locate(place: str | os.PathLike[str] | Location) -> Location:
    """The location of a path, a `file:` URL, or any other URL that pyarrow or fsspec understands."""
    if isinstance(place, Location):
        return place
    text = os.fspath(place)
    if not isinstance(text, str):
        raise ScanError(f"a path must be text, not {type(text).__name__}")
    path = local_path(text)
    if path is not None:
        return Location(LOCAL, path.rstrip("/") or path[:1])
    # imported here: local files need no pyarrow, which takes long to import
    from octavo.scanner.places.remote import locate_url

    return locate_url(whole_url(text))
