"""Reads and replaces small files as a whole: checkpoints, partition.metadata and the like."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from octavo.errors import CorruptionError
from octavo.format.names import TEMPORARY_SUFFIX
from octavo.system.filesystem import FilesToRead, FileSystem

Decoded = TypeVar("Decoded")

_OWNER_ALONE = 0o600


def read_file(files: FilesToRead, path: Path, decode: Callable[[bytes], Decoded]) -> Decoded | None:
    """The content of a file; None if there is none. A CorruptionError names the file."""
    if not files.exists(path):
        return None
    try:
        return decode(files.read_bytes(path))
    except CorruptionError as error:
        raise error.at(path=str(path)) from None


def replace_file(filesystem: FileSystem, path: Path, data: bytes, *, is_secret: bool = False) -> None:
    """Give a file new content; a crash leaves either the old or the new content, complete.

    1. Write the content to `<name>.tmp`. 2. Sync it. 3. Rename it into place. 4. Sync the folder. A crash before 3
    leaves the old file and perhaps a `.tmp`, which the next write replaces, even if it is a link. A crash between 3 and
    4 may leave either version.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    filesystem.unlink(temporary)
    file = filesystem.open(temporary, create=True)
    if is_secret:
        os.fchmod(file.fileno(), _OWNER_ALONE)
    file.pwrite(data, 0)
    file.fsync()
    filesystem.rename(temporary, path)
    filesystem.fsync_folder(path.parent)
