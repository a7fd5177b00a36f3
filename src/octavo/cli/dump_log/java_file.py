"""A path in the form of java.io.File, because kafka-dump-log prints it that way."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_SLASHES = re.compile("/+")


class JavaFile(NamedTuple):
    """A path without doubled or trailing slashes; `.` and `..` stay."""

    path: str

    @classmethod
    def of(cls, argument: str) -> JavaFile:
        single = _SLASHES.sub("/", argument)
        return cls(single.removesuffix("/") or single)

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The part of the name from its last dot on; empty without a dot."""
        _, dot, after = self.name.rpartition(".")
        return dot + after if dot else ""

    @property
    def absolute(self) -> str:
        if self.path.startswith("/"):
            return self.path
        here = os.getcwd()  # noqa: PTH109 - importing pathlib takes longer than dumping a small file
        return f"{here.removesuffix('/')}/{self.path}" if self.path else here

    def sibling(self, suffix: str) -> str:
        """The absolute path of the file with the same name up to the first dot, and this suffix."""
        folder = self.absolute.rpartition("/")[0]
        return f"{folder}/{self.name.partition('.')[0]}{suffix}"
