"""Replaces small files as a whole: checkpoints, partition.metadata and the like."""

from __future__ import annotations

import os
from pathlib import Path

from octavo.format.names import TEMPORARY_SUFFIX
from octavo.system.filesystem import FileSystem

_OWNER_ALONE = 0o600


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
