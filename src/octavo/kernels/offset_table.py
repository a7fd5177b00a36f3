"""A table that maps keys to offsets, and what the compaction kernels share with their callers.

The compiled side repeats the numbers as C structs and enums (`offset_table.pxd`, `filter.pyx`); tests compare what the
two sides compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import BATCH

SLOT_BYTES = 24  # the key's hash of 16 bytes, and an offset
MAX_SLOTS = INT32_MAX  # Kafka counts them in an int32

# The state of a table, one int64 each. `latest_offset`: the table has the log's keys up to here. `marking`: how many
# offsets, from `marks_from` on, are being marked. `marks`: how many have their final marks, which is 0 until
# `settle_marks` finishes them all at once.
TABLE_STATE = (
    *("hash", "key0", "key1", "slots", "most_slots", "capacity", "size", "latest_offset"),
    *("marks_from", "marking", "marks"),
)
_FIRST_SHARE = 256  # a table that grows starts with 1/256 of the slots that it may have
_FEWEST_SLOTS = 1024
# The parameters of a filter, then its counters, one int64 each.
FILTER_STATE = (
    "now_ms",
    "delete_horizon_ms",  # for batches that need one
    "end_position",
    "batches",
    "records_read",
    "records_kept",
    "records_without_key",
)


class KeyHash(IntEnum):
    """How a key becomes 16 bytes; keys that become the same bytes count as one."""

    SIPHASH = 0  # keyed with a secret, so that nobody can construct colliding keys
    MD5 = 1  # Kafka's hash: the slots are byte for byte those of its SkimpyOffsetMap


class BatchVerdict(IntFlag):
    """What is decided about a batch before its records are read."""

    DISCARD_RECORDS = 1  # records of an aborted transaction, or a marker past its horizon
    RETAIN_EMPTY = 2  # keep it even if no record survives: a producer's last sequence, or the end of the cleaned part
    MARKER_OF_NOTHING = 4  # a marker whose transaction has no batches left: it gets a delete horizon


class Fate(IntEnum):
    """What happened to a batch."""

    GONE = 0
    WHOLE = 1  # copied unchanged
    EMPTIED = 2
    REBUILT = 3


class _StateValue:
    """A value in the `state` of its owner, as an attribute."""

    def __init__(self, names: Sequence[str], name: str) -> None:
        self._slot = names.index(name)

    def __get__(self, owner: OffsetTable | FilterRun, _: object = None) -> int:
        return int(owner.state[self._slot])

    def __set__(self, owner: OffsetTable | FilterRun, value: int) -> None:
        owner.state[self._slot] = value


@dataclass(slots=True)
class OffsetTable:
    """Slots in memory that the caller provides. Not thread-safe while it is filled; afterwards any thread may read it.

    `superseded` and `odd` have a bit for each offset of the part that the keys come from, least significant first:
    whether a later record has the same key, and whether the record lacks a key or a value. They often settle the fate
    of a record, or a whole batch, without reading it. (A batch whose keys were not put is marked in `odd` at its first
    and its last offset. Until `settle_marks`, `superseded` has the bits of all records whose keys were put.)
    """

    slots: NDArray[np.uint8]
    state: NDArray[np.int64]  # TABLE_STATE
    superseded: NDArray[np.uint8]
    odd: NDArray[np.uint8]

    slot_count = _StateValue(TABLE_STATE, "slots")  # those in use now
    most_slots = _StateValue(TABLE_STATE, "most_slots")  # how many the table may grow to
    capacity = _StateValue(TABLE_STATE, "capacity")  # how many keys the table can hold
    size = _StateValue(TABLE_STATE, "size")  # how many it holds
    latest_offset = _StateValue(TABLE_STATE, "latest_offset")
    marks_from = _StateValue(TABLE_STATE, "marks_from")
    marking = _StateValue(TABLE_STATE, "marking")
    marks = _StateValue(TABLE_STATE, "marks")

    @classmethod
    def empty(cls, memory: NDArray[np.uint8], load_factor: float, key_hash: KeyHash, secret: bytes) -> OffsetTable:
        """An empty table in zeroed memory, with at most as many slots as fit; the load factor limits how many of them
        hold keys.

        It starts with few slots and grows with its keys, which is faster because less memory is touched. Kafka's layout
        has all slots from the start.
        """
        most = slots = min(len(memory) // SLOT_BYTES, MAX_SLOTS)
        if key_hash is KeyHash.SIPHASH:
            slots = min(most, max(most // _FIRST_SHARE, _FEWEST_SLOTS))
        key0, key1 = np.frombuffer(secret, "<i8", 2).tolist()
        numbers = [key_hash, key0, key1, slots, most, int(most * load_factor), 0, -1, 0, 0, 0]
        return cls(memory, np.array(numbers, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint8))

    def mark_offsets(self, first: int, end: int) -> None:
        """Start marking what happens to records at these offsets."""
        self.superseded, self.odd = (np.zeros((end - first + 7) // 8, np.uint8) for _ in range(2))
        self.marks_from, self.marking = first, end - first


@dataclass(slots=True)
class FilterRun:
    """Where a filter writes the surviving batches, and how far it got."""

    out: NDArray[np.uint8]
    table: NDArray[np.void]  # rows of `layout.BATCH` for the surviving batches, with positions in `out`
    state: NDArray[np.int64]  # FILTER_STATE

    now_ms = _StateValue(FILTER_STATE, "now_ms")
    delete_horizon_ms = _StateValue(FILTER_STATE, "delete_horizon_ms")
    end_position = _StateValue(FILTER_STATE, "end_position")
    batches = _StateValue(FILTER_STATE, "batches")
    records_read = _StateValue(FILTER_STATE, "records_read")
    records_kept = _StateValue(FILTER_STATE, "records_kept")
    records_without_key = _StateValue(FILTER_STATE, "records_without_key")

    @classmethod
    def of(cls, now_ms: int, delete_horizon_ms: int) -> FilterRun:
        """A run without room yet."""
        state = np.array([now_ms, delete_horizon_ms, 0, 0, 0, 0, 0], np.int64)
        return cls(np.empty(0, np.uint8), np.empty(0, BATCH), state)

    def survivors(self) -> NDArray[np.void]:
        return self.table[: self.batches]
