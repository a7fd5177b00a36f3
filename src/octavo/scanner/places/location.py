"""Where files are read from: a path or a URL behind one small door that can list and read, and change nothing."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self
from urllib.parse import unquote, urlsplit

from octavo.errors import ScanError
from octavo.system.regular_file import open_regular, skip_hole

UNKNOWN_SIZE = -1
# Of what is read whole (checkpoints, snapshots, transaction indexes): a million producers take 50 MB.
MOST_SMALL_BYTES = 256 << 20


class Entry(NamedTuple):
    """A file or folder as a listing shows it. A folder's size and time are not asked for: 0.

    What cannot be read (a link to itself, a bad disk, a FIFO) has `UNKNOWN_SIZE`: whoever opens it learns why.
    """

    name: str
    size: int
    mtime_ms: int
    is_folder: bool


class ReadableFile(Protocol):
    """An open file, which is closed by who opened it. Several threads may read it at once."""

    def size(self) -> int:
        """Its size now: a broker may be appending to it."""
        ...

    def pread(self, buffer: memoryview, position: int, /) -> int:
        """Read bytes from the position on into the buffer; returns how many, 0 at the end."""
        ...

    def skip_hole(self, position: int, /) -> int:
        """The position itself, or one behind it where all between them is known to be zeros without reading it."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ReadableFileSystem(Protocol):
    """A file system, picklable. A path that is not there raises FileNotFoundError, other failures an OSError."""

    def list(self, folder: str, /) -> list[Entry]: ...

    def entry(self, path: str, /) -> Entry: ...

    def open(self, path: str, /) -> ReadableFile: ...

    def absolute(self, path: str, /) -> str:
        """The whole path: `.` has a name only then."""
        ...

    def shown(self, path: str, /) -> str:
        """The path as people give it: with the URL's scheme where there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Location:
    """A path in its file system. Nothing is looked at before one of the methods asks."""

    file_system: ReadableFileSystem
    path: str

    @property
    def name(self) -> str:
        return self.file_system.absolute(self.path).rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The folder around it."""
        head, slash, name = self.path.rpartition("/")
        if not slash or name in (".", ".."):  # a relative path of one part
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

    def read(self) -> bytes:
        """A small file's whole content; OSError where it is larger than any such file is."""
        with self.open() as file:
            size = file.size()
            if size > MOST_SMALL_BYTES:
                raise OSError(errno.EFBIG, f"a file of {size} bytes, expected at most {MOST_SMALL_BYTES}", str(self))
            buffer = memoryview(bytearray(size))
            return bytes(buffer[: read_fully(file, buffer, 0)])

    def __str__(self) -> str:
        return self.file_system.shown(self.path)


def printable(name: str) -> str:
    """A name of the file system as text: bytes of it that are not UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def read_fully(file: ReadableFile, buffer: memoryview, position: int) -> int:
    """Fill the buffer as far as the file goes; returns how many bytes that were."""
    filled = 0
    while filled < len(buffer):
        got = file.pread(buffer[filled:], position + filled)
        if got == 0:
            break
        filled += got
    return filled


class LocalReadableFile:
    """A file of this machine, read with preadv: no mapping, which a truncation would turn into a fault."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._descriptor = open_regular(path)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def pread(self, buffer: memoryview, position: int, /) -> int:
        try:
            return os.preadv(self._descriptor, [buffer], position)
        except OSError as error:  # which knows only of a descriptor
            raise OSError(error.errno, error.strerror, self._path) from None

    def skip_hole(self, position: int, /) -> int:
        return skip_hole(self._descriptor, position)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class LocalReadableFileSystem:
    """The files of this machine."""

    def list(self, folder: str, /) -> list[Entry]:
        """What the folder holds, in no order. What vanishes while it is listed is left out."""
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir():
                        found.append(Entry(entry.name, 0, 0, True))
                        continue
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                except OSError:
                    found.append(Entry(entry.name, UNKNOWN_SIZE, 0, False))
                    continue
                found.append(_file_entry(entry.name, status))
        return found

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


# A letter alone is no scheme: `x:/y` is a folder, as Hadoop takes it for a drive.
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/(?P<rest>.*)", re.DOTALL)


def local_path(place: str) -> str | None:
    """The path on this machine that is named by a path or by a `file:` URL; None where another URL names a place.

    `file:/x` is how Hadoop, and so Spark, writes a path: nothing in it is quoted. In `file:///x` it is, as in any URL.
    """
    match = _URL.match(place)
    if match is None:
        return place
    if match["scheme"].lower() != "file":
        return None
    if not match["rest"].startswith("/"):
        return f"/{match['rest']}"
    url = urlsplit(place)
    if url.netloc not in ("", "localhost"):
        raise ScanError(
            f"{place}: a file of the machine {url.netloc}, expected one of this machine, as in file:///logs"
        )
    return unquote(url.path)


def locate(place: str | os.PathLike[str] | Location) -> Location:
    """A path, a `file:` URL, or any other URL that pyarrow or fsspec understands."""
    if isinstance(place, Location):
        return place
    text = os.fspath(place)
    if not isinstance(text, str):
        raise ScanError(f"a path of type {type(text).__name__}, expected text")
    path = local_path(text)
    if path is not None:
        return Location(LOCAL, path.rstrip("/") or path[:1])
    from octavo.scanner.places.remote import locate_url  # pyarrow takes long to import, and local files do without it

    return locate_url(_whole_url(text))


def _whole_url(text: str) -> str:
    """`hdfs:/x`, Hadoop's spelling of a URL without a host, in that of URLs: `hdfs:///x`."""
    scheme, _, rest = text.partition(":")
    return text if rest.startswith("//") else f"{scheme}://{rest}"
