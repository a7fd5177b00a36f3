"""Every rule that decides whether a producer's batch may be appended, for each origin."""

from __future__ import annotations

import pytest

from octavo.errors import (
    AppendRejected,
    InvalidBatchError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
    UnforeseenBatchError,
)
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.walker import walk
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.state import ProducerStateManager
from tests.storage.producer_batches import ABORT, COMMIT, MAX_SEQUENCE, PRODUCER, append, data, emptied, marker

CLIENT, COORDINATOR, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION
MAX_EPOCH = 2**15 - 1


def manager_after(*batches: bytes) -> ProducerStateManager:
    """The state that a log with these batches has."""
    manager = ProducerStateManager()
    found = walk(b"".join(batches))
    manager.replay(found.data, found.table)
    return manager


KNOWN = [data(0, 0, epoch=5, count=10)]  # epoch 5, sequences 0 to 9
ONGOING = [data(0, 0, epoch=5, count=10, transactional=True)]
ENDED = [*ONGOING, marker(10, epoch=5, coordinator_epoch=3)]
BUMPED = [*ONGOING, marker(10, epoch=6, coordinator_epoch=3)]  # as transaction version 2 ends it
LAST = [data(0, MAX_SEQUENCE, epoch=5)]
CLEARED = [data(0, 0, epoch=5), marker(1, epoch=6)]  # epoch 6 without a batch

EPOCH, SEQUENCE, STATE = InvalidProducerEpochError, OutOfOrderSequenceError, InvalidTxnStateError
FENCED = TransactionCoordinatorFencedError

# What the log has, where the batch comes from, the batch, and the refusal if it is refused.
DATA_RULES: dict[str, tuple[list[bytes], AppendOrigin, bytes, type[AppendRejected] | None]] = {
    "an older epoch": (KNOWN, CLIENT, data(20, 10, epoch=4), EPOCH),
    "an older epoch, coordinator": (KNOWN, COORDINATOR, data(20, 10, epoch=4), EPOCH),
    "an older epoch, replicated": (KNOWN, REPLICATION, data(20, 10, epoch=4), None),
    "an older epoch, transactional": (ENDED, CLIENT, data(20, 10, epoch=4, transactional=True), EPOCH),
    "an older epoch, transactional, coordinator": (
        ENDED,
        COORDINATOR,
        data(20, 9, epoch=4, transactional=True),
        EPOCH,
    ),
    "the epoch before the marker's": (BUMPED, CLIENT, data(20, 10, epoch=5, transactional=True), EPOCH),
    "the next sequence": (KNOWN, CLIENT, data(20, 10, epoch=5), None),
    "a gap": (KNOWN, CLIENT, data(20, 11, epoch=5), SEQUENCE),
    "a sequence again, but no cached batch": (KNOWN, CLIENT, data(20, 9, epoch=5), SEQUENCE),
    "sequence 0 of the same epoch": (KNOWN, CLIENT, data(20, 0, epoch=5), SEQUENCE),
    "a gap, coordinator": (KNOWN, COORDINATOR, data(20, 11, epoch=5), None),
    "a gap, replicated": (KNOWN, REPLICATION, data(20, 11, epoch=5), None),
    "a new epoch": (KNOWN, CLIENT, data(20, 0, epoch=6), None),
    "a new epoch, not from 0": (KNOWN, CLIENT, data(20, 10, epoch=6), SEQUENCE),
    "a new epoch, not from 0, coordinator": (KNOWN, COORDINATOR, data(20, 10, epoch=6), None),
    "an unknown producer": ([], CLIENT, data(20, 0), None),
    "an unknown producer in the middle": ([], CLIENT, data(20, 1234, epoch=9), None),
    "an unknown producer, transactional": ([], CLIENT, data(20, 1234, epoch=9, transactional=True), None),
    "from the last sequence to 0": (LAST, CLIENT, data(20, 0, epoch=5), None),
    "from the last sequence to 1": (LAST, CLIENT, data(20, 1, epoch=5), SEQUENCE),
    "no batch cached, sequence 0": (CLEARED, CLIENT, data(20, 0, epoch=6), None),
    "no batch cached, sequence 1": (CLEARED, CLIENT, data(20, 1, epoch=6), SEQUENCE),
    "after a marker of the next epoch": (BUMPED, CLIENT, data(20, 0, epoch=6, transactional=True), None),
    "after a marker of the next epoch, not from 0": (
        BUMPED,
        CLIENT,
        data(20, 10, epoch=6, transactional=True),
        SEQUENCE,
    ),
    "after a marker of the same epoch": (ENDED, CLIENT, data(20, 10, epoch=5, transactional=True), None),
    "plain inside a transaction": (ONGOING, CLIENT, data(20, 10, epoch=5), STATE),
    "plain inside a transaction, coordinator": (ONGOING, COORDINATOR, data(20, 10, epoch=5), STATE),
    "plain inside a transaction, replicated": (ONGOING, REPLICATION, data(20, 10, epoch=5), STATE),
    "transactional inside a transaction": (ONGOING, CLIENT, data(20, 10, epoch=5, transactional=True), None),
    "plain after a transaction": (ENDED, CLIENT, data(20, 10, epoch=5), None),
}


