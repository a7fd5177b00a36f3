"""Regular files, to be read: a FIFO or a device in the place of one would never end. Their holes need not be read."""

from __future__ import annotations

import errno
import os
import stat

_SEEK_DATA: int | None = getattr(os, "SEEK_DATA", None)  # not on every system


def open_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor to read a regular file with; whatever else has that name raises an OSError that says so.

    A FIFO without a writer does not hold the open up, and what a path leads to is looked at after it was opened: it
    may change between a look and an open.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that is not there
            raise _not_regular(path) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise _not_regular(path)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The whole content of a regular file."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def skip_hole(descriptor: int, position: int) -> int:
    """The position itself, or one after it where all between them is known to be zeros without reading it."""
    if _SEEK_DATA is None:
        return position
    try:
        return os.lseek(descriptor, position, _SEEK_DATA)
    except OSError as error:
        # ENXIO: there is no data from here on. Any other: the file system does not tell.
        return max(os.fstat(descriptor).st_size, position) if error.errno == errno.ENXIO else position


def _not_regular(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
