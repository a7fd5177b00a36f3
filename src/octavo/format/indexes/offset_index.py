"""The offset index `.index`: maps an offset to a position in the log file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.entry_layout import EntryLayout
from octavo.format.indexes.index import SparseIndex, relative_offset

ENTRY = EntryLayout(relative_offset="int32", position="int32")


class OffsetPosition(NamedTuple):
    """A batch starts at the position; it holds the offset or comes before it."""

    offset: int
    position: int


class OffsetIndex(SparseIndex[OffsetPosition]):
    """Entries by ascending offset.

    Since 3.9.1 and 4.0.1, Kafka stores the last offset of the batch at the position. Before, it stored the last offset
    of the whole append that begins there; up to 1.1, its first offset. A reader may rely only on this: the first offset
    of the batch at the position is not above the entry's.
    """

    LAYOUT = ENTRY
    KEY = "position"  # offsets are allowed to repeat, positions are not
    __slots__ = ()

    def _entry(self, fields: tuple[int, int]) -> OffsetPosition:
        return OffsetPosition(self.base_offset + fields[0], fields[1])

    def positions(self) -> NDArray[np.int64]:
        """The positions of all slots."""
        return self.slots["position"].astype(np.int64)

    def last(self) -> OffsetPosition:
        """The last entry; the segment's start if the index is empty."""
        return self[-1] if len(self) else OffsetPosition(self.base_offset, 0)

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset that is not above this one; the segment's start if there is none."""
        slot = self._last_slot_up_to("relative_offset", offset - self.base_offset)
        return self[slot] if slot >= 0 else OffsetPosition(self.base_offset, 0)

    def upper_bound(self, position: int) -> OffsetPosition | None:
        """The first entry at or after a position; its offset lies beyond everything before the position."""
        slot = bisect_left(self.slots["position"], position, key=int)
        return self[slot] if slot < len(self) else None


def encode(offsets: Iterable[int], positions: Iterable[int], base_offset: int) -> bytes:
    entries = zip(offsets, positions, strict=True)
    return b"".join(ENTRY.pack(relative_offset(offset, base_offset), position) for offset, position in entries)
