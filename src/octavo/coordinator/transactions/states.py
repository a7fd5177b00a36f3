"""The states of all transactional ids: read from the transaction log, and written there before they take effect."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

from octavo.coordinator.internal_topics import transaction_state
from octavo.coordinator.transactions import machine
from octavo.coordinator.transactions.log import TransactionLog
from octavo.coordinator.transactions.machine import Supplies
from octavo.coordinator.transactions.markers import Markers
from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.errors import TransactionIncompleteError
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.kernels.layout import NO_PRODUCER_EPOCH
from octavo.storage.log_manager import LogManager

_log = logging.getLogger(__name__)


class TransactionStates:
    """Callers that read or change states hold `lock`. A partition of the log that could not be read is tried again when
    it is next needed."""

    def __init__(self, log_manager: LogManager, ids: ProducerIds) -> None:
        self._clock = log_manager.environment.clock
        self._log = TransactionLog(transaction_state(log_manager), self._clock)
        self.markers = Markers(log_manager)
        self._ids = ids
        self._known: dict[str, TransactionMetadata] = {}
        self._unread = set(self._log.topic.partitions())
        self.lock = threading.RLock()

    @property
    def supplies(self) -> Supplies:
        return Supplies(self._clock.time_ms(), self._ids.allocate)

    @property
    def has_log(self) -> bool:
        return bool(self._log.topic.count)

    def create_log(self) -> None:
        """Create `__transaction_state`, unless it exists."""
        self._log.topic.create()

    def all(self) -> list[TransactionMetadata]:
        return list(self._known.values())

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """The state of an id; None if there is none. Raises if its partition of the log cannot be read."""
        known = self._known.get(transactional_id)
        if known is None and self._unread:
            partition = self._log.topic.partition_of(transactional_id)
            if partition in self._unread:
                self._read(partition, self.markers.open_producers())
                known = self._known.get(transactional_id)
        return known

    def create(self, transactional_id: str, timeout_ms: int) -> TransactionMetadata:
        """The state from which a new id is initialized; it is not written."""
        self.create_log()  # and the directory, if it is missing: producer ids are stored in it
        return TransactionMetadata(transactional_id, self._ids.allocate(), NO_PRODUCER_EPOCH, timeout_ms)

    def write(self, metadata: TransactionMetadata) -> TransactionMetadata:
        self._log.append(metadata)
        self._known[metadata.transactional_id] = metadata
        return metadata

    def forget(self, transactional_id: str) -> None:
        """Write a tombstone."""
        self._log.append_tombstone(transactional_id)
        del self._known[transactional_id]

    def read_all(self) -> None:
        """Read what is unread. If a partition cannot be read, that is logged, and only its own ids cannot be used."""
        open_producers = self.markers.open_producers() if self._unread else set()
        for partition in sorted(self._unread):
            try:
                self._read(partition, open_producers)
            except Exception as error:
                _log.error("%s cannot be read, so its transactional ids cannot be used: %s", partition, error)

    def complete(self, known: TransactionMetadata) -> TransactionMetadata:
        """Write a decided transaction's markers, then record that it is complete; an undecided one stays unchanged."""
        if not known.is_prepared:
            return known
        try:
            self._write_markers(known)
            return self.write(machine.complete(self._known[known.transactional_id], self.supplies))
        except Exception as error:
            decision = "committed" if known.is_commit else "aborted"
            problem = f"its transaction is decided and will be {decision}, but cannot be completed now: {error}"
            raise TransactionIncompleteError(f"transactional id {known.transactional_id}: {problem}") from error

    def adopt(self, known: TransactionMetadata) -> None:
        """Give an id the transaction that is open in partitions although the transaction log does not have it.

        A power loss may take the end of the transaction log but not the ends of the partitions.
        """
        caught_up = self.caught_up(known)
        if caught_up.is_ongoing:
            self._known[known.transactional_id] = replace(caught_up, start_ms=self._clock.time_ms())

    def caught_up(self, known: TransactionMetadata) -> TransactionMetadata:
        """The id with the latest epoch that any partition has seen, and all partitions that have its transaction
        open."""
        epoch, open_in = known.epoch, set(known.partitions)
        for topic_partition, entry in self.markers.entries(known.producer_id):
            epoch = max(epoch, entry.epoch)
            if entry.current_txn_first_offset is not None:
                open_in.add(topic_partition)
        status = TransactionStatus.ONGOING if open_in else known.status
        return replace(known, status=status, epoch=epoch, partitions=frozenset(open_in))

    def _read(self, partition: TopicPartition, open_producers: set[int]) -> None:
        """Load a partition of the transaction log; `open_producers` have an open transaction in some other log."""
        found = self._log.load(partition)
        self._known.update(found)
        for known in found.values():
            if known.can_expire and known.producer_id in open_producers:
                self.adopt(known)
        self._unread.discard(partition)

    def _write_markers(self, prepared: TransactionMetadata) -> None:
        """Write a marker to each partition that still needs one; if one fails, the others still get theirs."""
        coordinator_epoch = self._log.coordinator_epoch(prepared.transactional_id)
        failure: Exception | None = None
        for topic_partition in sorted(prepared.partitions):
            try:
                self.markers.write(prepared, topic_partition, coordinator_epoch)
            except Exception as error:
                failure = failure or error
            else:
                prepared = replace(prepared, partitions=prepared.partitions - {topic_partition})
                self._known[prepared.transactional_id] = prepared
        if failure is not None:
            raise failure
