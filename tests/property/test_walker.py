"""The walker sees the same batches and the same end, however the bytes arrive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.format.batches.chunk_walk import walk_chunks
from octavo.format.batches.walker import walk
from octavo.kernels.layout import ENTRY_PREFIX, Stop
from tests.golden import strings
from tests.kernels.hand_made import batch
from tests.property.strategies import ENTRIES

LOG = b"".join(strings.EVERYTHING.values())
TORN = strings.BATCHES["transactional"]
SHORT = batch(b"", 3, size=14)[:26]  # shorter than a header, which goes on in what follows
TAILS = {
    "none": (b"", Stop.END),
    "one byte": (b"\0", Stop.INCOMPLETE_HEADER),
    "torn in its header": (TORN[:17], Stop.INCOMPLETE_HEADER),
    "torn after its magic": (TORN[:18], Stop.INCOMPLETE_BATCH),
    "torn in its records": (TORN[:-1], Stop.INCOMPLETE_BATCH),
    "few zeros": (b"\0" * 17, Stop.INCOMPLETE_HEADER),
    "zeros": (b"\0" * 18, Stop.SIZE_TOO_SMALL),
    "many zeros": (b"\0" * 1000, Stop.SIZE_TOO_SMALL),
    "garbage": (b"\xff" * 100, Stop.SIZE_TOO_SMALL),
    "text": (b"not a log at all, but a text that someone appended" * 3, Stop.INCOMPLETE_BATCH),
    "size 13": (ENTRY_PREFIX.pack(1, 13) + b"\2" * 50, Stop.SIZE_TOO_SMALL),
    "largest size": (ENTRY_PREFIX.pack(1, 2**31 - 1) + b"\2" * 50, Stop.INCOMPLETE_BATCH),
    "too short batches": (SHORT * 3, Stop.END),
    "too short batches, then zeros": (SHORT * 2 + b"\0" * 30, Stop.SIZE_TOO_SMALL),
}


class Source:
    """A file that returns at most `at_once` bytes at a time."""

    def __init__(self, data: bytes, at_once: int) -> None:
        self.data, self.position, self.at_once = data, 0, at_once

    def __call__(self, buffer: memoryview, /) -> int:
        found = self.data[self.position : self.position + min(len(buffer), self.at_once)]
        buffer[: len(found)] = found
        self.position += len(found)
        return len(found)


def in_one(data: bytes) -> tuple[list[Any], int, Stop]:
    found = walk(data)
    return found.table.tolist(), found.next_position, found.stop


def in_chunks(data: bytes, chunk_bytes: int, at_once: int) -> tuple[list[Any], int, Stop | None]:
    """The result must be the same whether or not the walk knows the total size."""
    found = collected(data, chunk_bytes, at_once, None)
    assert collected(data, chunk_bytes, at_once, len(data)) == found
    return found


def collected(
    data: bytes, chunk_bytes: int, at_once: int, total_bytes: int | None
) -> tuple[list[Any], int, Stop | None]:
    rows: list[Any] = []
    chunks = []
    for chunk in walk_chunks(Source(data, at_once), chunk_bytes=chunk_bytes, total_bytes=total_bytes):
        assert chunk.stop_position == chunk.file_position + int(chunk.table["size"].sum())
        moved = chunk.table.copy()
        moved["position"] += chunk.file_position
        rows += moved.tolist()
        for row in chunk.table:
            start, end = int(row["position"]), int(row["position"] + row["size"])
            assert chunk.data[start:end] == data[chunk.file_position + start : chunk.file_position + end]
        chunks.append((chunk.stop, len(chunk.table)))
    assert all(stop is None and count for stop, count in chunks[:-1]), "only the last has a stop or may be empty"
    return rows, chunk.stop_position, chunk.stop


@pytest.mark.parametrize("name", TAILS)
def test_the_tail_is_named(name: str) -> None:
    tail, stop = TAILS[name]
    rows, position, found = in_one(LOG + tail)
    whole = in_one(LOG)[0]
    assert found is stop
    if stop is not Stop.END and not name.startswith("too short"):
        assert (rows, position) == (whole, len(LOG))


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_chunks_of_every_size_give_the_same_batches(name: str, at_once: int) -> None:
    data = strings.BATCHES["transactional"] + strings.MESSAGES["v1"] + SHORT + strings.WRAPPERS["v0_lz4"]
    data += SHORT + strings.BATCHES["empty"] + TAILS[name][0]
    expected = in_one(data)
    for chunk_bytes in [1, *range(61, 200), 255, 256, 257, len(data) - 1, len(data), len(data) + 1, 4096]:
        assert in_chunks(data, chunk_bytes, at_once) == expected


@given(
    st.lists(ENTRIES, max_size=8).map(b"".join),
    st.sampled_from([tail for tail, _ in TAILS.values()]) | st.binary(max_size=80),
    st.integers(1, 3000),
    st.integers(1, 500),
)
@settings(max_examples=150)
def test_chunks_of_any_log_give_the_same_batches(log: bytes, tail: bytes, chunk_bytes: int, at_once: int) -> None:
    assert in_chunks(log + tail, chunk_bytes, at_once) == in_one(log + tail)


@given(st.lists(ENTRIES, min_size=1, max_size=4).map(b"".join), st.data())
def test_a_cut_leaves_the_whole_batches_before_it(log: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    rows, position, stop = in_one(log[:cut])
    whole = in_one(log)[0]
    assert rows == whole[: len(rows)]
    assert position == sum(row[5] for row in rows) <= cut
    assert len(rows) == len(whole) or position + whole[len(rows)][5] > cut
    left = cut - position
    assert stop is (Stop.END if not left else Stop.INCOMPLETE_HEADER if left <= 17 else Stop.INCOMPLETE_BATCH)


def test_more_batches_than_the_table_has_rows_become_several_chunks() -> None:
    """Each filling of the table is a chunk."""
    log = strings.BATCHES["empty"] * 3000
    assert in_chunks(log, len(log), len(log)) == in_one(log)
    assert len(in_one(log)[0]) == 3000


def test_a_batch_larger_than_the_chunk_is_found() -> None:
    large = batch(b"x" * 100_000, 0)
    log = strings.BATCHES["empty"] + large + strings.BATCHES["empty"]
    assert in_chunks(log, 100, 1000) == in_one(log)


@pytest.mark.parametrize("size", [1 << 24, 2**31 - 1])
def test_a_damaged_length_does_not_fill_the_memory(size: int) -> None:
    """If the walk knows the size, it sees at once that the batch cannot be whole."""
    log = strings.BATCHES["empty"] + ENTRY_PREFIX.pack(1, size) + bytes(1 << 23)
    source = Source(log, 1000)
    chunks = [
        (len(chunk.table), chunk.stop, chunk.stop_position)
        for chunk in walk_chunks(source, chunk_bytes=10_000, total_bytes=len(log))
    ]
    assert chunks == [(1, Stop.INCOMPLETE_BATCH, 61)]
    assert source.position == 10_000


def test_a_file_that_shrinks_meanwhile_ends_the_walk() -> None:
    """A live broker may truncate what existed when the size was taken."""
    whole, torn = strings.BATCHES["empty"], strings.BATCHES["transactional"]
    found = collected(whole + torn[:50], 100, 1000, len(whole + torn))
    assert found == in_one(whole + torn[:50])


def test_a_range_of_the_data_is_walked_alone() -> None:
    log = b"---" + LOG + b"---"
    found = walk(log, 3, 3 + len(LOG))
    assert (found.next_position, found.stop) == (3 + len(LOG), Stop.END)
    assert found.table["position"][0] == 3
