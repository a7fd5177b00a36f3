"""A table from keys to offsets, and what the compaction kernels agree on with who calls them.

The compiled side repeats the numbers as C structs (`offset_table.pxd`); a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.layout import BATCH

SLOT_BYTES = 24  # the key's hash, 16 bytes, and an offset
MAX_SLOTS = 2**31 - 1  # Kafka counts them in an int32

# What is known of a table, an int64 each. `latest_offset`: up to where the log's keys are in it. `marking`: for so many
# offsets from `marks_from` on marks are being made; `marks`: so many are made (`settle_marks`), all of them or none.
TABLE_STATE = (
    *("hash", "key0", "key1", "slots", "most_slots", "capacity", "size", "latest_offset"),
    *("marks_from", "marking", "marks"),
)
_FIRST_SHARE = 256  # of the memory that a table may take, it begins with so small a part
_FEWEST_SLOTS = 1024
# What a filter is told, then what it has done so far, an int64 each.
FILTER_STATE = (
    "now_ms",
    "delete_horizon_ms",  # what batches get that need one
    "end_position",
    "batches",
    "records_read",
    "records_kept",
    "records_without_key",
)


class KeyHash(IntEnum):
    """How a key becomes 16 bytes: two keys with the same ones count as one."""

    SIPHASH = 0  # keyed with a secret: nobody can make two keys that collide
    MD5 = 1  # Kafka's: slot by slot the bytes of its SkimpyOffsetMap


class BatchVerdict(IntFlag):
    """What is decided of a batch before its records are looked at."""

    DISCARD_RECORDS = 1  # an aborted transaction's, or a marker past its horizon
    RETAIN_EMPTY = 2  # it stays without records, if none survives: a producer's last sequence, or the round's end
    MARKER_OF_NOTHING = 4  # no batch of its transaction is left: it gets a delete horizon


class Fate(IntEnum):
    """What became of a batch."""

    GONE = 0
    WHOLE = 1  # copied as it is
    EMPTIED = 2
    REBUILT = 3


@dataclass(slots=True)
class OffsetTable:
    """Slots in memory that the caller gives. Not thread-safe while it is filled; filled, any thread may look up.

    `superseded` and `odd` have a bit for each offset of the part that the keys come from, least significant first:
    whether a later record has the record's key, and whether the record has no key or no value. With them the fate of
    a record, and often of a whole batch, is known without a look into it. (Until `settle_marks`, `superseded` has the
    bits of all records whose keys were put.)
    """

    slots: NDArray[np.uint8]
    state: NDArray[np.int64]  # TABLE_STATE
    superseded: NDArray[np.uint8]
    odd: NDArray[np.uint8]

    @classmethod
    def empty(cls, memory: NDArray[np.uint8], load_factor: float, key_hash: KeyHash, secret: bytes) -> OffsetTable:
        """An empty table in memory of zeros: as many slots as fit, of which the load factor's part takes keys.

        It begins with few slots and grows with its keys, so that no more memory is touched than they need: that is
        faster. Kafka's layout has all slots from the start.
        """
        most = slots = min(len(memory) // SLOT_BYTES, MAX_SLOTS)
        if key_hash is KeyHash.SIPHASH:
            slots = min(most, max(most // _FIRST_SHARE, _FEWEST_SLOTS))
        key0, key1 = np.frombuffer(secret, "<i8", 2).tolist()
        numbers = [key_hash, key0, key1, slots, most, int(most * load_factor), 0, -1, 0, 0, 0]
        return cls(memory, np.array(numbers, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint8))

    def mark_offsets(self, first: int, end: int) -> None:
        """Take note, from now on, of what becomes of records at these offsets."""
        self.superseded, self.odd = (np.zeros((end - first + 7) // 8, np.uint8) for _ in range(2))
        self.state[TABLE_STATE.index("marks_from")], self.state[TABLE_STATE.index("marking")] = first, end - first

    @property
    def slot_count(self) -> int:
        """How many slots it uses now."""
        return int(self.state[TABLE_STATE.index("slots")])

    @property
    def most_slots(self) -> int:
        """How many it may come to use."""
        return int(self.state[TABLE_STATE.index("most_slots")])

    @property
    def marks_from(self) -> int:
        """The first offset with marks."""
        return int(self.state[TABLE_STATE.index("marks_from")])

    @property
    def marks(self) -> int:
        """How many offsets have marks."""
        return int(self.state[TABLE_STATE.index("marks")])

    @property
    def marking(self) -> int:
        """For how many offsets marks are being made."""
        return int(self.state[TABLE_STATE.index("marking")])

    @property
    def capacity(self) -> int:
        """How many keys it takes."""
        return int(self.state[TABLE_STATE.index("capacity")])

    @property
    def size(self) -> int:
        """How many keys it has."""
        return int(self.state[TABLE_STATE.index("size")])

    @property
    def latest_offset(self) -> int:
        return int(self.state[TABLE_STATE.index("latest_offset")])

    @latest_offset.setter
    def latest_offset(self, offset: int) -> None:
        self.state[TABLE_STATE.index("latest_offset")] = offset


@dataclass(slots=True)
class FilterRun:
    """Where a filter writes the batches that survive, and how far it came."""

    out: NDArray[np.uint8]
    table: NDArray[np.void]  # rows of `layout.BATCH`: the surviving batches, positions in `out`
    state: NDArray[np.int64]  # FILTER_STATE

    @classmethod
    def of(cls, now_ms: int, delete_horizon_ms: int) -> FilterRun:
        """One without room yet."""
        state = np.array([now_ms, delete_horizon_ms, 0, 0, 0, 0, 0], np.int64)
        return cls(np.empty(0, np.uint8), np.empty(0, BATCH), state)

    @property
    def end_position(self) -> int:
        return int(self.state[FILTER_STATE.index("end_position")])

    @property
    def batches(self) -> int:
        return int(self.state[FILTER_STATE.index("batches")])

    def survivors(self) -> NDArray[np.void]:
        return self.table[: self.batches]
