"""The markers that end a transaction in its partitions, and what these know of the producer that wrote to them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from octavo.coordinator.transactions.log import TransactionMetadata
from octavo.errors import (
    InvalidProducerEpochError,
    KafkaStorageError,
    TransactionCoordinatorFencedError,
    UnknownTopicOrPartitionError,
)
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.producers.entry import ProducerStateEntry

_log = logging.getLogger(__name__)


class Markers:
    """Thread-safe as the logs are."""

    def __init__(self, logs: LogManager) -> None:
        self._logs = logs
        self._clock = logs.environment.clock

    def write(self, prepared: TransactionMetadata, name: TopicPartition, coordinator_epoch: int) -> None:
        """End a decided transaction in a partition, after a power loss too, which takes the ends of logs unevenly.

        Where it took more of `__transaction_state`, the partition has moved on to a later epoch: as for Kafka's
        coordinator, the transaction is over there. Where it took more of the partition, that may be left with records
        of an earlier transaction without their marker: a COMMIT would make them seen, whatever became of them.
        """
        log = self._log(name)
        if log is None:
            return
        is_commit = prepared.status is TransactionStatus.PREPARE_COMMIT and not _is_behind(log, prepared)
        kind = ControlType.COMMIT if is_commit else ControlType.ABORT
        batch = build_marker_batch(
            EndTransactionMarker(kind, coordinator_epoch),
            offset=0,
            timestamp=self._clock.time_ms(),
            producer_id=prepared.producer_id,
            producer_epoch=prepared.epoch,
        )
        try:
            log.append_as_leader(
                batch,
                leader_epoch=log.leader_epoch,
                origin=AppendOrigin.COORDINATOR,
                transaction_version=prepared.version,
            )
        except (InvalidProducerEpochError, TransactionCoordinatorFencedError) as error:
            told = "transactional id %s: %s has moved on since, its old transaction is over there: %s"
            _log.warning(told, prepared.transactional_id, name, error)

    def entries(self, producer_id: int) -> Iterator[tuple[TopicPartition, ProducerStateEntry]]:
        """The partitions that know a producer, and what they know of it."""
        for name, log in list(self._logs.logs.items()):
            with log.lock:
                entry = log.producers.table.get(producer_id)
            if entry is not None:
                yield name, entry

    def open_producers(self) -> set[int]:
        """The ids of the producers that have a transaction open in some partition."""
        found: set[int] = set()
        for log in list(self._logs.logs.values()):
            with log.lock:
                found.update(producer_id for _, producer_id in log.producers.table.ongoing())
        return found

    def _log(self, name: TopicPartition) -> PartitionLog | None:
        """A partition's log; None for one that was deleted meanwhile, or is another broker's."""
        log = self._logs.logs.get(name)
        if log is None:
            if any(name in root.partitions for root in self._logs.roots):
                raise UnknownTopicOrPartitionError(f"{name} has a part of a transaction, but was not opened")
            if offline := [str(path) for path in self._logs.offline]:
                raise KafkaStorageError(f"{name} may be in {', '.join(offline)}, which is offline")
        return log


def _is_behind(log: PartitionLog, prepared: TransactionMetadata) -> bool:
    """Whether the open records of the producer are of a transaction before this one, whose own are lost."""
    with log.lock:
        entry = log.producers.table.get(prepared.producer_id)
    if entry is None or entry.current_txn_first_offset is None:
        return False
    return entry.epoch < prepared.epoch - 1  # batches have the epoch of their markers, or in version 2 the one before
