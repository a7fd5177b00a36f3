"""Limits how many files this process keeps open, since thousands of logs must not need as many descriptors."""

from __future__ import annotations

import resource
import threading
from pathlib import Path
from typing import Protocol

from octavo.system.filesystem import File, FileSystem
from octavo.system.forks import on_fork
from octavo.system.regular_file import when_too_many_are_open

# The logs take at most half of the process's descriptors; an index needs two, one to read and one to write.
_SHARE = 4
_MOST = 50_000


class FileOwner(Protocol):
    """Something that opens its file when used, and can release it in between."""

    def release_if_idle(self) -> bool:
        """Close descriptors and mappings unless they are in use; must not block. Returns whether it did."""
        ...


class OpenFiles:
    """The owners that have a file open, in the order of opening. Beyond the limit, those open the longest are
    released."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._owners: dict[int, FileOwner] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

    def opened(self, owner: FileOwner) -> None:
        """Record that the owner has just opened its file."""
        with self._lock:
            self._owners.pop(id(owner), None)
            self._owners[id(owner)] = owner
            surplus = len(self._owners) - self.limit
            eldest = [other for other, _ in zip(self._owners.values(), range(surplus), strict=False)]
        self._release([other for other in eldest if other is not owner])

    def released(self, owner: FileOwner) -> None:
        """Record that the owner has closed its file."""
        with self._lock:
            self._owners.pop(id(owner), None)

    def disown(self) -> None:
        """Start over in a forked child: a thread of the parent may hold the lock forever."""
        self._lock = threading.Lock()
        self._owners = {}
        on_fork(self)  # for the child's own children

    def give_back(self) -> bool:
        """Release all idle files, because the rest of the process needs descriptors; returns whether any was
        released."""
        with self._lock:
            owners = list(self._owners.values())
        return self._release(owners) > 0

    def _release(self, owners: list[FileOwner]) -> int:
        count = 0
        for owner in owners:
            if owner.release_if_idle():
                self.released(owner)
                count += 1
        return count


def _limit() -> int:
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if descriptors == resource.RLIM_INFINITY else max(min(descriptors // _SHARE, _MOST), 1)


# One for the whole process, because the descriptor limit applies to the process.
OPEN_FILES = OpenFiles(_limit())
when_too_many_are_open(OPEN_FILES.give_back)
on_fork(OPEN_FILES)


class ReleasableFile:
    """The base class for owners of one file without a mapping; any thread may release the file at any time."""

    def __init__(self, filesystem: FileSystem, path: Path) -> None:
        self.path = path
        self._filesystem = filesystem
        self._file: File | None = None

    def release(self) -> None:
        """Release the descriptor; the next use opens the file again."""
        if self._file is not None:
            self._file = None
            OPEN_FILES.released(self)

    def release_if_idle(self) -> bool:
        self._file = None  # a thread about to use the open file has its own reference
        return True

    def unlink(self) -> None:
        """Remove the file, if there is one."""
        self.release()
        self._filesystem.unlink(self.path)
