"""The time index `.timeindex`: the largest timestamp seen up to an offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError, EncodingError
from octavo.format.entry_layout import EntryLayout
from octavo.format.indexes.index import SparseIndex, relative_offset
from octavo.kernels.layout import NO_TIMESTAMP

ENTRY = EntryLayout(timestamp="int64", relative_offset="int32")


class TimestampOffset(NamedTuple):
    """Records with a larger timestamp come after the offset."""

    timestamp: int
    offset: int


class TimeIndex(SparseIndex[TimestampOffset]):
    """Entries by ascending timestamp; offsets never descend."""

    LAYOUT = ENTRY
    KEY = "timestamp"
    __slots__ = ()

    def _entry(self, fields: tuple[int, int]) -> TimestampOffset:
        return TimestampOffset(fields[0], self.base_offset + fields[1])

    def timestamps(self) -> NDArray[np.int64]:
        """The timestamps of all slots."""
        return self.slots["timestamp"].astype(np.int64)

    def zero_tail(self) -> int:
        """How many slots at the end are unused. The first entry may have timestamp 0 and the base offset, and is then
        all zeros: a file with a single slot is taken for one that was trimmed to its first entry."""
        return 0 if len(self) == 1 else super().zero_tail()

    def last(self) -> TimestampOffset:
        """The last entry; timestamp -1 at the base offset if the index is empty."""
        return self[-1] if len(self) else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The entry with the largest timestamp that is not above this one; timestamp -1 at the base offset if there is
        none."""
        slot = self._last_slot_up_to("timestamp", timestamp)
        return self[slot] if slot >= 0 else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def sanity_check(self) -> None:
        """Kafka's check: in addition to the last offset and the length, it compares the last timestamp with the
        first."""
        if len(self) and self[-1].timestamp < self[0].timestamp:
            raise CorruptionError(
                f"last time index entry has timestamp {self[-1].timestamp}, "
                f"expected {self[0].timestamp} (the first entry's) or more",
                position=(len(self) - 1) * self.LAYOUT.size,
            )
        super().sanity_check()


def takes(last: TimestampOffset, entry: TimestampOffset) -> bool:
    """Whether an index that ends with `last` needs the entry: only if its timestamp is larger."""
    return entry.timestamp > last.timestamp


def encode(timestamps: Iterable[int], offsets: Iterable[int], base_offset: int) -> bytes:
    entries = map(TimestampOffset._make, zip(timestamps, offsets, strict=True))
    return b"".join(encode_entry(entry, base_offset) for entry in entries)


def encode_entry(entry: TimestampOffset, base_offset: int) -> bytes:
    """One entry's bytes, to append to a live index."""
    if entry.timestamp < 0:
        raise EncodingError(f"timestamp {entry.timestamp} is negative")
    return ENTRY.pack(entry.timestamp, relative_offset(entry.offset, base_offset))
