"""The transaction coordinator: who may write under a transactional id, and how its transactions end."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Set
from typing import NamedTuple

from octavo.coordinator.transactions import machine
from octavo.coordinator.transactions.machine import NOBODY, Identity
from octavo.coordinator.transactions.metadata import VERSION_2, TransactionMetadata
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.coordinator.transactions.states import TransactionStates
from octavo.errors import CorruptionError, KafkaStorageError, TransactionIncompleteError, UnknownTopicOrPartitionError
from octavo.format.batches.control import ControlType, EndTransactionMarker
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog

_log = logging.getLogger(__name__)


class ProducerAnswer(NamedTuple):
    """The answer to InitProducerId and EndTxn: an error, or the identity to continue with."""

    error: ErrorCode
    identity: Identity = NOBODY


class TransactionCoordinator:
    """Answers the requests of producers, over the network and in this process. Thread-safe.

    A transaction ends in three steps: 1. Write to the log that it will be committed, or aborted: this decides it, and
    EndTxn is answered. 2. Write a marker to each of its partitions. 3. Write that it is complete. If anything
    interrupts this after 1 (a crash, a failed disk, Ctrl-C), 2 and 3 are done before anything else happens under the
    id; a partition that already has its marker may get another one, which changes nothing. What fails for one id is
    logged and tried again later; it does not stop the others.
    """

    def __init__(self, log_manager: LogManager, ids: ProducerIds) -> None:
        self._log_manager = log_manager
        self._config = log_manager.broker_config
        self._takeovers: dict[str, int] = {}
        self._takeover_numbers = itertools.count(1)
        self.states = TransactionStates(log_manager, ids)
        self.lock = self.states.lock

    @property
    def longest_timeout_ms(self) -> int:
        return self._config.transaction_max_timeout_ms

    def start(self) -> None:
        """Finish what a crash left, and begin the periodic work."""
        self.settle()
        schedule, config = self._log_manager.environment.scheduler.schedule, self._config
        period_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        schedule("transaction-abort", self.settle, delay_ms=period_ms, period_ms=period_ms)
        if self._log_manager.upkeep:
            period_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms
            schedule("transactionalId-expiration", self.expire, delay_ms=period_ms, period_ms=period_ms)

    def init_producer_id(self, transactional_id: str, timeout_ms: int, expected: Identity | None) -> ProducerAnswer:
        """Answer InitProducerId."""
        return _answer(lambda: self.take_over(transactional_id, timeout_ms, expected))

    def take_over(self, transactional_id: str, timeout_ms: int, expected: Identity | None = None) -> ProducerAnswer:
        """Begin to use an id. An open transaction is aborted first (CONCURRENT_TRANSACTIONS): call `complete`, then
        this again."""
        if not transactional_id:
            return ProducerAnswer(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.longest_timeout_ms:
            return ProducerAnswer(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        with self.lock:
            known = self._ready(transactional_id)
            if known is None:
                known = self.states.create(transactional_id, timeout_ms)
            elif not known.is_prepared:
                known = self.states.caught_up(known)
            outcome = machine.initialize(known, timeout_ms, expected, self.states.supplies)
            if isinstance(outcome, ErrorCode):
                return ProducerAnswer(outcome)
            self.states.write(outcome)
            self._takeovers[transactional_id] = next(self._takeover_numbers)
            if outcome.is_prepared:
                return ProducerAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)
            return ProducerAnswer(ErrorCode.NONE, Identity(outcome.producer_id, outcome.epoch))

    def add_partitions(
        self, transactional_id: str, by: Identity, partitions: Set[TopicPartition], version: int
    ) -> ErrorCode:
        """Add partitions to the transaction, which begins with the first ones (AddPartitionsToTxn)."""
        return self._change(
            transactional_id,
            lambda known: machine.add_partitions(known, by, partitions, version, self.states.supplies.now_ms),
        ).error

    def verify(
        self, transactional_id: str, by: Identity, partitions: Set[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether partitions are part of the transaction, without changing it."""
        with self.lock:
            error = self._change(transactional_id, lambda known: machine.verify(known, by)).error
            known = self.states.get(transactional_id)
            if error is not ErrorCode.NONE or known is None:
                return dict.fromkeys(partitions, error)
            missing = ErrorCode.TRANSACTION_ABORTABLE
            return {place: ErrorCode.NONE if place in known.partitions else missing for place in partitions}

    def end(self, transactional_id: str, by: Identity, *, commit: bool, version: int) -> ProducerAnswer:
        """Decide how the transaction ends (EndTxn); `complete` has to follow."""
        end = machine.end_v2 if version >= VERSION_2 else machine.end_v1
        answer = self._change(
            transactional_id, lambda known: end(known, by, commit=commit, supplies=self.states.supplies)
        )
        return answer if version >= VERSION_2 else ProducerAnswer(answer.error)

    def complete(self, transactional_id: str) -> None:
        """Write the markers of a decided transaction, then record that it is complete. A failure is logged."""
        with self.lock:
            self._ready(transactional_id)

    def write_marker(
        self, log: PartitionLog, by: Identity, *, commit: bool, coordinator_epoch: int, version: int
    ) -> None:
        """End a transaction in a partition, as an administrator or another coordinator decides (WriteTxnMarkers)."""
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        self.states.markers.append(log, EndTransactionMarker(kind, coordinator_epoch), by, version)

    def describe(self, transactional_id: str) -> TransactionMetadata | ErrorCode:
        """The state of an id (DescribeTransactions)."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if not self.states.has_log:
            return ErrorCode.NOT_COORDINATOR
        with self.lock:
            return self.states.get(transactional_id) or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def list(self) -> list[TransactionMetadata]:
        """The states of all ids (ListTransactions)."""
        with self.lock:
            self.states.read_all()
            return self.states.all()

    def settle(self) -> None:
        """Complete decided transactions; abort those open for longer than their timeout, and fence their producers.

        Raises nothing: what fails is logged, and tried again the next time.
        """
        with self.lock:
            self.states.read_all()
            supplies = self.states.supplies
            for known in self.states.all():
                try:
                    if known.is_late(supplies.now_ms):
                        self._takeovers[known.transactional_id] = next(self._takeover_numbers)
                        late = self.states.caught_up(known)
                        self.states.complete(self.states.write(machine.decide(late, commit=False, supplies=supplies)))
                    elif known.is_prepared:
                        self.states.adopt(self.states.complete(known))
                except Exception as error:
                    _log_unfinished(known, error)

    def expire(self) -> None:
        """Forget the ids that were not used for transactional.id.expiration.ms."""
        with self.lock:
            until_ms = self.states.supplies.now_ms - self._config.transactional_id_expiration_ms
            for known in self.states.all():
                if known.can_expire and known.last_update_ms <= until_ms:
                    self.states.forget(known.transactional_id)
                    self._takeovers.pop(known.transactional_id, None)

    def last_takeover(self, transactional_id: str) -> int:
        """The number of the id's last takeover, by `take_over` or a timeout, which fenced whoever used it before.

        No two takeovers have the same number, not even if the id expired between them.
        """
        return self._takeovers.get(transactional_id, 0)

    def _ready(self, transactional_id: str) -> TransactionMetadata | None:
        """The state of an id, after an attempt to complete its transaction if that is decided."""
        known = self.states.get(transactional_id)
        if known is not None and known.is_prepared:
            try:
                known = self.states.complete(known)
            except TransactionIncompleteError as error:
                _log_unfinished(known, error)
                known = self.states.get(transactional_id)
        return known

    def _change(
        self, transactional_id: str, decide: Callable[[TransactionMetadata], machine.TransactionOutcome]
    ) -> ProducerAnswer:
        """Carry out a request for a known id: write the next state, if there is one."""

        def change() -> ProducerAnswer:
            if not transactional_id:
                return ProducerAnswer(ErrorCode.INVALID_REQUEST)
            if not self.states.has_log:
                return ProducerAnswer(ErrorCode.NOT_COORDINATOR)
            with self.lock:
                known = self._ready(transactional_id)
                if known is None:
                    return ProducerAnswer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
                outcome = decide(known)
                if isinstance(outcome, TransactionMetadata):
                    return ProducerAnswer(ErrorCode.NONE, machine.next_identity(self.states.write(outcome)))
                is_done = outcome is ErrorCode.NONE
                return ProducerAnswer(outcome, Identity(known.producer_id, known.epoch) if is_done else NOBODY)

        return _answer(change)


def _answer(call: Callable[[], ProducerAnswer]) -> ProducerAnswer:
    """The answer; NOT_COORDINATOR if the state cannot be read or written, so that the client tries again later."""
    try:
        return call()
    except (KafkaStorageError, CorruptionError, UnknownTopicOrPartitionError) as error:
        _log.error("a request about a transaction failed: %s", error)
        return ProducerAnswer(ErrorCode.NOT_COORDINATOR)


def _log_unfinished(known: TransactionMetadata, error: Exception) -> None:
    problem = "the transaction of %s cannot be completed now; this will be tried again: %s"
    _log.error(problem, known.transactional_id, error)
