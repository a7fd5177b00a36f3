"""The offset checkpoints of a log directory, each read once for all of its partitions."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.format.names import TopicPartition
from octavo.scanner.places.location import Entry, Location
from octavo.scanner.places.root import Root


class Checkpoints:
    """Remembers what it read: a file of ten thousand lines is not to be decoded for each of ten thousand partitions."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._read: dict[str, tuple[Entry | None, Mapping[TopicPartition, int]]] = {}

    def offsets(self, name: str) -> Mapping[TopicPartition, int]:
        """A checkpoint's offsets by its file name; none where it is absent or unreadable."""
        if name not in self._read:
            entry = self._entry(name)
            self._read[name] = entry, Root(self.location).offsets(name)
        return self._read[name][1]

    def offsets_now(self, name: str) -> Mapping[TopicPartition, int]:
        """The same, read anew if the file has been replaced meanwhile."""
        if name in self._read and self._read[name][0] != self._entry(name):
            del self._read[name]
        return self.offsets(name)

    def _entry(self, name: str) -> Entry | None:
        try:
            return self.location.child(name).entry()
        except OSError:
            return None