@pytest.mark.parametrize("rule", DATA_RULES)
def test_a_data_batch_is_refused_if_it_breaks_a_rule(rule: str) -> None:
    before, origin, batch, refusal = DATA_RULES[rule]
    manager = manager_after(*before)
    if refusal is None:
        append(manager, batch, origin=origin)
        return
    entries = list(manager.table)
    with pytest.raises(refusal):
        append(manager, batch, origin=origin)
    assert list(manager.table) == entries, "a refused batch changes nothing"


# What the log has; a marker's transaction version, epoch and coordinator epoch; its refusal if a coordinator sends it.
MARKER_RULES: dict[str, tuple[list[bytes], int, int, int, type[AppendRejected] | None]] = {
    "TV 0: the transaction's epoch": (ONGOING, 0, 5, 0, None),
    "TV 0: a later epoch": (ONGOING, 0, 6, 0, None),
    "TV 0: an older epoch": (ONGOING, 0, 4, 0, EPOCH),
    "TV 0: a marker again": (ENDED, 0, 5, 3, None),
    "TV 1: the transaction's epoch": (ONGOING, 1, 5, 0, None),
    "TV 1: an older epoch": (ONGOING, 1, 4, 0, EPOCH),
    "TV 2: the next epoch": (ONGOING, 2, 6, 0, None),
    "TV 2: a later epoch": (ONGOING, 2, 9, 0, None),
    "TV 2: the transaction's epoch": (ONGOING, 2, 5, 0, EPOCH),
    "TV 2: an older epoch": (ONGOING, 2, 4, 0, EPOCH),
    "TV 2: a marker again": (BUMPED, 2, 6, 3, None),
    "TV 2: a marker of an earlier epoch": (BUMPED, 2, 5, 3, EPOCH),
    "TV 2: the largest epoch": ([data(0, 0, epoch=MAX_EPOCH, transactional=True)], 2, MAX_EPOCH, 0, None),
    "an unknown producer": ([], 2, 0, 0, None),
    "the same coordinator epoch": (ENDED, 0, 5, 3, None),
    "a later coordinator epoch": (ENDED, 0, 5, 4, None),
    "an older coordinator epoch": (ENDED, 0, 5, 2, FENCED),
    "an older coordinator epoch, TV 2": (BUMPED, 2, 7, 2, FENCED),
    "an older epoch and coordinator epoch": (ENDED, 0, 4, 2, EPOCH),
}


@pytest.mark.parametrize("rule", MARKER_RULES)
def test_a_marker_is_refused_if_it_breaks_a_rule(rule: str) -> None:
    before, version, epoch, coordinator_epoch, refusal = MARKER_RULES[rule]
    batch = marker(20, epoch=epoch, coordinator_epoch=coordinator_epoch)
    replicated = manager_after(*before)
    append(replicated, batch, origin=REPLICATION)
    found = replicated.table.get(PRODUCER)
    assert found is not None
    assert (found.epoch, found.coordinator_epoch, found.last_timestamp) == (epoch, coordinator_epoch, 1020)
    manager = manager_after(*before)
    if refusal is not None:
        with pytest.raises(refusal):
            append(manager, batch, origin=COORDINATOR, transaction_version=version)
        return
    append(manager, batch, origin=COORDINATOR, transaction_version=version)
    assert list(manager.table) == list(replicated.table)
    assert found.current_txn_first_offset is None and not manager.transactions.ongoing


def test_a_marker_needs_its_transaction_version() -> None:
    with pytest.raises(UnforeseenBatchError, match="transaction version"):
        append(manager_after(*ONGOING), marker(20, epoch=5), origin=COORDINATOR)


def test_an_emptied_marker_ends_nothing() -> None:
    manager = manager_after(*ONGOING)
    checked, _ = append(manager, emptied(marker(20, epoch=5)), origin=COORDINATOR)
    assert not checked.completed and manager.transactions.ongoing == {0: PRODUCER}


def test_a_control_record_that_is_not_a_marker_is_damage() -> None:
    origin = Origin(producer_id=PRODUCER, producer_epoch=0, is_transactional=True, is_control=True)
    odd = build_batch([Record(20, 0, b"\0\0\0\2", b"")], origin=origin)
    with pytest.raises(InvalidBatchError, match="type 2 in a producer's batch"):
        append(ProducerStateManager(), odd, origin=COORDINATOR, transaction_version=2)


def test_a_refusal_says_what_was_found_and_expected() -> None:
    with pytest.raises(SEQUENCE, match="producer 7, offset 20: sequence 11 of epoch 5, expected 10"):
        append(manager_after(*KNOWN), data(20, 11, epoch=5))
    with pytest.raises(EPOCH, match="producer 7, offset 20: epoch 4, expected 5 or more"):
        append(manager_after(*KNOWN), data(20, 10, epoch=4))
    with pytest.raises(EPOCH, match="producer 7, offset 20: epoch 5, expected 6 or more"):
        append(manager_after(*ONGOING), marker(20, ABORT, epoch=5), origin=COORDINATOR, transaction_version=2)
    with pytest.raises(FENCED, match="offset 20: a marker of coordinator epoch 2, expected 3 or more"):
        append(
            manager_after(*ENDED),
            marker(20, COMMIT, epoch=5, coordinator_epoch=2),
            origin=COORDINATOR,
            transaction_version=0,
        )
    with pytest.raises(STATE, match="offset 20: a batch outside any transaction, but one has been open since offset 0"):
        append(manager_after(*ONGOING), data(20, 10, epoch=5))
