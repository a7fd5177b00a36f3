"""Values that clients set while a broker runs, such as quotas, in a small file of which every directory has a copy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, replace_everywhere
from octavo.storage.files.shared_file import SharedFile

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord

_Content = TypeVar("_Content")
Owner = TypeVar("Owner")
_Value = TypeVar("_Value")
Values = dict[Owner, dict[str, _Value]]
"""Values by name, for each owner that has any."""


class SharedValues(Generic[_Content]):
    """The values in force; replaced, never modified, so that readers need no lock.

    Until the first change they are what `replay` makes of the cluster's metadata, so that a directory that Kafka served
    keeps them. Kafka does not see changes made here. Thread-safe: a change is written to every directory in use before
    it becomes visible. Each change builds on the last one, so everybody who uses the directories must share one
    instance: see `LogManager.shared`.
    """

    def __init__(
        self,
        roots: Sequence[LogRoot],
        file: SharedFile[_Content],
        replay: Callable[[Iterator[MetadataRecord]], _Content],
    ) -> None:
        self._roots = roots
        self._file = file
        self._lock = threading.Lock()
        found = [read for root in live(roots) if (read := file.read(root.files, root.path)) is not None]
        latest = max(found, key=lambda read: read[0], default=None)
        self._revision, self.values = latest or (
            0,
            replay(record for root in live(roots) for record in root.metadata_users),
        )

    def change(self, change: Callable[[_Content], _Content], *, dry_run: bool = False) -> None:
        """Put what `change` makes of the current values into effect, unless it is a `dry_run`."""
        with self._lock:
            changed = change(self.values)
            if dry_run or changed == self.values:
                return
            replace_everywhere(self._roots, self._file, self._revision + 1, changed)
            self._revision += 1
            self.values = changed


def without_empty(values: Values[Owner, _Value]) -> Values[Owner, _Value]:
    """Leave out the owners that have no values."""
    return {owner: own for owner, own in values.items() if own}
