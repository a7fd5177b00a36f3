"""A long set of one producer's batches: the rules see its first and remember its last, with the same outcome."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import AppendRejected
from octavo.kernels.layout import BATCH, CONTROL, TRANSACTIONAL
from octavo.storage import producer_check
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producer_state import ProducerStateManager

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
    return change.duplicate, manager.producers.get(7), manager.transactions.ongoing


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


def test_control_batches_make_no_run() -> None:
    table = a_set([1] * 8, 0, 0)
    table["attributes"] = TRANSACTIONAL | CONTROL
    assert not producer_check.is_one_run(table)
