"""Opens regular files; anything else with a file's name is refused, and opening it never blocks."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from octavo.errors import NotRegularFileError

if TYPE_CHECKING:  # a small dump starts faster without it
    from pathlib import Path

_SEEK_DATA: int | None = getattr(os, "SEEK_DATA", None)  # not available on every system

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Opened = TypeVar("Opened")

# Called when this process has too many open files; each returns whether it closed any.
_give_back: list[Callable[[], bool]] = []


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; anything else with that name raises an OSError that says so.

    Opening a FIFO that nobody writes to would block, and reading a device would never end. The kind is checked after
    opening, because the target of a path may change between a check and an open.
    """
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that does not exist
            raise _not_regular(path) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise _not_regular(path)


def open_owned(path: Path, flags: int, *, follow: bool = False) -> int:
    """`open_regular` for a log's owner: NotRegularFileError says what is in the file's place and what to do about it.

    Links are refused too, unless `follow` is set. When too many files are open, idle ones are closed first.
    """
    flags |= 0 if follow else os.O_NOFOLLOW
    try:
        return with_descriptor(lambda: open_regular(path, flags))
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            mode = path.stat(follow_symlinks=follow).st_mode
            if not stat.S_ISREG(mode):
                raise not_regular(path, mode) from None
        raise


def not_regular(path: Path, mode: int | None = None) -> NotRegularFileError:
    """The error for a path that is not a regular file."""
    mode = path.lstat().st_mode if mode is None else mode
    if stat.S_ISLNK(mode):
        problem = "is a link: octavo does not write through links; copy the file into its place"
    else:
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        problem = f"is not a regular file but {kind}: move it away"
    return NotRegularFileError(problem, path=str(path))


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The whole content of a regular file."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def skip_hole(descriptor: int, position: int) -> int:
    """The next position that may hold data; all bytes before it, from the given one on, are known to be zeros."""
    if _SEEK_DATA is None:
        return position
    try:
        return os.lseek(descriptor, position, _SEEK_DATA)
    except OSError as error:
        # ENXIO: there is no data from here on. Any other error: the file system cannot tell.
        return max(os.fstat(descriptor).st_size, position) if error.errno == errno.ENXIO else position


def when_too_many_are_open(give_back: Callable[[], bool]) -> None:
    """Call `give_back` before an open fails for lack of descriptors: it closes files that can be reopened."""
    _give_back.append(give_back)


def with_descriptor(open_it: Callable[[], Opened]) -> Opened:
    """Open something; if too many files are open, try again after closing idle ones."""
    try:
        return open_it()
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE) or not sum(give_back() for give_back in _give_back):
            raise
    return open_it()


def _not_regular(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
