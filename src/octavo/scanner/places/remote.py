"""Files behind a URL: object stores and other file systems, through pyarrow or, for schemes it lacks, fsspec."""

from __future__ import annotations

import errno
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import fs

from octavo.errors import ScanError
from octavo.scanner.places.location import Entry, Location
from octavo.system.closing import Closing
from octavo.system.os_errors import placed
from octavo.system.urls import shown_url, without_secrets

# A setting of pyarrow's for Google's store. For comparison: S3 is tried three times, which takes 7 s.
_RETRY_LIMIT, _RETRY_SECONDS = "retry_limit_seconds", 15
_DETAILS = re.compile(r"google::cloud::Status\(| error_info=\{.*", re.DOTALL)  # Google's, which repeat the error
_REFUSED = re.compile("ACCESS_DENIED|ACCESS_KEY|SIGNATURE")  # in the names of AWS errors
_CREDENTIALS = "no credentials, or wrong ones? Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"


@contextmanager
def _at(shown: str) -> Iterator[None]:
    """Add the place to the store's error, and what to do if it refuses the request."""
    try:
        with placed(shown):
            yield
    except OSError as error:
        problem = _DETAILS.sub("", error.strerror or "")
        if _REFUSED.search(problem) is not None:
            problem = f"{problem}; {_CREDENTIALS}"
        if problem == error.strerror:
            raise
        raise OSError(error.errno, problem, error.filename) from None


class RemoteFile(Closing):
    """An open file of a pyarrow file system. Its size is that at the time it was opened."""

    __slots__ = ("_file", "_shown")

    def __init__(self, file: Any, shown: str) -> None:
        self._file = file
        self._shown = shown

    def size(self) -> int:
        return int(self._file.size())

    def pread(self, buffer: memoryview, position: int, /) -> int:
        if position >= self.size():
            return 0  # some stores refuse a range after the end
        with _at(self._shown):
            content = memoryview(self._file.read_at(len(buffer), position))
        buffer[: len(content)] = content
        return len(content)

    def skip_hole(self, position: int, /) -> int:
        return position

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class RemoteFileSystem:
    """A pyarrow file system, or an fsspec one wrapped in pyarrow's adapter."""

    file_system: Any = field(hash=False)  # comparable, but not hashable
    prefix: str  # what stands before a path in the URL

    def list(self, folder: str, /) -> list[Entry]:
        with _at(self.shown(folder)):
            infos = self.file_system.get_file_info(fs.FileSelector(folder, allow_not_found=False))
        return [_entry(info) for info in infos]

    def entry(self, path: str, /) -> Entry:
        with _at(self.shown(path)):
            info = self.file_system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", self.shown(path))
        return _entry(info)

    def open(self, path: str, /) -> RemoteFile:
        with _at(self.shown(path)):
            return RemoteFile(self.file_system.open_input_file(path), self.shown(path))

    def absolute(self, path: str, /) -> str:
        return path

    def shown(self, path: str, /) -> str:
        return f"{self.prefix}{path}"


def locate_url(url: str) -> Location:
    """The place that a URL names; its query (`?endpoint_override=…`) is passed to the file system."""
    try:
        file_system, path = fs.FileSystem.from_uri(_impatient(url))
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem type" not in str(error):
            raise _refused(url, error) from None
        file_system, path = _fsspec(url, error)
    except pa.ArrowNotImplementedError as error:  # this build of pyarrow lacks that file system
        file_system, path = _fsspec(url, error)
    except OSError as error:  # it names no path: Hadoop's library is missing, or a bucket cannot be reached
        raise _refused(url, error) from None
    plain = shown_url(url).rstrip("/")
    path = path.rstrip("/")
    prefix = plain.removesuffix(path) if plain.endswith(path) else f"{plain.partition('://')[0]}://"
    return Location(RemoteFileSystem(file_system, prefix), path)


def _impatient(url: str) -> str:
    """The URL; one of Google's gets a time limit for retries, because its client otherwise tries for 15 minutes."""
    address, _, query = url.partition("?")
    if not address.lower().startswith(("gs://", "gcs://")) or f"{_RETRY_LIMIT}=" in query:
        return url
    return f"{address}?{query}{'&' if query else ''}{_RETRY_LIMIT}={_RETRY_SECONDS}"


def _fsspec(url: str, refused: Exception) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise _refused(url, refused, "; other file systems need fsspec: pip install 'octavo[remote]'") from None
    try:
        file_system, path = url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise _refused(url, error) from None
    return fs.PyFileSystem(fs.FSSpecHandler(file_system)), str(path)


def _refused(url: str, error: Exception, more: str = "") -> ScanError:
    # The library's own error is not chained: a traceback would show the URL with its secrets.
    return ScanError(f"{shown_url(url)}: {without_secrets(str(error), url)}{more}")


def _entry(info: Any) -> Entry:
    name = posixpath.basename(info.path.rstrip("/"))
    if info.type == fs.FileType.Directory:
        return Entry(name, 0, 0, True)
    return Entry(name, int(info.size or 0), (info.mtime_ns or 0) // 1_000_000, False)
