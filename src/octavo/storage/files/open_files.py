"""How many files this process keeps open: thousands of logs must not need as many descriptors."""

from __future__ import annotations

import resource
import threading
from typing import Protocol

from octavo.system.forks import on_fork
from octavo.system.regular_file import when_too_many_are_open

# Of the process's descriptors the logs take up to a half; an index has two, one to read and one to write through.
_SHARE = 4
_MOST = 50_000


class FileOwner(Protocol):
    """Opens its file when it is used, and again after it let go of it."""

    def release_if_idle(self) -> bool:
        """Give descriptors and mappings back, unless they are in use just now; must not wait. Says whether it did."""
        ...


class OpenFiles:
    """Those who have a file open, in the order of opening. Beyond the limit the longest open are released."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._owners: dict[int, FileOwner] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

    def opened(self, owner: FileOwner) -> None:
        """Note who has just opened its file."""
        with self._lock:
            self._owners.pop(id(owner), None)
            self._owners[id(owner)] = owner
            surplus = len(self._owners) - self.limit
            eldest = [other for other, _ in zip(self._owners.values(), range(surplus), strict=False)]
        self._release([other for other in eldest if other is not owner])

    def released(self, owner: FileOwner) -> None:
        """Note who let go of its file."""
        with self._lock:
            self._owners.pop(id(owner), None)

    def disown(self) -> None:
        """In a forked child: the lock may be held by a thread of the parent's, for ever."""
        self._lock = threading.Lock()
        self._owners = {}
        on_fork(self)  # of the child's own children, too

    def give_back(self) -> bool:
        """Release all that is idle, since the rest of the process needs descriptors; says whether something was."""
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


# Descriptors belong to the process, and so does this.
OPEN_FILES = OpenFiles(_limit())
when_too_many_are_open(OPEN_FILES.give_back)
on_fork(OPEN_FILES)
