"""Small files read whole: absent is None, damaged or unreadable is an error that names the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from octavo.errors import CorruptionError
from octavo.scanner.places.location import Location

Value = TypeVar("Value")


def read_small(location: Location, decode: Callable[[bytes], Value]) -> Value | None:
    """The file's content as a value; None where there is no such file."""
    try:
        data = location.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorruptionError(error.strerror or str(error), path=str(location)) from error
    try:
        return decode(data)
    except CorruptionError as error:
        raise error.at(path=str(location)) from None
