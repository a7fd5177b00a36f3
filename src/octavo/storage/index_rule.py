"""Which batches get index entries: the counting rule of appends, of recovery and of every other writer of segments.

A batch gets one when more than index.interval.bytes of batches came since the last one that got one, itself not
counted. So the same batches give the same indexes, however many calls appended them, as long as the segment stays open.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.time_index import TimestampOffset

Offsets = NDArray[np.int64]


class IndexState(NamedTuple):
    """What the rule remembers between appends to a segment."""

    bytes_since_last_entry: int
    max_so_far: TimestampOffset  # the largest timestamp, with the last offset of the first batch that has it


class IndexEntries(NamedTuple):
    """The entries that some batches give, and the state behind them."""

    offsets: Offsets
    positions: Offsets
    timestamps: Offsets  # ascending; fewer than offsets where no larger timestamp came
    timestamp_offsets: Offsets
    state: IndexState


def index_entries(
    table: NDArray[np.void], position: int, state: IndexState, interval_bytes: int, last_timestamp: int
) -> IndexEntries:
    """The entries of at least one batch, written one behind the other from `position` on.

    `last_timestamp` is that of the time index's last entry: only a larger one is added.
    """
    ends = np.cumsum(table["size"], dtype=np.int64)
    starts = ends - table["size"]
    points = _points(starts.tolist(), state.bytes_since_last_entry, interval_bytes)
    since = int(ends[-1] - starts[points[-1]]) if points else state.bytes_since_last_entry + int(ends[-1])

    last_offsets = table["base_offset"] + table["last_offset_delta"]
    largest = np.maximum.accumulate(table["max_timestamp"])
    max_so_far = state.max_so_far
    if largest[-1] > max_so_far.timestamp:
        holder = int(np.searchsorted(largest, largest[-1]))
        max_so_far = TimestampOffset(int(largest[-1]), int(last_offsets[holder]))

    timestamps = np.maximum(largest[points], state.max_so_far.timestamp)
    holders = last_offsets[np.searchsorted(largest, timestamps).clip(max=len(table) - 1)]
    holders = np.where(timestamps > state.max_so_far.timestamp, holders, state.max_so_far.offset)
    taken = np.diff(timestamps, prepend=last_timestamp) > 0
    new_state = IndexState(since, max_so_far)
    return IndexEntries(last_offsets[points], position + starts[points], timestamps[taken], holders[taken], new_state)


def _points(starts: list[int], bytes_since: int, interval_bytes: int) -> list[int]:
    """The batches, by number, that get an entry; it takes a step an entry, not a step a batch."""
    points = []
    point = bisect_right(starts, interval_bytes - bytes_since)
    while point < len(starts):
        points.append(point)
        point = bisect_right(starts, starts[point] + interval_bytes, point)
    return points
