"""Writes the markers that end a transaction in its partitions, and asks logs what they know about a producer."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.errors import (
    InvalidProducerEpochError,
    KafkaStorageError,
    TransactionCoordinatorFencedError,
    UnknownTopicOrPartitionError,
)
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.names import TopicPartition
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.producers.entry import ProducerStateEntry

_log = logging.getLogger(__name__)


class Markers:
    """Writes to the partitions of transactions. Thread-safe, like the logs."""

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._clock = log_manager.environment.clock

    def write(self, prepared: TransactionMetadata, topic_partition: TopicPartition, coordinator_epoch: int) -> None:
        """End a decided transaction in a partition.

        A power loss may cut more from one log than from another. If `__transaction_state` lost more, the partition has
        moved on to a later epoch: as for Kafka's coordinator, the transaction has already ended there. If the
        partition lost more, records of an earlier transaction may have lost their marker, and a COMMIT would show them
        even if that transaction was aborted; so an ABORT is written instead.
        """
        log = self.log(topic_partition)
        if log is None:
            return
        is_commit = prepared.is_commit and not _has_older_transaction(log, prepared)
        marker = EndTransactionMarker(ControlType.COMMIT if is_commit else ControlType.ABORT, coordinator_epoch)
        try:
            self.append(log, marker, Identity(prepared.producer_id, prepared.epoch), prepared.version)
        except (InvalidProducerEpochError, TransactionCoordinatorFencedError) as error:
            problem = "transactional id %s: %s has a newer epoch, so the old transaction has already ended there: %s"
            _log.warning(problem, prepared.transactional_id, topic_partition, error)

    def append(self, log: PartitionLog, marker: EndTransactionMarker, by: Identity, version: int) -> None:
        """Append a marker; raises if it has an old epoch."""
        batch = build_marker_batch(
            marker, offset=0, timestamp=self._clock.time_ms(), producer_id=by.producer_id, producer_epoch=by.epoch
        )
        origin = AppendOrigin.COORDINATOR
        log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=origin, transaction_version=version)

    def entries(self, producer_id: int) -> Iterator[tuple[TopicPartition, ProducerStateEntry]]:
        """The partitions that know a producer, each with the producer's state there."""
        for topic_partition, log in list(self._log_manager.logs.items()):
            entry = log.producer(producer_id)
            if entry is not None:
                yield topic_partition, entry

    def open_producers(self) -> set[int]:
        """The ids of the producers that have a transaction open in some partition."""
        found: set[int] = set()
        for log in list(self._log_manager.logs.values()):
            with log.lock:
                found.update(producer_id for _, producer_id in log.producers.table.ongoing())
        return found

    def log(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """A partition's log; None if it is in none of these directories, for example because it was deleted."""
        log = self._log_manager.logs.get(topic_partition)
        if log is None:
            if any(topic_partition in root.partitions for root in self._log_manager.roots):
                problem = "is part of a transaction, but was not opened: open it, too"
                raise UnknownTopicOrPartitionError(f"{topic_partition} {problem}")
            if offline := [str(path) for path in self._log_manager.offline]:
                where = f"a log directory that is offline: {', '.join(offline)}"
                raise KafkaStorageError(f"{topic_partition} may be in {where}")
        return log


def _has_older_transaction(log: PartitionLog, prepared: TransactionMetadata) -> bool:
    """Whether the producer's open transaction is an earlier one, because the records of this one are lost."""
    entry = log.producer(prepared.producer_id)
    if entry is None or entry.current_txn_first_offset is None:
        return False
    return entry.epoch < prepared.epoch - 1  # batches have their markers' epoch, or in version 2 the one before
