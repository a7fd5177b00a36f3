"""An in-memory filesystem that stops at a chosen operation, and knows what a crash there would leave."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.system.filesystem import File, Lock, MappedFile

if TYPE_CHECKING:
    from typing_extensions import Buffer


# A page is as small beside a test's log as a disk's page is beside a real one.
PAGE_BYTES = 64


class Crash(BaseException):
    """The machine stops here. No `except Exception` may swallow it."""


class Loss(Enum):
    """What a crash takes away."""

    PROCESS = "kill -9: the page cache survives, the operation at hand is half done"
    POWER = "power loss: what was not synced is gone"
    TORN = "power loss: any part of what was not synced may be there, in files and folders"


# How many samples of a loss's outcome are taken at each operation.
SAMPLES = {Loss.PROCESS: 1, Loss.POWER: 1, Loss.TORN: 2}


@dataclass
class Inode:
    """A file's bytes as programs see them, and as they are on disk."""

    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    mtime_ms: int = 0


class FaultFileSystem:
    """Counts operations that change something; raises `Crash` at number `stop_at`, which leaves a write half done.

    Every operation under a folder in `broken` fails, as on a dead disk.
    """

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.operations = 0
        self.entries: dict[Path, Inode] = {}
        self.synced_entries: dict[Path, Inode] = {}
        self.broken: set[Path] = set()
        self.locked: set[Path] = set()
        self._renamed: list[tuple[Path, Path]] = []  # folders whose parent has not been synced since
        self._renamed_files: list[tuple[Path, Path]] = []  # likewise, for files

    def after_crash(self, loss: Loss, seed: int = 0) -> FaultFileSystem:
        """What the next process finds."""
        found, chance = FaultFileSystem(), random.Random(seed)
        entries = dict(self.entries if loss is Loss.PROCESS else self.synced_entries)
        if loss is Loss.TORN:
            entries = self._torn(chance)
        for path, inode in entries.items():
            content = _surviving(inode, loss, chance)
            found.entries[path] = found.synced_entries[path] = Inode(bytearray(content), content, inode.mtime_ms)
        return found

    def _torn(self, chance: random.Random) -> dict[Path, Inode]:
        """Any part of what was created, removed and renamed since folders were synced. A rename happened completely or
        not at all."""
        now, synced = dict(self.entries), dict(self.synced_entries)
        for old, new in self._renamed:
            if chance.random() < 0.5:
                _move(synced, old, new)
            else:
                _move(now, new, old)
        groups: dict[Path, set[Path]] = {path: {path} for path in {*now, *synced}}
        for old, new in self._renamed_files:
            joined = groups.get(old, {old}) | groups.get(new, {new})
            groups |= dict.fromkeys(joined, joined)
        kept: dict[Path, Inode] = {}
        for first in sorted({min(group) for group in groups.values()}):
            chosen = now if chance.random() < 0.5 else synced
            kept |= {path: chosen[path] for path in groups[first] if path in chosen}
        return kept

    def step(self) -> bool:
        """Count an operation; returns whether it crashes. After the first crash all do: other threads may still run."""
        self.operations += 1
        return self.stop_at is not None and self.operations >= self.stop_at

    def open(self, path: Path, *, create: bool = False) -> File:
        return FaultFile(self, self._inode(path, create=create), path)

    def map(self, path: Path, size: int) -> MappedFile:
        inode = self._inode(path)
        assert 0 < size <= len(inode.content), "a mapping must lie inside its file"
        return FaultMapping(self, inode, size, path)

    def truncate(self, path: Path, size: int) -> None:
        FaultFile(self, self._inode(path, create=True), path).truncate(size)

    def names(self, folder: Path) -> list[str]:
        self.check(folder)
        return sorted(path.name for path in list(self.entries) if path.parent == folder)

    def others(self, folder: Path) -> list[str]:
        """There are only regular files, and folders, which are not modelled."""
        self.check(folder)
        return []

    def link_target(self, path: Path) -> Path | None:
        return None

    def folders(self, folder: Path) -> list[str]:
        self.check(folder)
        return sorted({path.parent.name for path in list(self.entries) if path.parent.parent == folder})

    def exists(self, path: Path) -> bool:
        self.check(path)
        return path in self.entries or any(path in known.parents for known in list(self.entries))

    def is_folder(self, path: Path) -> bool:
        self.check(path)
        return path not in self.entries

    def size(self, path: Path) -> int:
        return len(self._inode(path).content)

    def mtime_ms(self, path: Path) -> int:
        return self._inode(path).mtime_ms

    def set_mtime_ms(self, path: Path, mtime_ms: int) -> None:
        self._inode(path).mtime_ms = mtime_ms

    def read_bytes(self, path: Path) -> bytes:
        return bytes(self._inode(path).content)

    def rename(self, path: Path, target: Path) -> None:
        self.check(path)
        self._change()
        if path not in self.entries and self.exists(path):
            _move(self.entries, path, target)
            self._renamed.append((path, target))
            return
        self.entries[target] = self._inode(path)
        del self.entries[path]
        self._renamed_files.append((path, target))

    def unlink(self, path: Path) -> bool:
        self.check(path)
        if path not in self.entries:
            return False
        self._change()
        del self.entries[path]
        return True

    def mkdir(self, path: Path) -> None:
        """Folders are not modelled: files name theirs."""
        self.check(path)

    def rmdir(self, path: Path) -> None:
        """Folders are not modelled."""

    def fsync_folder(self, path: Path) -> None:
        self.check(path)
        self._change()
        for old, new in self._renamed:
            if old.parent == path:
                _move(self.synced_entries, old, new)
        self._renamed = [(old, new) for old, new in self._renamed if old.parent != path]
        self._renamed_files = [(old, new) for old, new in self._renamed_files if old.parent != path]
        for known in [known for known in list(self.synced_entries) if known.parent == path]:
            del self.synced_entries[known]
        self.synced_entries |= {known: inode for known, inode in list(self.entries.items()) if known.parent == path}

    def lock(self, path: Path) -> Lock:
        self.check(path)
        if path in self.locked:
            raise BlockingIOError(errno.EDEADLK, "this process has opened it already")
        self.locked.add(path)
        return FaultLock(self, path)

    def check(self, path: Path) -> None:
        """Raise if the disk is dead."""
        if any(path == folder or folder in path.parents for folder in self.broken):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    def _inode(self, path: Path, *, create: bool = False) -> Inode:
        self.check(path)
        if path not in self.entries:
            if not create:
                raise FileNotFoundError(path)
            self._change()
            self.entries[path] = Inode()
        return self.entries[path]

    def _change(self) -> None:
        if self.step():
            raise Crash


