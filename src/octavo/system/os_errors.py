"""The system's errors: which file they are about, and what to do about them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBER = re.compile(r"\[errno (\d+)\]")  # pyarrow gives the number only in its text


@contextmanager
def placed(path: object) -> Iterator[None]:
    """Add a path to an OSError that names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or (int(found[1]) if (found := _NUMBER.search(str(error))) else errno.EIO)
        problem = os.strerror(number) if number != errno.EIO else error.strerror or str(error)
        raise type(error)(number, problem, str(path)) from error


def described(error: Exception) -> str:
    """An error as messages show it: the file, the problem and, if a permission is missing, what to do."""
    if not isinstance(error, OSError):
        return str(error)
    hint = "; run as the broker's user" if isinstance(error, PermissionError) else ""
    problem = f"{error.strerror or error}{hint}"
    return f"{error.filename}: {problem}" if error.filename else problem
