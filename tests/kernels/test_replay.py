"""Replaying batches onto the arrays of producers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.kernels.layout import BATCH, CONTROL, TRANSACTIONAL
from octavo.kernels.producers import CACHED_BATCHES, MARKER, NONE, PRODUCER, ProducerArrays, Replayed
from tests.kernels import implementations

ABORT, COMMIT = 0, 1
MAX_INT32 = 2**31 - 1


def batches(*rows: dict[str, int]) -> NDArray[np.void]:
    """One-record batches of producer 7 at offsets 0, 1, …, except for what a row says."""
    table = np.zeros(len(rows), BATCH)
    for offset, (place, row) in enumerate(zip(table, rows, strict=True)):
        for name, value in {"base_offset": offset, "producer_id": 7, "magic": 2, "count": 1, **row}.items():
            place[name] = value
    return table


def markers_of(table: NDArray[np.void], *markers: tuple[int, int]) -> NDArray[np.void]:
    """The markers in the table's control batches: type and coordinator epoch; the timestamps are 1000, 1001, …"""
    control = table[(table["attributes"] & CONTROL != 0) & (table["producer_id"] >= 0)]
    found = np.zeros(len(control), MARKER)
    found["producer_id"], found["offset"] = control["producer_id"], control["base_offset"]
    found["timestamp"] = 1000 + np.arange(len(control))
    for place, (kind, coordinator_epoch) in zip(found, markers, strict=True):
        place["type"], place["coordinator_epoch"] = kind, coordinator_epoch
    return found


def replay(
    kernels: SimpleNamespace, producers: ProducerArrays, table: NDArray[np.void], *markers: tuple[int, int]
) -> Any:
    """Replay everything, growing the arrays when they are full; returns (code, row), and the ended transactions."""
    ends = markers_of(table, *markers)
    code, row, marker = kernels.replay(table, ends, producers)
    while code == Replayed.FULL:
        producers.grow()
        code, row, marker = kernels.replay(table, ends, producers, row, marker)
    ended = [(int(end["first_offset"]), int(end["last_stable_offset"])) for end in ends]
    return (code, row), [transaction for transaction in ended if transaction[0] != NONE]


def entry(producers: ProducerArrays, producer_id: int) -> dict[str, Any]:
    row = producers.entries[producers.find(producer_id)]
    found = {name: row[name].item() for name in PRODUCER.names or () if name != "batches"}
    end = found.pop("next_batch")
    return found | {"batches": [row["batches"][slot].item() for slot in range(end - found["batch_count"], end)]}


