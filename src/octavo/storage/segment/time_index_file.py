"""A segment's `.timeindex`: entries of ascending timestamps, the last one the segment's largest."""

from __future__ import annotations

from octavo.format.indexes import time_index
from octavo.format.indexes.time_index import TimeIndex, TimestampOffset
from octavo.storage.segment.index_file import IndexFile


class TimeIndexFile(IndexFile[TimeIndex]):
    """Timestamp to offset. One slot is kept for the closing entry, which names the segment's largest timestamp."""

    INDEX = TimeIndex
    KEPT_SLOTS = 1

    def maybe_append(self, entry: TimestampOffset) -> bool:
        """Append the closing entry if its timestamp is larger than the last one; the kept slot takes it."""
        if not time_index.takes(self.last(), entry):
            return False
        self.append(time_index.encode_entry(entry, self.base_offset))
        return True

    def last(self) -> TimestampOffset:
        """The last entry; of an empty index no timestamp at the base offset."""
        with self._lock:
            return self._index().last()

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The entry with the largest timestamp up to this one; before all of them no timestamp at the base offset."""
        with self._lock:
            return self._index().lookup(timestamp)
