"""The rules for one transactional id: which state a request leads to, or which error it gets.

The function for a request takes the current state and returns the next one, which has to be written before the answer
is sent, or an error. ErrorCode.NONE means that there is nothing to write: the request was already carried out, or
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import NamedTuple

from octavo.coordinator.transactions.metadata import VERSION_1, VERSION_2, TransactionMetadata
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.kernels.layout import MAX_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

TransactionOutcome = TransactionMetadata | ErrorCode


class Identity(NamedTuple):
    """A producer id and its epoch, by which a producer proves that it may use its transactional id."""

    producer_id: int
    epoch: int


NOBODY = Identity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class Supplies(NamedTuple):
    """What a transition needs from outside: the time, and new producer ids."""

    now_ms: int
    new_id: Callable[[], int]


def initialize(
    known: TransactionMetadata, timeout_ms: int, expected: Identity | None, supplies: Supplies
) -> TransactionOutcome:
    """InitProducerId: the next epoch, or a new producer id if no epoch is left.

    An open transaction is aborted first (PREPARE_ABORT): its producer is fenced, and the client has to ask again.
    """
    if expected is not None and not _may_continue(known, expected):
        return ErrorCode.PRODUCER_FENCED
    if known.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if known.is_ongoing:
        return decide(known, commit=False, supplies=supplies)
    begun = replace(
        _moved(known, TransactionStatus.EMPTY, supplies.now_ms),
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NO_TIMESTAMP,
    )
    if known.is_exhausted and (expected is None or expected.epoch == known.epoch):
        last_epoch = NO_PRODUCER_EPOCH if expected is None else known.epoch
        return replace(begun, producer_id=supplies.new_id(), epoch=0, last_epoch=last_epoch)
    if known.is_exhausted:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # as Kafka answers
    if expected is None:
        return replace(begun, epoch=known.epoch + 1, last_epoch=NO_PRODUCER_EPOCH)
    if known.epoch in (NO_PRODUCER_EPOCH, expected.epoch):
        return replace(begun, epoch=known.epoch + 1, last_epoch=known.epoch)
    if expected.epoch == known.last_epoch:
        return begun  # the request was sent again
    return ErrorCode.PRODUCER_FENCED


def add_partitions(
    known: TransactionMetadata, by: Identity, partitions: Set[TopicPartition], version: int, now_ms: int
) -> TransactionOutcome:
    """AddPartitionsToTxn and AddOffsetsToTxn: the transaction begins with its first partitions."""
    error = verify(known, by)
    if error is not ErrorCode.NONE:
        return error
    if known.is_ongoing and partitions <= known.partitions:
        return ErrorCode.NONE
    return replace(
        _moved(known, TransactionStatus.ONGOING, now_ms),
        partitions=known.partitions | partitions,
        start_ms=known.start_ms if known.is_ongoing else now_ms,
        version=version,
    )


def verify(known: TransactionMetadata, by: Identity) -> ErrorCode:
    """Whether a producer may write in a transaction of this id."""
    if known.producer_id != by.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != by.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.is_prepared else ErrorCode.NONE


def end_v1(known: TransactionMetadata, by: Identity, *, commit: bool, supplies: Supplies) -> TransactionOutcome:
    """EndTxn up to version 4: the epoch stays, so a request that is sent again looks like a new one."""
    if known.producer_id != by.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != by.epoch:
        return ErrorCode.PRODUCER_FENCED
    if known.is_ongoing:
        decided = _moved(known, _prepared(commit=commit), supplies.now_ms)
        return replace(decided, version=VERSION_1, next_producer_id=NO_PRODUCER_ID)
    if known.status is TransactionStatus.EMPTY or known.is_commit is not commit:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.is_prepared else ErrorCode.NONE


def end_v2(known: TransactionMetadata, by: Identity, *, commit: bool, supplies: Supplies) -> TransactionOutcome:
    """EndTxn from version 5 on: every end begins a new epoch, so a request that is sent again can be recognized."""
    was_exhausted = known.previous_producer_id == by.producer_id and by.epoch == MAX_PRODUCER_EPOCH - 1
    is_overflow = was_exhausted and known.epoch == 0
    is_retry = is_overflow or known.epoch == by.epoch + 1
    if known.producer_id != by.producer_id and not is_overflow:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.is_ongoing or known.status is TransactionStatus.EMPTY:
        is_valid = known.epoch == by.epoch
    elif known.is_prepared:
        is_valid = known.epoch == by.epoch + 1
    else:
        is_valid = is_retry or known.epoch == by.epoch
    if not is_valid:
        return ErrorCode.PRODUCER_FENCED
    if known.is_ongoing:
        return decide(known, commit=commit, supplies=supplies)
    if known.is_prepared:
        is_same = known.is_commit is commit
        return ErrorCode.CONCURRENT_TRANSACTIONS if is_same else ErrorCode.INVALID_TXN_STATE
    if known.status is not TransactionStatus.EMPTY and is_retry:
        return ErrorCode.NONE if known.is_commit is commit else ErrorCode.INVALID_TXN_STATE
    if commit:
        return ErrorCode.INVALID_TXN_STATE
    return replace(decide(known, commit=False, supplies=supplies), start_ms=supplies.now_ms)


def decide(known: TransactionMetadata, *, commit: bool, supplies: Supplies) -> TransactionMetadata:
    """Decide how the transaction ends, in the next epoch. The last epoch of a producer id is only used for this."""
    return replace(
        _moved(known, _prepared(commit=commit), supplies.now_ms),
        epoch=min(known.epoch + 1, MAX_PRODUCER_EPOCH),
        last_epoch=known.epoch,
        next_producer_id=supplies.new_id() if known.is_exhausted else NO_PRODUCER_ID,
        version=VERSION_2,
    )


def complete(prepared: TransactionMetadata, supplies: Supplies) -> TransactionMetadata:
    """The state once all partitions have their marker."""
    status = TransactionStatus.COMPLETE_COMMIT if prepared.is_commit else TransactionStatus.COMPLETE_ABORT
    done = replace(_moved(prepared, status, supplies.now_ms), partitions=frozenset(), next_producer_id=NO_PRODUCER_ID)
    if prepared.next_producer_id != NO_PRODUCER_ID:
        return replace(done, producer_id=prepared.next_producer_id, epoch=0)
    if prepared.epoch == MAX_PRODUCER_EPOCH:
        # It was decided by an earlier version of Octavo, which did not choose the next id until here.
        return replace(done, producer_id=supplies.new_id(), epoch=0)
    return done


def next_identity(known: TransactionMetadata) -> Identity:
    """The identity that the producer uses from this state on: under a new id, if one was chosen with the decision."""
    if known.next_producer_id != NO_PRODUCER_ID:
        return Identity(known.next_producer_id, 0)
    return Identity(known.producer_id, known.epoch)


def _moved(known: TransactionMetadata, status: TransactionStatus, now_ms: int) -> TransactionMetadata:
    return replace(known, status=status, previous_producer_id=known.producer_id, last_update_ms=now_ms)


def _prepared(*, commit: bool) -> TransactionStatus:
    return TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT


def _may_continue(known: TransactionMetadata, expected: Identity) -> bool:
    if known.epoch == NO_PRODUCER_EPOCH or expected.producer_id == known.producer_id:
        return True
    return expected.producer_id == known.previous_producer_id and expected.epoch >= MAX_PRODUCER_EPOCH - 1
