"""A segment's `.index`: appended to while the segment is active, searched by readers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.format import offset_index
from octavo.format.offset_index import OffsetIndex, OffsetPosition
from octavo.storage.index_file import IndexFile


class OffsetIndexFile(IndexFile[OffsetIndex]):
    """Offset to position in the log file."""

    INDEX = OffsetIndex

    @property
    def is_full(self) -> bool:
        return len(self) >= self._max_entries

    def extend(self, offsets: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
        """Append entries, of which there is room for; one whose offset is not larger than all before is passed over.

        Only damaged logs, in which offsets go back, have such. (Kafka empties their segment when it recovers.)
        """
        lowest = self.last().offset if len(self) else self.base_offset - 1
        rising = np.diff(np.maximum.accumulate(offsets), prepend=lowest) > 0
        rising &= offsets > lowest
        self._append(offset_index.encode(offsets[rising], positions[rising], self.base_offset))

    def last(self) -> OffsetPosition:
        """The last entry; of an empty index the segment's start."""
        with self._index() as index:
            return index.last()

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset up to this one; before all of them the segment's start."""
        with self._index() as index:
            return index.lookup(offset)

    def upper_bound(self, position: int) -> OffsetPosition | None:
        """The first entry at or behind a position."""
        with self._index() as index:
            return index.upper_bound(position)
