"""Paths of files at URLs, for code that knows only paths."""

from __future__ import annotations

from pathlib import PosixPath
from typing import Self


class UrlPath(PosixPath):
    """The path of a file at a URL, without the URL's secrets. Only a file system that knows the URL can open it."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)  # a path has no empty parts

    def absolute(self) -> Self:
        """The path itself: no current directory comes before it."""
        return self
