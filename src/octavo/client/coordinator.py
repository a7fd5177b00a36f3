"""The coordinator of transactions: who may write under a transactional id, and how its transactions end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from octavo.client.identity import MAX_EPOCH
from octavo.client.producer_ids import ProducerIds
from octavo.client.transaction_log import TransactionLog, TransactionMetadata
from octavo.errors import ConfigError, KafkaError, ProducerFencedError, UnknownTopicOrPartitionError
from octavo.format.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log_dir import LogDir

CHECK_INTERVAL_MS = 10_000
# Our markers have the next epoch, with which the next transaction begins, as in version 2. But those of a transaction
# that a broker has left may have its own, as in versions 0 and 1: by their rule a log takes both.
TRANSACTION_VERSION = 1
_log = logging.getLogger(__name__)

# Told of the partitions that a transaction's markers were written to.
Completed = Callable[[frozenset[TopicPartition]], None]


class TransactionCoordinator:
    """Thread-safe. The end of a transaction:

    1. Note in the log that it is to be committed, or aborted: that decides it. 2. Write a marker to each of its
    partitions. 3. Note that it is complete. After a crash behind 1 the next start does 2 and 3; a partition that has
    its marker already gets another one, which changes nothing.
    """

    def __init__(self, logs: LogDir, log: TransactionLog, ids: ProducerIds, completed: Completed) -> None:
        self._logs = logs
        self._clock = logs.environment.clock
        self._log = log
        self._ids = ids
        self._completed = completed
        self._lock = threading.RLock()
        self._known = log.load()
        for metadata in list(self._known.values()):
            if metadata.is_prepared:
                self._complete(metadata)
        self.abort_late()
        logs.environment.scheduler.schedule(
            "abort-late-transactions", self.abort_late, delay_ms=CHECK_INTERVAL_MS, period_ms=CHECK_INTERVAL_MS
        )

    def begin_session(self, transactional_id: str, timeout_ms: int) -> TransactionMetadata:
        """Make a producer the only one that may use an id: one before it is fenced, its open transaction aborted."""
        longest_ms = self._logs.broker_config.transaction_max_timeout_ms
        if timeout_ms > longest_ms:
            expected = f"expected at most transaction.max.timeout.ms, {longest_ms}"
            raise ConfigError(f"transaction.timeout.ms is {timeout_ms}, {expected}")
        with self._lock:
            known = self._known.get(transactional_id)
            if known is None:
                return self._note(TransactionMetadata(transactional_id, self._ids.allocate(), 0, timeout_ms))
            if known.status is TransactionStatus.ONGOING:
                known = self._end(known, TransactionStatus.PREPARE_ABORT)
            bumped = self._bumped(known)
            return self._note(TransactionMetadata(transactional_id, *bumped, timeout_ms))

    def check(self, metadata: TransactionMetadata) -> None:
        """Refuse a producer that another one, or its transaction's timeout, has fenced."""
        known = self._known[metadata.transactional_id]
        if (known.producer_id, known.epoch) != (metadata.producer_id, metadata.epoch):
            found = f"producer id {metadata.producer_id}, epoch {metadata.epoch}"
            expected = f"expected id {known.producer_id}, epoch {known.epoch}"
            raise ProducerFencedError(f"transactional id {metadata.transactional_id}: {found}, {expected}")

    def add_partition(self, metadata: TransactionMetadata, name: TopicPartition) -> TransactionMetadata:
        """Make a partition part of the transaction, and begin it with the first."""
        with self._lock:
            self.check(metadata)
            known = self._known[metadata.transactional_id]
            if known.status is not TransactionStatus.ONGOING:
                start_ms = self._clock.time_ms()
                known = replace(known, status=TransactionStatus.ONGOING, start_ms=start_ms, partitions=frozenset())
            return self._note(replace(known, partitions=known.partitions | {name}))

    def end(self, metadata: TransactionMetadata, *, commit: bool) -> TransactionMetadata:
        """Commit or abort; returns what the producer is from now on. Without partitions nothing happens."""
        with self._lock:
            self.check(metadata)
            known = self._known[metadata.transactional_id]
            if known.status is not TransactionStatus.ONGOING:
                return known
            return self._end(known, TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT)

    def abort_late(self) -> None:
        """Abort what has been open for longer than its timeout; that fences its producer."""
        with self._lock:
            now_ms = self._clock.time_ms()
            for known in list(self._known.values()):
                if known.status is TransactionStatus.ONGOING and now_ms - known.start_ms > known.timeout_ms:
                    try:
                        self._end(known, TransactionStatus.PREPARE_ABORT)
                    except KafkaError as error:
                        _log.error("the transaction of %s cannot be aborted: %s", known.transactional_id, error)

    def _end(self, known: TransactionMetadata, status: TransactionStatus) -> TransactionMetadata:
        return self._complete(self._note(replace(known, status=status, epoch=known.epoch + 1)))

    def _complete(self, prepared: TransactionMetadata) -> TransactionMetadata:
        """Steps 2 and 3 for a transaction that is decided."""
        commit = prepared.status is TransactionStatus.PREPARE_COMMIT
        coordinator_epoch = self._log.coordinator_epoch(prepared.transactional_id)
        for name in sorted(prepared.partitions):
            self._write_marker(prepared, name, ControlType.COMMIT if commit else ControlType.ABORT, coordinator_epoch)
        status = TransactionStatus.COMPLETE_COMMIT if commit else TransactionStatus.COMPLETE_ABORT
        done = replace(prepared, status=status, partitions=frozenset(), next_producer_id=-1)
        if prepared.next_producer_id >= 0 or prepared.epoch >= MAX_EPOCH:
            next_id = prepared.next_producer_id if prepared.next_producer_id >= 0 else self._ids.allocate()
            done = replace(done, producer_id=next_id, epoch=0)
        self._completed(prepared.partitions)
        return self._note(done)

    def _write_marker(
        self, prepared: TransactionMetadata, name: TopicPartition, kind: ControlType, coordinator_epoch: int
    ) -> None:
        log = self._logs.logs.get(name)
        if log is None:
            if any(name in root.partitions for root in self._logs.roots):
                raise UnknownTopicOrPartitionError(f"{name} has a part of a transaction, but was not opened")
            return  # deleted meanwhile, or another broker's
        batch = build_marker_batch(
            EndTransactionMarker(kind, coordinator_epoch),
            offset=0,
            timestamp=self._clock.time_ms(),
            producer_id=prepared.producer_id,
            producer_epoch=prepared.epoch,
        )
        log.append_as_leader(
            batch,
            leader_epoch=log.leader_epoch,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=TRANSACTION_VERSION,
        )

    def _bumped(self, known: TransactionMetadata) -> tuple[int, int]:
        if known.epoch + 1 < MAX_EPOCH:
            return known.producer_id, known.epoch + 1
        return self._ids.allocate(), 0

    def _note(self, metadata: TransactionMetadata) -> TransactionMetadata:
        self._log.append(metadata)
        self._known[metadata.transactional_id] = metadata
        return metadata
