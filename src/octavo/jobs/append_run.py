"""How many batches a follower may append at once, so that the log comes out as after one append for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.layout import CONTROL, TRANSACTIONAL
from octavo.storage.log.roll import Incoming, roll_reason
from octavo.storage.partition_log import PartitionLog

_MOST = 4096


def run_length(log: PartitionLog, table: NDArray[np.void]) -> int:
    """The number of batches, at least 1, from the table's first on, that lie one behind the other in their buffer.

    Rolls are decided before each append, and the entry of an aborted transaction depends on which others are open at
    that moment. So a run ends where the segment might be rolled, and before a batch of a transaction; the first batch
    of a segment, from which its age counts, stands alone.
    """
    active, first = log.segments.active, table[0]
    if not active.size or first["attributes"] & (TRANSACTIONAL | CONTROL) or first["base_offset"] < log.log_end_offset:
        return 1
    room = min(active.files.offset_index.room, active.files.time_index.room, _MOST)
    table = table[: max(room, 1)]
    follows = _follows(table)
    fits = np.cumsum(table["size"], dtype=np.int64) <= log.config.segment_bytes - active.size
    broken = np.flatnonzero(~(follows & fits))
    count = max(int(broken[0]) if len(broken) else len(table), 1)
    now_ms = log.environment.clock.time_ms()
    while count > 1 and roll_reason(active, _incoming(table[:count]), log.config, now_ms) is not None:
        count //= 2
    return count


def _follows(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which batches can be appended together with the one before them."""
    found: NDArray[np.bool_] = table["attributes"] & (TRANSACTIONAL | CONTROL) == 0
    ends = table["position"] + table["size"]
    last_offsets = table["base_offset"] + table["last_offset_delta"]
    found[1:] &= (table["position"][1:] == ends[:-1]) & (table["base_offset"][1:] > last_offsets[:-1])
    found[1:] &= table["magic"][1:] == table["magic"][:-1]  # a batch of an old format clears the leader epochs
    return found


def _incoming(table: NDArray[np.void]) -> Incoming:
    last = table[-1]
    return Incoming(
        int(table["size"].sum(dtype=np.int64)),
        int(last["base_offset"]) + int(last["last_offset_delta"]),
        int(table["max_timestamp"].max()),
    )
