"""Many batches of one producer at once: checking the first and keeping the last five has the same outcome as checking
each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import AppendRejected
from octavo.kernels.layout import BATCH, CONTROL, TRANSACTIONAL
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers import check as producer_check
from octavo.storage.producers.state import ProducerStateManager
from octavo.storage.producers.table import ProducerTable

Table = np.ndarray[tuple[int], np.dtype[np.void]]


def a_set(counts: list[int], first_offset: int, first_sequence: int, epoch: int = 0) -> Table:
    table = np.zeros(len(counts), BATCH)
    ends = np.cumsum(counts)
    table["count"], table["last_offset_delta"] = counts, np.array(counts) - 1
    table["base_offset"] = first_offset + ends - counts
    table["base_sequence"] = (first_sequence + ends - counts) % 2**31
    table["producer_id"], table["producer_epoch"] = 7, epoch
    table["max_timestamp"] = 1000 + np.arange(len(counts))
    return table


def outcome(table: Table, before: list[Table], *, runs: bool) -> object:
    manager = ProducerStateManager(expiration_ms=10**12)
    with pytest.MonkeyPatch.context() as patch:
        if not runs:
            patch.setattr(producer_check, "is_one_run", lambda _: False)
        for appended in before:
            manager.apply(manager.check(b"", appended, AppendOrigin.CLIENT))
        try:
            change = manager.check(b"", table, AppendOrigin.CLIENT)
        except AppendRejected as error:
            return str(error)
        manager.apply(change)
    return change.duplicate, manager.table.get(7), manager.transactions.ongoing


@given(
    st.lists(st.integers(1, 5), min_size=7, max_size=20),
    st.sampled_from([0, 5, 2**31 - 20]),
    st.sampled_from([0, 1, -1]),
    st.sampled_from([0, TRANSACTIONAL]),
    st.sampled_from([0, 1]),
    st.sampled_from([None, "sequence", "producer_id", "producer_epoch", "attributes"]),
)
def test_a_run_is_checked_as_its_batches_one_by_one(
    counts: list[int], first_sequence: int, step: int, attributes: int, epoch: int, broken: str | None
) -> None:
    before = a_set([3, 4], 0, (first_sequence - 7) % 2**31)
    table = a_set(counts, 7, (first_sequence + step) % 2**31, epoch)
    table["attributes"] = attributes
    if broken == "sequence":
        table["base_sequence"][4] += 1
    elif broken == "attributes":
        table["attributes"][4] ^= TRANSACTIONAL
    elif broken is not None:
        table[broken][4] += 1
    one_by_one = outcome(table.copy(), [before], runs=False)
    assert outcome(table.copy(), [before], runs=True) == one_by_one
    assert producer_check.is_one_run(table) == (broken is None)


def with_changes(before: Table, table: Table, attributes: int, changes: dict[str, int]) -> None:
    before["attributes"] = table["attributes"] = attributes
    for name, by in changes.items():
        table[name][len(table) // 2] += by


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=8),
    st.lists(st.integers(1, 3), min_size=1, max_size=8),
    st.sampled_from([0, 5, 2**31 - 10]),
    st.sampled_from([0, 0, 0, 1, -1, -3, -6]),
    st.sampled_from([0, TRANSACTIONAL]),
    st.dictionaries(st.sampled_from(["base_sequence", "producer_id", "producer_epoch"]), st.sampled_from([-1, 1])),
)
def test_the_shortcut_for_a_producer_that_goes_on_agrees_with_the_rules(
    counts: list[int], more: list[int], first_sequence: int, step: int, attributes: int, changes: dict[str, int]
) -> None:
    before = a_set(counts, 0, first_sequence)
    table = a_set(more, sum(counts), (first_sequence + sum(counts) + step) % 2**31)
    with_changes(before, table, attributes, changes)
    found = outcome(table.copy(), [before], runs=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProducerTable, "continues", lambda *_: False)
        assert outcome(table.copy(), [before], runs=False) == found


def test_what_continues_is_not_looked_at_by_the_rules() -> None:
    manager = ProducerStateManager(expiration_ms=10**12)
    for first, counts in ((0, [2, 3]), (5, [1]), (6, [4] * 9)):
        change = manager.check(b"", a_set(counts, first, first), AppendOrigin.CLIENT)
        assert (change.continued is not None) == (first > 0)
        manager.apply(change)
    entry = manager.table.get(7)
    assert entry is not None and [batch.last_sequence for batch in entry.batches] == [25, 29, 33, 37, 41]


def test_control_batches_make_no_run() -> None:
    table = a_set([1] * 8, 0, 0)
    table["attributes"] = TRANSACTIONAL | CONTROL
    assert not producer_check.is_one_run(table)