class FaultFile:
    """An open file; it outlives its name."""

    def __init__(self, filesystem: FaultFileSystem, inode: Inode, path: Path) -> None:
        self._filesystem = filesystem
        self._inode = inode
        self._path = path  # the path under which it was opened

    def pread(self, length: int, position: int) -> bytes:
        self._filesystem.check(self._path)
        return bytes(self._inode.content[position : position + length])

    def pread_into(self, buffer: memoryview, position: int) -> int:
        data = self.pread(len(buffer), position)
        buffer[: len(data)] = data
        return len(data)

    def pwrite(self, data: Buffer, position: int) -> None:
        self._filesystem.check(self._path)
        content, written = self._inode.content, bytes(data)
        stops = self._filesystem.step()
        if stops:
            written = written[: len(written) // 2]
        content.extend(bytes(max(position - len(content), 0)))
        content[position : position + len(written)] = written
        if stops:
            raise Crash

    def truncate(self, size: int) -> None:
        self._filesystem.check(self._path)
        if self._filesystem.step():
            raise Crash
        content = self._inode.content
        del content[size:]
        content.extend(bytes(size - len(content)))

    def size(self) -> int:
        return len(self._inode.content)

    def fsync(self) -> None:
        self._filesystem.check(self._path)
        if self._filesystem.step():
            raise Crash
        self._inode.synced = bytes(self._inode.content)

    def bring(self, position: int, length: int) -> None:
        """Do nothing: all bytes are here."""

    def let_go(self, length: int) -> None:
        is_synced = self._inode.synced[:length] == self._inode.content[:length]
        assert is_synced, f"{self._path}: dropped from the cache before it is synced"

    def skip_hole(self, position: int) -> int:
        return position

    def fileno(self) -> int:
        raise NotImplementedError("no descriptor in memory")


class FaultLock:
    """A lock without a file, since nothing depends on it."""

    def __init__(self, filesystem: FaultFileSystem, path: Path) -> None:
        self._filesystem = filesystem
        self._path = path

    def release(self) -> None:
        self._filesystem.locked.discard(self._path)

    def disown(self) -> None:
        """No test forks on this filesystem."""


class FaultMapping:
    """A mapping, written like the file."""

    def __init__(self, filesystem: FaultFileSystem, inode: Inode, size: int, path: Path) -> None:
        self._file = FaultFile(filesystem, inode, path)
        self._size = size

    def view(self) -> memoryview:
        return memoryview(self._file.pread(self._size, 0))

    def write(self, data: bytes | bytearray, position: int) -> None:
        assert position + len(data) <= self._size, "a mapping must not be written past its end"
        self._file.pwrite(data, position)

    def flush(self) -> None:
        self._file.fsync()

    def close(self) -> None:
        """Nothing to give back."""


def _move(entries: dict[Path, Inode], old: Path, new: Path) -> None:
    """Move everything in a folder to the folder's new path."""
    for path in [path for path in entries if old in path.parents]:
        entries[new / path.relative_to(old)] = entries.pop(path)


def _surviving(inode: Inode, loss: Loss, chance: random.Random) -> bytes:
    if loss is Loss.PROCESS:
        return bytes(inode.content)
    if loss is Loss.POWER:
        return inode.synced
    # The length may be the old one, the new one or any in between. A page may have been written or not; if not, it has
    # zeros or its earlier content. Either pages were written in order, and the last is torn, or in any order.
    content, synced = bytes(inode.content), inode.synced
    length = chance.choice([len(content), len(synced), chance.randint(0, max(len(content), len(synced)))])
    length = max(length, min(len(content), len(synced)))
    before, after = synced.ljust(length, b"\0")[:length], content.ljust(length, b"\0")[:length]
    if chance.random() < 0.5:
        cut = chance.randint(0, length)
        return after[:cut] + before[cut:]
    pages = [slice(start, start + PAGE_BYTES) for start in range(0, length, PAGE_BYTES)]
    return b"".join((after if chance.random() < 0.5 else before)[page] for page in pages)
