"""The state of a partition's producers, in arrays that the replay of a log updates.

The compiled side repeats the rows as C structs (`producers.pxd`); a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

CACHED_BATCHES = 5  # a producer may have this many requests in flight, each of which may be sent again
NONE = -1

CACHED_BATCH = np.dtype(
    [("last_offset", "<i8"), ("timestamp", "<i8"), ("last_sequence", "<i4"), ("offset_delta", "<i4")]
)

# The batches form a ring: the newest is just before `next_batch`.
PRODUCER = np.dtype(
    [
        ("producer_id", "<i8"),
        ("last_timestamp", "<i8"),
        ("current_txn_first_offset", "<i8"),
        ("batches", CACHED_BATCH, (CACHED_BATCHES,)),
        ("coordinator_epoch", "<i4"),
        ("epoch", "<i2"),
        ("batch_count", "u1"),
        ("next_batch", "u1"),
    ]
)

# A transaction without a marker yet.
ONGOING = np.dtype([("first_offset", "<i8"), ("producer_id", "<i8")])

# A producer's control batch: what the batch and its first record say (type -1: it has none), and what the replay finds:
# the first offset of the transaction that the marker ended (-1: it ended none), and the last stable offset after that.
MARKER = np.dtype(
    [
        ("producer_id", "<i8"),
        ("offset", "<i8"),
        ("timestamp", "<i8"),
        ("first_offset", "<i8"),
        ("last_stable_offset", "<i8"),
        ("coordinator_epoch", "<i4"),
        ("type", "<i4"),
    ]
)

HASH_MULTIPLIER = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: spreads Kafka's dense ids
_FIRST_CAPACITY = 8


class Replayed(IntEnum):
    """How a replay ended."""

    DONE = 0
    FULL = 1  # `producers` must grow before the returned row
    NOT_TRANSACTIONAL = 2  # the returned row is a non-transactional batch within its producer's transaction
    MARKER_MISSING = 3  # `markers` has no row for the control batch in the returned row


@dataclass(slots=True)
class ProducerArrays:
    """The first `count` entries are producers, found through `slots`: a hash table of their indexes, with -1 if free.

    `ongoing` holds their open transactions, ordered by first offset. Not thread-safe.
    """

    entries: NDArray[np.void] = field(default_factory=lambda: np.empty(0, PRODUCER))
    slots: NDArray[np.int32] = field(default_factory=lambda: np.full(1, NONE, np.int32))
    ongoing: NDArray[np.void] = field(default_factory=lambda: np.empty(0, ONGOING))
    count: int = 0
    ongoing_count: int = 0

    def slot_of(self, producer_id: int) -> int:
        """The slot that holds, or would hold, the index of this producer."""
        mask = len(self.slots) - 1
        slot = (producer_id * HASH_MULTIPLIER % 2**64) >> 65 - len(self.slots).bit_length() if mask else 0
        while (index := self.slots.item(slot)) != NONE and self.entries["producer_id"].item(index) != producer_id:
            slot = slot + 1 & mask
        return slot

    def find(self, producer_id: int) -> int:
        """The index of this producer's entry; -1 if it is unknown."""
        return self.slots.item(self.slot_of(producer_id)) if self.count else NONE

    def add(self, producer_id: int) -> int:
        """Add an entry for an unknown producer and return its index; the caller has made room."""
        self.entries[self.count] = np.zeros((), PRODUCER)
        entry = self.entries[self.count]
        entry["producer_id"] = producer_id
        for name in ("last_timestamp", "current_txn_first_offset", "coordinator_epoch", "epoch"):
            entry[name] = NONE
        self.slots[self.slot_of(producer_id)] = self.count
        self.count += 1
        return self.count - 1

    def grow(self) -> None:
        """Double the room."""
        entries = np.empty(max(2 * len(self.entries), _FIRST_CAPACITY), PRODUCER)
        entries[: self.count] = self.entries[: self.count]
        ongoing = self.ongoing[: self.ongoing_count]
        self.hold(entries, self.count)
        self.ongoing[: len(ongoing)], self.ongoing_count = ongoing, len(ongoing)

    def hold(self, entries: NDArray[np.void], count: int) -> None:
        """Replace the producers with the first `count` of these entries (ids are unique), and empty `ongoing`."""
        bits = (2 * len(entries)).bit_length()
        self.entries, self.count = entries, count
        self.slots = np.full(1 << bits, NONE, np.int32)
        self.ongoing, self.ongoing_count = np.empty(len(entries), ONGOING), 0
        hashes = entries["producer_id"][:count].astype(np.uint64) * np.uint64(HASH_MULTIPLIER)
        left, slots = np.arange(count, dtype=np.int32), hashes >> np.uint64(64 - bits) if count else hashes
        while len(left):
            free = self.slots[slots] == NONE
            self.slots[slots[free]] = left[free]  # if several want one slot, the last one gets it
            others = self.slots[slots] != left
            left, slots = left[others], slots[others] + np.uint64(1) & np.uint64(len(self.slots) - 1)

    def find_ongoing(self) -> None:
        """Fill `ongoing` from the entries."""
        self.ongoing_count = 0
        if self.count:
            first_offsets = self.entries["current_txn_first_offset"][: self.count]
            found = np.flatnonzero(first_offsets != NONE)
            found = found[np.argsort(first_offsets[found], kind="stable")]
            self.ongoing_count = len(found)
            self.ongoing["first_offset"][: len(found)] = first_offsets[found]
            self.ongoing["producer_id"][: len(found)] = self.entries["producer_id"][found]
