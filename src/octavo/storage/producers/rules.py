"""The rules for one producer's batches within one append: duplicates, epoch, sequence, transaction.

Kafka's ProducerAppendInfo. It starts from the producer's entry in the log's state and follows each batch; the entry
itself changes only after the append has been written (`ProducerStateManager.apply`).
"""

from __future__ import annotations

from typing import NamedTuple

from octavo.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from octavo.format import sequence
from octavo.kernels.layout import MAX_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, NO_SEQUENCE
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.entry import CachedBatch, ProducerStateEntry
from octavo.storage.producers.transactions import CompletedTxn


class DataBatch(NamedTuple):
    """The header fields of a batch that the rules use."""

    is_transactional: bool
    epoch: int
    base_offset: int
    last_offset_delta: int
    base_sequence: int
    max_timestamp: int

    @property
    def last_sequence(self) -> int:
        return sequence.last_sequence(self.base_sequence, self.last_offset_delta)


class TxnMarker(NamedTuple):
    """A marker with the transaction version its coordinator sent, which is not part of the record.

    Up to version 1 its epoch may be that of its transaction's batches, from version 2 on it is a later one.
    """

    offset: int
    timestamp: int
    coordinator_epoch: int
    is_abort: bool
    transaction_version: int


class ProducerUpdate(NamedTuple):
    """What an append changes in a producer: its entry in the log's state, the new values, the transactions begun."""

    current: ProducerStateEntry
    updated: ProducerStateEntry  # with only the batches of the append
    started: list[int]  # first offsets


class ProducerAppendInfo:
    """What one append changes in a producer; raises a child of `AppendRejected` for a batch that breaks a rule."""

    def __init__(self, current: ProducerStateEntry, origin: AppendOrigin) -> None:
        self.current = current
        self.updated = current.without_batches()
        self.started: list[int] = []
        self._origin = origin

    def update(self) -> ProducerUpdate:
        return ProducerUpdate(self.current, self.updated, self.started)

    def find_duplicate(self, batch: DataBatch) -> CachedBatch | None:
        """The producer's batch in the log with the same epoch and sequences; None if it is not among the last five."""
        if batch.epoch != self.current.epoch:
            return None
        for known in self.current.batches:
            if known.last_sequence == batch.last_sequence and known.first_sequence == batch.base_sequence:
                return known
        return None

    def check_transaction(self, batch: DataBatch) -> None:
        """Refuse a transactional batch, data or marker, whose epoch ended before this append."""
        if batch.is_transactional and batch.epoch < self.current.epoch:
            raise self._invalid_epoch(batch.epoch, batch.base_offset, self.current.epoch)

    def add_batch(self, batch: DataBatch) -> None:
        self._check_epoch(batch.epoch, batch.base_offset)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(batch)
        self.follow(batch)
        updated = self.updated
        if updated.current_txn_first_offset is not None and not batch.is_transactional:
            raise InvalidTxnStateError(
                f"{self._at(batch.base_offset)} a batch outside any transaction, but one has been open since offset "
                f"{updated.current_txn_first_offset}"
            )
        if updated.current_txn_first_offset is None and batch.is_transactional:
            updated.current_txn_first_offset = batch.base_offset
            self.started.append(batch.base_offset)

    def follow(self, batch: DataBatch) -> None:
        """Remember a batch, without checking it."""
        delta = batch.last_offset_delta
        cached = CachedBatch(batch.last_sequence, batch.base_offset + delta, delta, batch.max_timestamp)
        self.updated.add_batch(batch.epoch, cached)

    def end_transaction(self, epoch: int, marker: TxnMarker) -> CompletedTxn | None:
        """The transaction that the marker completes; None if the producer has no open one."""
        self._check_epoch(epoch, marker.offset, marker.transaction_version)
        updated = self.updated
        if marker.coordinator_epoch < updated.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"{self._at(marker.offset)} a marker of coordinator epoch {marker.coordinator_epoch}, expected "
                f"{updated.coordinator_epoch} or more"
            )
        first_offset = updated.current_txn_first_offset
        updated.end_transaction(epoch, marker.coordinator_epoch, marker.timestamp)
        if first_offset is None:
            return None
        return CompletedTxn(updated.producer_id, first_offset, marker.offset, marker.is_abort)

    def _check_epoch(self, epoch: int, offset: int, transaction_version: int = 0) -> None:
        current = self.updated.epoch
        lowest = current + 1 if transaction_version >= 2 else current
        if epoch >= lowest:
            return
        # A marker whose answer was lost is written a second time (KAFKA-19999). There is no epoch after the largest
        # one: a transaction begun with it must end with it.
        is_retry = self.updated.current_txn_first_offset is None or epoch == MAX_PRODUCER_EPOCH
        if not (transaction_version >= 2 and epoch == current and is_retry):
            raise self._invalid_epoch(epoch, offset, lowest)

    def _check_sequence(self, batch: DataBatch) -> None:
        expected = self._next_sequence(batch.epoch)
        if expected is not None and batch.base_sequence != expected:
            found = f"sequence {batch.base_sequence} of epoch {batch.epoch}"
            raise OutOfOrderSequenceError(f"{self._at(batch.base_offset)} {found}, expected {expected}")

    def _next_sequence(self, epoch: int) -> int | None:
        """The only sequence that may come next; None if any may.

        A producer may be unknown, for example because it was idle for too long: then it may begin anywhere.
        """
        if epoch != self.updated.epoch:
            return None if self.updated.epoch == NO_PRODUCER_EPOCH else 0
        if self.current.epoch == NO_PRODUCER_EPOCH:
            return None
        if self.updated.batches:
            return sequence.increment(self.updated.last_sequence, 1)
        last_sequence = self.current.last_sequence if epoch == self.current.epoch else NO_SEQUENCE
        return sequence.increment(last_sequence, 1)

    def _invalid_epoch(self, epoch: int, offset: int, lowest: int) -> InvalidProducerEpochError:
        return InvalidProducerEpochError(f"{self._at(offset)} epoch {epoch}, expected {lowest} or more")

    def _at(self, offset: int) -> str:
        return f"producer {self.updated.producer_id}, offset {offset}:"
