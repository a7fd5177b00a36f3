"""Values that clients set while a broker runs, such as quotas, in a small file of which every directory has a copy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, replace_everywhere
from octavo.storage.files.shared_file import SharedFile
from octavo.system.filesystem import FileSystem

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Values = dict[Owner, dict[str, Value]]


class SharedValues(Generic[Owner, Value]):
    """The values in force by name, for each owner that has any; replaced, never modified.

    Until the first change they are what `taken_over` finds in the cluster's metadata. Kafka does not see changes made
    here. Thread-safe: a change is written to every directory before it becomes visible.
    """

    def __init__(
        self,
        roots: Sequence[LogRoot],
        filesystem: FileSystem,
        file: SharedFile[Values[Owner, Value]],
        taken_over: Callable[[], Values[Owner, Value]],
    ) -> None:
        self._roots = roots
        self._file = file
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Values[Owner, Value]], None]] = []
        stored = file.latest(filesystem, [root.path for root in live(roots)])
        self._revision, values = stored or (0, taken_over())
        self.values = _without_empty(values)

    def on_change(self, listener: Callable[[Values[Owner, Value]], None]) -> None:
        """Call a function with the values, now and after each change."""
        self._listeners.append(listener)
        listener(self.values)

    def change(self, change: Callable[[Values[Owner, Value]], None], *, dry_run: bool = False) -> None:
        """Let `change` alter a copy of the values, then put the copy into effect, unless it is a `dry_run`."""
        with self._lock:
            changed = {owner: dict(values) for owner, values in self.values.items()}
            change(changed)
            changed = _without_empty(changed)
            if dry_run or changed == self.values:
                return
            replace_everywhere(self._roots, self._file.name, self._file.encode(self._revision + 1, changed))
            self._revision += 1
            self.values = changed
            for listener in self._listeners:
                listener(changed)


def _without_empty(values: Values[Owner, Value]) -> Values[Owner, Value]:
    return {owner: of_owner for owner, of_owner in values.items() if of_owner}
