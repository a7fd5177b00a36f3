"""The counting rule for index entries."""

from __future__ import annotations

from array import array
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.format.indexes import offset_index, time_index
from octavo.kernels.layout import BATCH, INDEX_COUNTERS
from tests.kernels import implementations

BASE = 100
MAX_INT32 = 2**31 - 1
Rows = list[tuple[int, int, int]]


def table_of(rows: Rows) -> NDArray[np.void]:
    """Batches of these sizes, last offset deltas and timestamps, one after the other."""
    table, offset = np.zeros(len(rows), BATCH), BASE
    for row, (size, delta, timestamp) in zip(table, rows, strict=True):
        row["size"], row["base_offset"], row["last_offset_delta"] = size, offset, delta
        row["max_timestamp"] = timestamp
        offset += delta + 1
    return table


def start(since: int = 0, max_timestamp: int = -1, last_offset: int = BASE - 1, last_timestamp: int = -1) -> array[int]:
    return array("q", [BASE, since, max_timestamp, BASE, last_offset, last_timestamp])


class Run:
    """The entries that a call makes, decoded, and the counters after it."""

    def __init__(
        self,
        kernels: SimpleNamespace,
        table: NDArray[np.void],
        counters: array[int],
        *,
        interval: int = 250,
        position: int = 0,
        room: int = 50,
    ) -> None:
        offsets, times = kernels.index_batches(table, position, interval, counters, room, room)
        self.offsets = [tuple(entry) for entry in offset_index.OffsetIndex.decode(offsets, BASE)]
        self.times = [tuple(entry) for entry in time_index.TimeIndex.decode(times, BASE)]
        self.counters = dict(zip(INDEX_COUNTERS, counters, strict=True))


# I1: after more than index.interval.bytes, each index gets one entry; the two need not name the same offset
def test_an_entry_follows_more_than_the_interval(kernels: SimpleNamespace) -> None:
    table = table_of([(100, 1, 50), (150, 1, 90), (1, 1, 70), (100, 1, 60), (151, 1, 95), (100, 1, 95)])
    run = Run(kernels, table, start())
    assert run.offsets == [(BASE + 7, 251), (BASE + 11, 502)]
    assert run.times == [(90, BASE + 3), (95, BASE + 9)]
    assert run.counters == {
        "base_offset": BASE,
        "bytes_since_last_entry": 100,
        "max_timestamp": 95,
        "max_timestamp_offset": BASE + 9,
        "last_entry_offset": BASE + 11,
        "last_entry_timestamp": 95,
    }


def test_a_timestamp_that_is_not_larger_gets_no_entry(kernels: SimpleNamespace) -> None:
    run = Run(kernels, table_of([(300, 0, 5), (300, 0, 5), (300, 0, -1)]), start(max_timestamp=5, last_timestamp=5))
    assert (len(run.offsets), run.times) == (2, [])
    without = Run(kernels, table_of([(300, 0, -1)] * 3), start())
    assert (len(without.offsets), without.times) == (2, [])


def test_what_has_no_room_gets_no_entry(kernels: SimpleNamespace) -> None:
    table = table_of([(300, 0, timestamp) for timestamp in range(6)])
    run = Run(kernels, table, start(), room=2)
    assert (len(run.offsets), len(run.times)) == (2, 2)
    assert run.counters["max_timestamp"] == 5
    assert run.counters["last_entry_timestamp"] == 2
    full = Run(kernels, table, start(), room=-1)
    assert (full.offsets, full.times) == ([], [])


def test_offsets_that_go_back_or_do_not_fit_get_no_entry(kernels: SimpleNamespace) -> None:
    table = table_of([(300, 0, 1)] * 5)
    table["base_offset"] = [BASE, BASE + 7, BASE + 5, BASE + 1 + MAX_INT32, BASE + MAX_INT32]
    assert Run(kernels, table, start()).offsets == [(BASE + 7, 300), (BASE + MAX_INT32, 1200)]
    assert Run(kernels, table[:3], start(since=300), position=MAX_INT32 - 299).offsets == [(BASE, MAX_INT32 - 299)]


def test_nothing_in_nothing_out(kernels: SimpleNamespace) -> None:
    counters = start(since=7)
    run = Run(kernels, table_of([]), counters)
    assert (run.offsets, run.times, counters) == ([], [], start(since=7))


def test_counters_of_another_size_are_refused(kernels: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="counters of 40 bytes, expected 48"):
        kernels.index_batches(table_of([]), 0, 0, array("q", [0] * 5), 0, 0)


ROWS = st.lists(st.tuples(st.integers(14, 300), st.integers(0, 5), st.integers(-2, 20)), max_size=30)


@given(ROWS, st.integers(0, 700), st.integers(0, 700), st.integers(-1, 20), st.integers(0, 40), st.integers(0, 30))
def test_both_agree_and_the_number_of_calls_does_not_matter(
    rows: Rows, interval: int, since: int, max_timestamp: int, room: int, cut: int
) -> None:
    table = table_of(rows)
    runs = []
    for name in implementations.PACKAGES:
        kernels = implementations.load(name)
        runs.append(vars(Run(kernels, table, start(since, max_timestamp), interval=interval, room=room)))
    assert runs[0] == runs[1]
    if room > len(rows):
        counters = start(since, max_timestamp)
        first = Run(kernels, table[:cut], counters, interval=interval)
        position = int(table["size"][:cut].sum())
        second = Run(kernels, table[cut:], counters, interval=interval, position=position)
        assert first.offsets + second.offsets == runs[0]["offsets"]
        assert first.times + second.times == runs[0]["times"]
        assert second.counters == runs[0]["counters"]


@pytest.mark.parametrize(("offset", "delta"), [(2**63 - 1, 5), (-(2**63), -5), (-(2**63), 0), (2**63 - 1, 0)])
def test_offsets_wrap_around_as_in_java(kernels: SimpleNamespace, offset: int, delta: int) -> None:
    """Such offsets do not belong to this index, and are not an error."""
    table = table_of([(300, 0, 5), (300, 0, 6), (300, 0, 7)])
    table["base_offset"][1], table["last_offset_delta"][1] = offset, delta
    run = Run(kernels, table, start(), interval=0)
    assert run.offsets == [(BASE + 2, 600)]
    assert run.times == [(7, BASE + 2)]
