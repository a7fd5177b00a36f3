"""Opening files to read them, where nothing but a regular file will do: a FIFO or a device would never end."""

from __future__ import annotations

import errno
import os
import stat


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


def _not_regular(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
