"""Transactions in a cleaning run: aborted data is removed at once, markers when nothing of their transaction is
left."""

from __future__ import annotations

import pickle

from octavo.format.batches.control import ControlType
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.cleaner.transactions import CleanedTransactions, collect_aborted

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT
ABORTED = AbortedTxn(producer_id=7, first_offset=10, last_offset=20, last_stable_offset=21)


def test_data_of_an_aborted_transaction_is_removed_and_its_marker_stays() -> None:
    state = CleanedTransactions()
    state.add_aborted([ABORTED])
    assert not state.on_batch(7, 9)  # part of an earlier transaction
    assert state.on_batch(7, 12)
    assert not state.on_batch(8, 13)
    assert not state.on_control(7, 20, ABORT)
    assert state.retained == [ABORTED]
    assert not state.on_batch(7, 25)


def test_a_marker_is_removed_when_nothing_of_its_transaction_was_seen() -> None:
    state = CleanedTransactions()
    state.add_aborted([ABORTED])
    assert state.on_control(7, 20, ABORT) and state.retained == []
    assert state.on_control(7, 30, COMMIT)
    assert state.on_control(7, 40, None)


def test_a_commit_stays_while_data_is_there() -> None:
    state = CleanedTransactions()
    assert not state.on_batch(7, 12)
    assert not state.on_control(7, 20, COMMIT)
    assert state.on_control(7, 21, COMMIT)


def test_other_control_records_are_never_removed() -> None:
    assert not CleanedTransactions().on_control(-1, 5, ControlType.LEADER_CHANGE)


def test_a_transaction_that_is_named_twice_counts_once() -> None:
    state = CleanedTransactions()
    state.add_aborted([ABORTED])
    assert state.on_batch(7, 12)
    state.add_aborted([ABORTED])
    assert state.on_batch(7, 15)
    assert not state.on_control(7, 20, ABORT)
    assert state.retained == [ABORTED]


def test_a_pickled_state_goes_on() -> None:
    state = CleanedTransactions()
    state.add_aborted([ABORTED])
    state.on_batch(7, 12)
    assert not pickle.loads(pickle.dumps(state)).on_control(7, 20, ABORT)


def test_transactions_are_collected_from_a_segment_on() -> None:
    other = AbortedTxn(8, 150, 160, 161)
    indexes = {0: [ABORTED], 100: [other]}
    assert collect_aborted(indexes, 0, 0, 1000) == [ABORTED, other]
    assert collect_aborted(indexes, 100, 0, 1000) == [other]
    assert collect_aborted(indexes, 0, 0, 21) == [ABORTED]
    assert collect_aborted(indexes, 0, 30, 1000) == [other]
