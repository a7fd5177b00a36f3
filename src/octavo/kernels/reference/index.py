"""Makes the index entries for batches, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.integers import INT32_MAX, signed64
from octavo.kernels.layout import INDEX_COUNTERS

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FIELDS = ["size", "base_offset", "last_offset_delta", "max_timestamp"]


def index_batches(
    table: NDArray[np.void],
    position: int,
    interval_bytes: int,
    counters: Buffer,
    offset_room: int,
    time_room: int,
) -> tuple[bytes, bytes]:
    """Make the entries of both indexes for consecutive batches from `position` on.

    `counters` (six int64, see `layout.INDEX_COUNTERS`) are updated. Entries beyond the room (a number of entries) are
    left out, and so are those whose offset (in a time index, timestamp) is not above the last entry's, and those whose
    relative offset or position does not fit into an entry.
    """
    state = memoryview(counters).cast("B").cast("q")
    if len(state) != len(INDEX_COUNTERS):
        raise ValueError(f"counters of {state.nbytes} bytes, expected {8 * len(INDEX_COUNTERS)}")
    base_offset, since, max_timestamp, max_offset, last_offset_entry, last_timestamp_entry = state.tolist()
    offsets: list[bytes] = []
    times: list[bytes] = []
    for size, first_offset, delta, timestamp in table[_FIELDS].tolist():
        last_offset = signed64(first_offset + delta)
        if timestamp > max_timestamp:
            max_timestamp, max_offset = timestamp, last_offset
        if since > interval_bytes:
            has_room, relative = len(offsets) < offset_room, signed64(last_offset - base_offset)
            if has_room and last_offset > last_offset_entry and _fits(relative) and _fits(position):
                offsets.append(relative.to_bytes(4) + position.to_bytes(4))
                last_offset_entry = last_offset
            has_room, relative = len(times) < time_room, signed64(max_offset - base_offset)
            if has_room and max_timestamp > last_timestamp_entry and _fits(relative):
                times.append(max_timestamp.to_bytes(8, signed=True) + relative.to_bytes(4))
                last_timestamp_entry = max_timestamp
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
    return b"".join(offsets), b"".join(times)


def _fits(number: int) -> bool:
    return 0 <= number <= INT32_MAX
