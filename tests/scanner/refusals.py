"""Files and folders that the system refuses to list or open, even for root."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from octavo.scanner.places.location import LocalReadableFile, LocalReadableFileSystem


def unlisted(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Refuse to list folders, and to open files, of these names."""
    listed, opened = LocalReadableFileSystem.list, LocalReadableFileSystem.open

    def check(place: str) -> None:
        if Path(place).name in names:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)

    def list_(self: LocalReadableFileSystem, folder: str) -> object:
        check(folder)
        return listed(self, folder)

    def open_(self: LocalReadableFileSystem, place: str) -> LocalReadableFile:
        check(place)
        return opened(self, place)

    monkeypatch.setattr(LocalReadableFileSystem, "list", list_)
    monkeypatch.setattr(LocalReadableFileSystem, "open", open_)
