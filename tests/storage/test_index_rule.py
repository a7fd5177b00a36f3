"""The counting rule against a plain loop over batches, as storage.md §3 words it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.format.time_index import TimestampOffset
from octavo.kernels.layout import BATCH
from octavo.storage.index_rule import IndexState, index_entries

Entries = tuple[list[tuple[int, int]], list[tuple[int, int]], IndexState]


def plain(table: NDArray[np.void], position: int, state: IndexState, interval: int, last_timestamp: int) -> Entries:
    since, max_so_far = state
    offsets, times = [], []
    for row in table:
        last_offset, size = int(row["base_offset"] + row["last_offset_delta"]), int(row["size"])
        if row["max_timestamp"] > max_so_far.timestamp:
            max_so_far = TimestampOffset(int(row["max_timestamp"]), last_offset)
        if since > interval:
            offsets.append((last_offset, position))
            if max_so_far.timestamp > last_timestamp:
                times.append((max_so_far.timestamp, max_so_far.offset))
                last_timestamp = max_so_far.timestamp
            since = 0
        position += size
        since += size
    return offsets, times, IndexState(since, max_so_far)


def table_of(rows: list[tuple[int, int, int]]) -> NDArray[np.void]:
    table = np.zeros(len(rows), BATCH)
    offset = position = 0
    for row, (size, delta, timestamp) in zip(table, rows, strict=True):
        row["position"], row["size"], row["base_offset"], row["last_offset_delta"] = position, size, offset, delta
        row["max_timestamp"] = timestamp
        offset, position = offset + delta + 1, position + size
    return table


ROWS = st.lists(st.tuples(st.integers(61, 300), st.integers(0, 5), st.integers(-1, 20)), min_size=1, max_size=30)


# I1: one entry into each index after more than index.interval.bytes; they need not name the same offset
@given(ROWS, st.integers(0, 700), st.integers(0, 700), st.integers(-1, 20), st.integers(-1, 5), st.integers(1, 29))
def test_rule_is_the_plain_loop(
    rows: list[tuple[int, int, int]], interval: int, since: int, max_timestamp: int, lag: int, cut: int
) -> None:
    table, state = table_of(rows), IndexState(since, TimestampOffset(max_timestamp, -1))
    last_timestamp = max(max_timestamp - lag - 1, -1)
    expected = plain(table, 500, state, interval, last_timestamp)
    found = index_entries(table, 500, state, interval, last_timestamp)
    assert list(zip(found.offsets, found.positions, strict=True)) == expected[0]
    assert list(zip(found.timestamps, found.timestamp_offsets, strict=True)) == expected[1]
    assert found.state == expected[2]


def test_number_of_calls_does_not_matter() -> None:
    table = table_of([(100, 1, timestamp) for timestamp in (5, 3, 9, 9, 2, 11, 4, 12)])
    start = IndexState(0, TimestampOffset(-1, 0))
    together = index_entries(table, 0, start, 150, -1)
    state, last, one_by_one = start, -1, []
    for number in range(len(table)):
        entries = index_entries(table[number : number + 1], 100 * number, state, 150, last)
        state, last = entries.state, int(entries.timestamps[-1]) if len(entries.timestamps) else last
        one_by_one += [(int(o), int(p)) for o, p in zip(entries.offsets, entries.positions, strict=True)]
    assert one_by_one == list(zip(together.offsets.tolist(), together.positions.tolist(), strict=True))
    assert state == together.state
