"""A segment's `.index`: appended to while the segment is active, searched by readers."""

from __future__ import annotations

from octavo.format.indexes.offset_index import OffsetIndex, OffsetPosition
from octavo.storage.segment.index_file import IndexFile


class OffsetIndexFile(IndexFile[OffsetIndex]):
    """Offset to position in the log file."""

    INDEX = OffsetIndex

    def last(self) -> OffsetPosition:
        """The last entry; of an empty index the segment's start."""
        with self._lock:
            return self._index().last()

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset up to this one; before all of them the segment's start."""
        with self._lock:
            return self._index().lookup(offset)

    def upper_bound(self, position: int) -> OffsetPosition | None:
        """The first entry at or behind a position."""
        with self._lock:
            return self._index().upper_bound(position)
