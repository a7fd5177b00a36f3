"""The rules for one transactional id, as Kafka 4.3.1 has them: each row is a state, a request, and what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from octavo.coordinator.transactions import machine
from octavo.coordinator.transactions.machine import Identity, Supplies, TransactionOutcome
from octavo.coordinator.transactions.metadata import VERSION_1, VERSION_2, TransactionMetadata
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode

PID, NEW_PID, NOW = 7, 99, 1000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MOMENT = Supplies(NOW, lambda: NEW_PID)
ME = Identity(PID, 5)
BEFORE = Identity(PID, 4)
AFTER = Identity(PID, 6)
OTHER = Identity(PID + 1, 5)

EMPTY, ONGOING = TransactionStatus.EMPTY, TransactionStatus.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT
FENCED, BUSY, WRONG = ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE
WHO, DONE = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.NONE

KNOWN = TransactionMetadata("x", PID, 5, 60_000, start_ms=500, last_update_ms=500, previous_producer_id=PID)


def state(status: TransactionStatus, **fields: Any) -> TransactionMetadata:
    is_open = status in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
    return replace(KNOWN, status=status, partitions=frozenset([T0] if is_open else []), **fields)


def shown(outcome: TransactionOutcome) -> object:
    """An error, or the next state with its producer id and epoch."""
    return outcome if isinstance(outcome, ErrorCode) else (outcome.status, outcome.producer_id, outcome.epoch)


V1_ENDS = {
    (EMPTY, True): WRONG,
    (EMPTY, False): WRONG,
    (ONGOING, True): (PREPARE_COMMIT, PID, 5),
    (ONGOING, False): (PREPARE_ABORT, PID, 5),
    (PREPARE_COMMIT, True): BUSY,
    (PREPARE_COMMIT, False): WRONG,
    (PREPARE_ABORT, True): WRONG,
    (PREPARE_ABORT, False): BUSY,
    (COMPLETE_COMMIT, True): DONE,
    (COMPLETE_COMMIT, False): WRONG,
    (COMPLETE_ABORT, True): WRONG,
    (COMPLETE_ABORT, False): DONE,
}


@pytest.mark.parametrize(("status", "commit"), V1_ENDS)
def test_an_end_in_v1_leads_where_the_table_says(status: TransactionStatus, commit: bool) -> None:
    def end(by: Identity) -> object:
        return shown(machine.end_v1(state(status), by, commit=commit, supplies=MOMENT))

    assert end(ME) == V1_ENDS[status, commit]
    assert end(BEFORE) is end(AFTER) is FENCED
    assert end(OTHER) is WHO


BUMP = (PREPARE_ABORT, PID, 6)
# The outcomes with the current epoch, and with the one before it, which a repeated request has.
V2_ENDS = {
    (EMPTY, True): (WRONG, FENCED),
    (EMPTY, False): (BUMP, FENCED),
    (ONGOING, True): ((PREPARE_COMMIT, PID, 6), FENCED),
    (ONGOING, False): (BUMP, FENCED),
    (PREPARE_COMMIT, True): (FENCED, BUSY),
    (PREPARE_COMMIT, False): (FENCED, WRONG),
    (PREPARE_ABORT, True): (FENCED, WRONG),
    (PREPARE_ABORT, False): (FENCED, BUSY),
    (COMPLETE_COMMIT, True): (WRONG, DONE),
    (COMPLETE_COMMIT, False): (BUMP, WRONG),
    (COMPLETE_ABORT, True): (WRONG, WRONG),
    (COMPLETE_ABORT, False): (BUMP, DONE),
}


@pytest.mark.parametrize(("status", "commit"), V2_ENDS)
def test_an_end_in_v2_leads_where_the_table_says(status: TransactionStatus, commit: bool) -> None:
    def end(by: Identity) -> object:
        return shown(machine.end_v2(state(status), by, commit=commit, supplies=MOMENT))

    assert (end(ME), end(BEFORE)) == V2_ENDS[status, commit]
    assert end(AFTER) is FENCED
    assert end(OTHER) is WHO


@pytest.mark.parametrize("status", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_the_end_of_no_transaction_starts_and_ends_now(status: TransactionStatus) -> None:
    """Kafka cannot load a decision without a start time."""
    ended = machine.end_v2(state(status, start_ms=-1), ME, commit=False, supplies=MOMENT)
    assert isinstance(ended, TransactionMetadata)
    assert (ended.start_ms, ended.last_update_ms, ended.partitions) == (NOW, NOW, frozenset())


def test_after_the_last_epoch_a_new_producer_id_follows_in_v2() -> None:
    known = state(ONGOING, epoch=32766)
    ended = machine.end_v2(known, Identity(PID, 32766), commit=True, supplies=MOMENT)
    assert isinstance(ended, TransactionMetadata)
    assert (ended.producer_id, ended.epoch, ended.next_producer_id) == (PID, 32767, NEW_PID)
    assert machine.next_identity(ended) == (NEW_PID, 0)
    done = machine.complete(ended, MOMENT)
    assert (done.producer_id, done.epoch, done.previous_producer_id, done.next_producer_id) == (NEW_PID, 0, PID, -1)
    for commit, expected in ((True, DONE), (False, WRONG)):
        assert machine.end_v2(done, Identity(PID, 32766), commit=commit, supplies=MOMENT) is expected
    assert machine.end_v2(done, Identity(PID, 32765), commit=True, supplies=MOMENT) is WHO


def test_a_decision_of_an_earlier_octavo_gets_its_new_id_late() -> None:
    done = machine.complete(state(PREPARE_COMMIT, epoch=32767), MOMENT)
    assert (done.producer_id, done.epoch) == (NEW_PID, 0)


@pytest.mark.parametrize("status", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_init_begins_a_new_epoch_or_is_fenced(status: TransactionStatus) -> None:
    def init(expected: Identity | None, **fields: int) -> object:
        return shown(machine.initialize(state(status, **fields), 5000, expected, MOMENT))

    assert init(None) == init(ME) == (EMPTY, PID, 6)
    assert init(BEFORE) is init(AFTER) is init(OTHER) is FENCED
    assert init(BEFORE, last_epoch=4) == (EMPTY, PID, 5)  # sent again
    assert init(None, epoch=32766) == init(Identity(PID, 32766), epoch=32766) == (EMPTY, NEW_PID, 0)
    assert init(Identity(PID, 32765), epoch=32766) is ErrorCode.UNKNOWN_SERVER_ERROR
    spent = Identity(3, 32766)
    assert init(spent, epoch=0, previous_producer_id=3, last_epoch=32766) == (EMPTY, PID, 0)
    assert init(spent, epoch=0) is FENCED


def test_a_new_id_begins_with_epoch_0() -> None:
    known = TransactionMetadata("x", PID, -1, 5000)
    for expected in (None, OTHER):
        begun = machine.initialize(known, 5000, expected, MOMENT)
        assert isinstance(begun, TransactionMetadata)
        assert (begun.status, begun.producer_id, begun.epoch, begun.previous_producer_id) == (EMPTY, PID, 0, PID)


def test_init_waits_for_what_is_decided_and_aborts_what_is_open() -> None:
    for status in (PREPARE_COMMIT, PREPARE_ABORT):
        assert machine.initialize(state(status), 5000, None, MOMENT) is BUSY
    fenced = machine.initialize(state(ONGOING, version=VERSION_1), 5000, None, MOMENT)
    assert isinstance(fenced, TransactionMetadata)
    assert shown(fenced) == BUMP and fenced.version == VERSION_2 and fenced.timeout_ms == 60_000


NEVER_IN_MEMORY = {TransactionStatus.DEAD, TransactionStatus.PREPARE_EPOCH_FENCE}


@pytest.mark.parametrize("status", sorted(set(TransactionStatus) - NEVER_IN_MEMORY))
def test_partitions_are_added_unless_the_transaction_is_decided(status: TransactionStatus) -> None:
    def add(by: Identity, *partitions: TopicPartition) -> TransactionOutcome:
        return machine.add_partitions(state(status), by, frozenset(partitions), VERSION_2, NOW)

    assert add(OTHER, T0) is WHO
    assert add(BEFORE, T0) is add(AFTER, T0) is FENCED
    if status in (PREPARE_COMMIT, PREPARE_ABORT):
        assert add(ME, T0) is BUSY
        return
    if status is ONGOING:
        assert add(ME, T0) is DONE
    added = add(ME, T0, T1)
    assert isinstance(added, TransactionMetadata)
    assert shown(added) == (ONGOING, PID, 5) and added.version == VERSION_2
    assert added.partitions == {T0, T1}
    assert (added.start_ms, added.last_update_ms) == (500 if status is ONGOING else NOW, NOW)


def test_a_transaction_is_late_after_its_timeout() -> None:
    assert not state(ONGOING).is_late(60_500)
    assert state(ONGOING).is_late(60_501)
    assert not state(COMPLETE_COMMIT).is_late(1 << 60)
