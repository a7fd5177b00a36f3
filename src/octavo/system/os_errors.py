"""The system's errors: which file they are about, and what to do about them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBER = re.compile(r"\[errno (\d+)\]")  # pyarrow gives the number only in its text

_HINTS = {
    errno.EACCES: "; run as the broker's user",
    errno.EPERM: "; run as the broker's user",
    errno.EADDRINUSE: "; stop what listens there, or choose another port (0: any free one)",
}


@contextmanager
def placed(path: object) -> Iterator[None]:
    """Add a path or an address to an OSError that names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or (int(found[1]) if (found := _NUMBER.search(str(error))) else errno.EIO)
        is_named = number > 0 and number != errno.EIO  # a host that is not found has a negative number
        problem = os.strerror(number) if is_named else error.strerror or str(error)
        raise type(error)(number, problem, str(path)) from error


def described(error: Exception) -> str:
    """An error as messages show it: the file or address, the problem, and what to do if that is known."""
    if not isinstance(error, OSError):
        return str(error)
    problem = f"{error.strerror or error}{_HINTS.get(error.errno or 0, '')}"
    return f"{error.filename}: {problem}" if error.filename else problem
