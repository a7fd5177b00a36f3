"""Full disks: from any operation on there is no room for bytes, files or folders, and later there is room again."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from octavo.errors import OctavoError
from octavo.system.filesystem import File, LocalFile, LocalFileSystem, LocalMappedFile, MappedFile
from tests.attack.after_loss import after_kill
from tests.attack.life import Life
from tests.attack.tally import Tally

if TYPE_CHECKING:
    from typing_extensions import Buffer

STEPS = 60
OPERATIONS = 1200  # about the number of operations that need room in one life


class SmallDisk(LocalFileSystem):
    """This machine's files, on which writes fail from some operation on, until there is room again."""

    def __init__(self, full_at: int) -> None:
        self._left = full_at
        self.has_room = False

    @property
    def is_full(self) -> bool:
        return self._left <= 0 and not self.has_room

    def need(self, path: Path) -> None:
        """Count an operation that needs room; ENOSPC if there is none."""
        self._left -= 1
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def open(self, path: Path, *, create: bool = False) -> File:
        if create and not path.exists():
            self.need(path)
        return _File(self, path, create=create)

    def map(self, path: Path, size: int) -> MappedFile:
        return _Mapping(self, path, size)

    def truncate(self, path: Path, size: int) -> None:
        if not path.exists():
            self.need(path)
        super().truncate(path, size)

    def mkdir(self, path: Path) -> None:
        if not path.exists():
            self.need(path)
        super().mkdir(path)


class _File(LocalFile):
    def __init__(self, disk: SmallDisk, path: Path, *, create: bool) -> None:
        super().__init__(path, create=create)
        self._disk, self._path = disk, path

    def pwrite(self, data: Buffer, position: int) -> None:
        try:
            self._disk.need(self._path)
        except OSError:  # what fits is written
            super().pwrite(memoryview(data).cast("B")[: memoryview(data).nbytes // 2], position)
            raise
        super().pwrite(data, position)


class _Mapping(LocalMappedFile):
    def __init__(self, disk: SmallDisk, path: Path, size: int) -> None:
        super().__init__(path, size)
        self._disk, self._at = disk, path

    def write(self, data: bytes | bytearray, position: int) -> None:
        self._disk.need(self._at)
        super().write(data, position)


def attack(seed: int, folder: Path) -> Tally:
    """Fill the disk at an operation chosen by the seed, continue, close, make room, open again."""
    root, disk = folder / "logs", SmallDisk(Random(f"full disk {seed}").randint(1, OPERATIONS))
    life = Life(root, disk, seed, OctavoError)
    with suppress(OctavoError):
        life.live(STEPS)
    disk.has_room = True
    tally, _ = after_kill(root, life.journal.lines, is_crash=False)
    tally.counts["full disks"] = 1
    return tally
