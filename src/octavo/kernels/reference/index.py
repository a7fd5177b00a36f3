"""Make the index entries that batches give, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.integers import signed64
from octavo.kernels.layout import INDEX_COUNTERS

if TYPE_CHECKING:
    from typing_extensions import Buffer

_OFFSET_ENTRY_BYTES, _TIME_ENTRY_BYTES = 8, 12
_FIELDS = ["size", "base_offset", "last_offset_delta", "max_timestamp"]


def index_batches(
    table: NDArray[np.void],
    position: int,
    interval_bytes: int,
    counters: Buffer,
    offset_entries: Buffer,
    time_entries: Buffer,
) -> tuple[int, int]:
    """Fill in the entries of batches that lie one behind the other from `position` on; returns how many of each kind.

    `counters` (six int64, see `layout.INDEX_COUNTERS`) are taken and left as after the last batch. What does not fit
    into the two buffers gets no entry, nor does an offset that is not larger than the last entry's.
    """
    state = memoryview(counters).cast("B").cast("q")
    if len(state) != len(INDEX_COUNTERS):
        raise ValueError(f"counters of {state.nbytes} bytes, expected {8 * len(INDEX_COUNTERS)}")
    base_offset, since, max_timestamp, max_offset, last_offset_entry, last_timestamp_entry = state.tolist()
    offsets, times = memoryview(offset_entries).cast("B"), memoryview(time_entries).cast("B")
    offset_count = time_count = 0
    for size, first_offset, delta, timestamp in table[_FIELDS].tolist():
        last_offset = signed64(first_offset + delta)
        if timestamp > max_timestamp:
            max_timestamp, max_offset = timestamp, last_offset
        if since > interval_bytes:
            at = offset_count * _OFFSET_ENTRY_BYTES
            has_room = at + _OFFSET_ENTRY_BYTES <= len(offsets)
            relative = signed64(last_offset - base_offset)
            if has_room and last_offset > last_offset_entry and _fits(relative) and _fits(position):
                offsets[at : at + 4] = relative.to_bytes(4)
                offsets[at + 4 : at + 8] = position.to_bytes(4)
                last_offset_entry, offset_count = last_offset, offset_count + 1
            at = time_count * _TIME_ENTRY_BYTES
            has_room = at + _TIME_ENTRY_BYTES <= len(times)
            relative = signed64(max_offset - base_offset)
            if has_room and max_timestamp > last_timestamp_entry and _fits(relative):
                times[at : at + 8] = max_timestamp.to_bytes(8, signed=True)
                times[at + 8 : at + 12] = relative.to_bytes(4)
                last_timestamp_entry, time_count = max_timestamp, time_count + 1
            since = 0
        position += size
        since += size
    state[1], state[2], state[3], state[4], state[5] = (
        since,
        max_timestamp,
        max_offset,
        last_offset_entry,
        last_timestamp_entry,
    )
    return offset_count, time_count


def _fits(number: int) -> bool:
    return 0 <= number < 1 << 31