def test_a_producer_is_known_with_its_last_batches(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    rows = [{"base_sequence": n, "max_timestamp": 50 + n, "producer_epoch": 3} for n in range(7)]
    assert replay(kernels, producers, batches(*rows)) == ((Replayed.DONE, 7), [])
    assert entry(producers, 7) == {
        "producer_id": 7,
        "last_timestamp": 56,
        "current_txn_first_offset": NONE,
        "coordinator_epoch": NONE,
        "epoch": 3,
        "batch_count": CACHED_BATCHES,
        "batches": [(n, 50 + n, n, 0) for n in range(2, 7)],
    }


@pytest.mark.parametrize("first_sequence", [0, MAX_INT32 - 4])
def test_a_producer_continues_with_the_next_sequences(kernels: SimpleNamespace, first_sequence: int) -> None:
    def row(number: int, **fields: int) -> dict[str, int]:
        return {"base_sequence": (first_sequence + number) & MAX_INT32, "producer_epoch": 3, **fields}

    producers = ProducerArrays()
    assert not kernels.continues(batches(row(0)), producers)
    replay(kernels, producers, batches(*map(row, range(3))))
    assert kernels.continues(batches(row(3), row(4, last_offset_delta=1), row(6)), producers)
    for rows in (
        [],
        [row(2)],
        [row(4)],
        [row(3), row(3)],
        [row(3), row(5)],
        [row(3, last_offset_delta=-1)],
        [row(3, producer_epoch=4)],
        [row(3, producer_epoch=2)],
        [row(3, producer_id=8)],
        [row(3, producer_id=-1)],
        [row(3), row(4, producer_id=8)],
        [row(3, attributes=TRANSACTIONAL)],
        [row(3, attributes=CONTROL)],
    ):
        assert not kernels.continues(batches(*rows), producers), rows


def test_a_producer_continues_with_its_transaction(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    replay(kernels, producers, batches({"attributes": TRANSACTIONAL}))
    assert kernels.continues(batches({"attributes": TRANSACTIONAL, "base_sequence": 1}), producers)
    assert not kernels.continues(batches({"base_sequence": 1}), producers)
    assert not kernels.continues(batches({"attributes": TRANSACTIONAL | CONTROL, "base_sequence": 1}), producers)


def test_a_batch_that_comes_around_to_the_sequences_of_a_known_one_does_not_continue(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    whole = {"last_offset_delta": MAX_INT32}  # all sequences that there are
    replay(kernels, producers, batches(whole))
    assert not kernels.continues(batches(whole), producers)
    assert kernels.continues(batches({}), producers)


def test_batches_without_a_producer_are_skipped(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    rows = [{"producer_id": -1}, {"producer_id": -1, "attributes": CONTROL}, {"producer_id": -5, "attributes": 0x30}]
    assert replay(kernels, producers, batches(*rows)) == ((Replayed.DONE, 3), [])
    assert producers.count == 0


@pytest.mark.parametrize(
    ("base_sequence", "delta", "last"),
    [
        (0, 0, 0),
        (5, 3, 8),
        (MAX_INT32, 0, MAX_INT32),
        (MAX_INT32, 1, 0),
        (MAX_INT32 - 1, 4, 2),
        (-1, 3, -1),
        (-7, 2, -5),
    ],
)
def test_the_last_sequence_wraps(kernels: SimpleNamespace, base_sequence: int, delta: int, last: int) -> None:
    producers = ProducerArrays()
    replay(kernels, producers, batches({"base_sequence": base_sequence, "last_offset_delta": delta, "base_offset": 40}))
    assert entry(producers, 7)["batches"] == [(40 + delta, 0, last, delta)]


def test_another_epoch_forgets_the_batches(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    replay(kernels, producers, batches(*[{"producer_epoch": epoch} for epoch in (1, 1, 2, 1)]))
    assert entry(producers, 7)["batches"] == [(3, 0, 0, 0)] and entry(producers, 7)["epoch"] == 1


def test_transactions_begin_and_end(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    data, control = {"attributes": TRANSACTIONAL}, {"attributes": TRANSACTIONAL | CONTROL}
    eight = {"producer_id": 8}
    table = batches(data, data | eight, data, control | eight, control, control, data | eight)
    code, ended = replay(kernels, producers, table, (ABORT, 4), (COMMIT, 5), (ABORT, 6))
    assert code == (Replayed.DONE, 7)
    # At 3, producer 8's transaction ended, while producer 7's had been open since 0; at 4, producer 7's ended, and none
    # was open; at 5, nothing ended.
    assert ended == [(1, 0), (0, 5)]
    assert entry(producers, 7)["current_txn_first_offset"] == NONE
    assert (entry(producers, 7)["coordinator_epoch"], entry(producers, 7)["last_timestamp"]) == (6, 1002)
    assert entry(producers, 7)["batches"] == [(0, 0, 0, 0), (2, 0, 0, 0)]
    assert entry(producers, 8)["current_txn_first_offset"] == 6
    assert producers.ongoing[: producers.ongoing_count].tolist() == [(6, 8)]


def test_a_marker_of_the_next_epoch_forgets_the_batches(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    control = {"attributes": TRANSACTIONAL | CONTROL, "producer_epoch": 1}
    replay(kernels, producers, batches({"attributes": TRANSACTIONAL}, control), (COMMIT, 0))
    assert entry(producers, 7)["batches"] == [] and entry(producers, 7)["epoch"] == 1


def test_an_emptied_marker_changes_nothing_but_names_its_producer(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    control = {"attributes": TRANSACTIONAL | CONTROL, "producer_epoch": 4}
    table = batches({"attributes": TRANSACTIONAL}, control, control | {"producer_id": 9})
    assert replay(kernels, producers, table, (NONE, 0), (NONE, 0)) == ((Replayed.DONE, 3), [])
    assert entry(producers, 7)["current_txn_first_offset"] == 0 and entry(producers, 7)["epoch"] == 0
    assert entry(producers, 9)["epoch"] == NONE and entry(producers, 9)["batches"] == []


def test_a_plain_batch_inside_a_transaction_ends_the_replay(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    table = batches({"attributes": TRANSACTIONAL}, {"producer_id": 8}, {"max_timestamp": 99, "producer_epoch": 5}, {})
    assert replay(kernels, producers, table) == ((Replayed.NOT_TRANSACTIONAL, 2), [])
    assert entry(producers, 7)["epoch"] == 0 and entry(producers, 7)["last_timestamp"] == 0
    assert len(entry(producers, 7)["batches"]) == 1


def test_transactions_are_kept_in_the_order_of_their_offsets(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    rows = [{"producer_id": n, "base_offset": 100 - n, "attributes": TRANSACTIONAL} for n in range(20)]
    replay(kernels, producers, batches(*rows))
    assert producers.ongoing[:20].tolist() == [(100 - n, n) for n in reversed(range(20))]


def test_many_producers_are_found_again(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    ids = [*range(300), *(2**63 - 1 - n for n in range(300)), *(n << 32 for n in range(1, 300))]
    for _ in range(2):
        code, _ = replay(kernels, producers, batches(*[{"producer_id": one} for one in ids]))
        assert code == (Replayed.DONE, len(ids))
    assert producers.count == len(set(ids)) < len(producers.entries) < len(producers.slots)
    assert [producers.entries[producers.find(one)]["producer_id"] for one in ids] == ids
    assert producers.find(10**6) == NONE


def test_a_marker_may_be_handed_in_when_it_is_needed(kernels: SimpleNamespace) -> None:
    producers = ProducerArrays()
    producers.grow()
    table = batches({"attributes": TRANSACTIONAL}, {"attributes": TRANSACTIONAL | CONTROL}, {})
    assert kernels.replay(table, np.empty(0, MARKER), producers) == (Replayed.MARKER_MISSING, 1, 0)
    markers = markers_of(table, (COMMIT, 0))
    assert kernels.replay(table, markers, producers, 1, 0) == (Replayed.DONE, 3, 1)
    assert markers[0]["first_offset"] == 0 and len(entry(producers, 7)["batches"]) == 2


def test_rows_and_markers_count_from_0(kernels: SimpleNamespace) -> None:
    for row, marker in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="expected 0 or more"):
            kernels.replay(batches({}), np.empty(0, MARKER), ProducerArrays(), row, marker)


def test_a_known_producer_begins_without_its_batches(kernels: SimpleNamespace) -> None:
    known, producers = ProducerArrays(), ProducerArrays()
    data = {"attributes": TRANSACTIONAL, "producer_epoch": 3}
    replay(kernels, known, batches(data | {"max_timestamp": 5}, {"producer_id": 8}))
    before = known.entries[: known.count].tobytes()
    producers.grow()
    table = batches(data | {"base_offset": 20}, {"producer_id": 9})
    assert kernels.replay(table, np.empty(0, MARKER), producers, 0, 0, known)[0] == Replayed.DONE
    assert known.entries[: known.count].tobytes() == before and producers.count == 2
    assert entry(producers, 7) == entry(known, 7) | {"last_timestamp": 0, "batch_count": 1, "batches": [(20, 0, 0, 0)]}


IDS = st.sampled_from([-1, 0, 1, 2, 3, 2**62, 2**63 - 1])
INT32 = st.sampled_from([-(2**31), -2, -1, 0, 1, 2, MAX_INT32 - 1, MAX_INT32])
OFFSETS = st.integers(-1, 30) | st.sampled_from([2**63 - 1, -(2**63)])
ROWS = st.fixed_dictionaries(
    {
        "producer_id": IDS,
        "base_offset": OFFSETS,
        "last_offset_delta": INT32,
        "base_sequence": INT32,
        "producer_epoch": st.sampled_from([-1, 0, 1, 2**15 - 1]),
        "max_timestamp": OFFSETS,
        "attributes": st.sampled_from(
            [0, TRANSACTIONAL, TRANSACTIONAL, TRANSACTIONAL, CONTROL, TRANSACTIONAL | CONTROL]
        ),
    }
)
MARKERS = st.tuples(st.sampled_from([NONE, ABORT, COMMIT]), st.integers(-1, 2))


@settings(max_examples=300)
@given(st.lists(ROWS, max_size=40), st.data())
def test_both_replay_any_batches_alike(rows: list[dict[str, int]], data: st.DataObject) -> None:
    table = batches(*rows)
    control = int(np.count_nonzero((table["attributes"] & CONTROL != 0) & (table["producer_id"] >= 0)))
    markers = data.draw(st.lists(MARKERS, min_size=control, max_size=control))
    found = []
    for name in ("compiled", "reference"):
        producers = ProducerArrays()
        outcome = replay(implementations.load(name), producers, table, *markers)
        ongoing = producers.ongoing[: producers.ongoing_count].tolist()
        found.append((outcome, producers.entries[: producers.count].tobytes(), producers.slots.tolist(), ongoing))
    assert found[0] == found[1]
