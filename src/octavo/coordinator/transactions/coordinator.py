"""The transaction coordinator: who may write under a transactional id, and how its transactions end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo.coordinator.transactions.log import TransactionLog, TransactionMetadata
from octavo.coordinator.transactions.markers import Markers
from octavo.coordinator.transactions.producer_ids import MAX_EPOCH, ProducerIds
from octavo.errors import ConfigError, IllegalStateError, ProducerFencedError, TransactionIncompleteError
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager

CHECK_INTERVAL_MS = 10_000
_COMMITS = (TransactionStatus.PREPARE_COMMIT, TransactionStatus.COMPLETE_COMMIT)
_log = logging.getLogger(__name__)

# Called with a partition after a transaction marker was written to it.
OnMarker = Callable[[TopicPartition], None]


@dataclass(slots=True, eq=False)
class Session:
    """The right to use a transactional id until another session begins. `metadata` is the result of its last call."""

    metadata: TransactionMetadata

    @property
    def transactional_id(self) -> str:
        return self.metadata.transactional_id


class TransactionCoordinator:
    """Keeps the states of transactional ids, and ends transactions. Thread-safe. A transaction ends in three steps:

    1. Write to the log that it will be committed, or aborted: this decides it. 2. Write a marker to each of its
    partitions. 3. Write that it is complete. If anything interrupts this after 1 (a crash, a failed disk, Ctrl-C), 2
    and 3 are done before anything else happens under the id; a partition that already has its marker may get another
    one, which changes nothing. A failure under one id is logged and tried again later; it does not stop the others.
    """

    def __init__(self, log_manager: LogManager, log: TransactionLog, ids: ProducerIds, on_marker: OnMarker) -> None:
        self._log_manager = log_manager
        self._clock = log_manager.environment.clock
        self._log = log
        self._markers = Markers(log_manager)
        self._ids = ids
        self._on_marker = on_marker
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}
        self._known: dict[str, TransactionMetadata] = {}
        self._unread = set(log.partitions())
        self.settle()
        log_manager.environment.scheduler.schedule(
            "abort-late-transactions", self.settle, delay_ms=CHECK_INTERVAL_MS, period_ms=CHECK_INTERVAL_MS
        )

    def begin_session(self, transactional_id: str, timeout_ms: int) -> Session:
        """Begin the only session that may use an id (an InitProducerId request).

        The previous session is fenced, and its open transaction aborted.
        """
        longest_ms = self._log_manager.broker_config.transaction_max_timeout_ms
        if timeout_ms > longest_ms:
            expected = f"expected at most transaction.max.timeout.ms, {longest_ms}"
            raise ConfigError(f"transaction.timeout.ms is {timeout_ms}, {expected}")
        with self._lock:
            partition = self._log.partition_of(transactional_id)
            if partition is not None and partition in self._unread:
                self._read(partition, self._markers.open_producers())
            known = self._known.get(transactional_id)
            if known is None:
                self._log.create()  # this creates the directory in which ids are stored
                started = TransactionMetadata(transactional_id, self._ids.allocate(), 0, timeout_ms)
            else:
                known = self._caught_up(self._settled(known))
                self._sessions.pop(transactional_id, None)
                if known.status is TransactionStatus.ONGOING:
                    known = self._end(known, TransactionStatus.PREPARE_ABORT)
                started = TransactionMetadata(transactional_id, *self._bumped(known), timeout_ms)
            session = Session(self._write(started))
            self._sessions[transactional_id] = session
            return session

    def begin(self, session: Session) -> None:
        """Prepare for a new transaction; one that an error left unfinished is ended first."""
        with self._lock:
            known = self._settled(self._checked(session))
            if known.status is TransactionStatus.ONGOING:
                known = self._end(known, TransactionStatus.PREPARE_ABORT)
            session.metadata = known

    def is_ended(self, session: Session) -> bool:
        """Whether the session's transaction is already decided although its producer does not know it."""
        with self._lock:
            known = self._checked(session)
            return known.is_prepared or _identity(known) != _identity(session.metadata)

    def add_partition(self, session: Session, topic_partition: TopicPartition) -> None:
        """Add a partition to the transaction, which begins with its first partition (an AddPartitionsToTxn request)."""
        with self._lock:
            known = self._settled(self._checked(session))
            if _identity(known) != _identity(session.metadata):
                raise IllegalStateError(f"transactional id {known.transactional_id}: {_ended(known)}")
            if known.status is not TransactionStatus.ONGOING:
                start_ms = self._clock.time_ms()
                known = replace(known, status=TransactionStatus.ONGOING, start_ms=start_ms, partitions=frozenset())
            session.metadata = self._write(replace(known, partitions=known.partitions | {topic_partition}))

    def end(self, session: Session, *, commit: bool) -> None:
        """Commit or abort (an EndTxn request). Nothing happens without partitions; a decided transaction is completed.

        TransactionIncompleteError means that it is decided but could not be completed.
        """
        with self._lock:
            known = self._checked(session)
            if known.status is TransactionStatus.ONGOING:
                wanted = TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT
                known = self._end(known, wanted)
            known = self._settled(known)
            was_ended = _identity(known) != _identity(session.metadata)
            session.metadata = known
            if was_ended and (known.status in _COMMITS) != commit:
                raise IllegalStateError(f"transactional id {known.transactional_id}: {_ended(known)}")

    def settle(self) -> None:
        """Complete decided transactions; abort those open for longer than their timeout, and fence their sessions.

        Raises nothing: failures are logged, and tried again the next time.
        """
        with self._lock:
            open_producers = self._markers.open_producers() if self._unread else set()
            for partition in sorted(self._unread):
                try:
                    self._read(partition, open_producers)
                except Exception as error:
                    _log.error("%s cannot be read, its transactional ids cannot be used: %s", partition, error)
            now_ms = self._clock.time_ms()
            for known in list(self._known.values()):
                is_late = known.status is TransactionStatus.ONGOING and now_ms - known.start_ms > known.timeout_ms
                try:
                    if is_late:
                        self._sessions.pop(known.transactional_id, None)
                        self._end(self._caught_up(known), TransactionStatus.PREPARE_ABORT)
                    elif known.is_prepared:
                        self._known[known.transactional_id] = self._adopted(self._settled(known))
                except Exception as error:
                    _log.error(
                        "the transaction of %s cannot be ended now and will be tried again: %s",
                        known.transactional_id,
                        error,
                    )

    def _checked(self, session: Session) -> TransactionMetadata:
        """The state of a session's id; raises ProducerFencedError if another session or a timeout fenced it."""
        known = self._known[session.transactional_id]
        if self._sessions.get(session.transactional_id) is not session:
            found = f"producer id {session.metadata.producer_id}, epoch {session.metadata.epoch}"
            expected = f"expected id {known.producer_id}, epoch {known.epoch}"
            why = f"another producer has taken it over, or it timed out: {found}, {expected}"
            raise ProducerFencedError(f"transactional id {known.transactional_id}: {why}")
        return known

    def _read(self, partition: TopicPartition, open_producers: set[int]) -> None:
        """Load a partition of the transaction log; `open_producers` have an open transaction in some other log."""
        found = self._log.load(partition)
        for transactional_id, known in found.items():
            is_over = known.status is not TransactionStatus.ONGOING and not known.is_prepared
            if is_over and known.producer_id in open_producers:
                found[transactional_id] = self._adopted(known)
        self._known.update(found)
        self._unread.discard(partition)

    def _adopted(self, known: TransactionMetadata) -> TransactionMetadata:
        """The id with a transaction that partitions have open although the transaction log has none.

        A power loss may take the end of the transaction log but not the ends of the partitions.
        """
        caught_up = self._caught_up(known)
        is_open = caught_up.status is TransactionStatus.ONGOING
        return replace(caught_up, start_ms=self._clock.time_ms()) if is_open else known

    def _caught_up(self, known: TransactionMetadata) -> TransactionMetadata:
        """The id with the latest epoch that any partition has seen, and all partitions that have its transaction
        open."""
        epoch, open_in = known.epoch, set(known.partitions)
        for topic_partition, entry in self._markers.entries(known.producer_id):
            epoch = max(epoch, entry.epoch)
            if entry.current_txn_first_offset is not None:
                open_in.add(topic_partition)
        status = TransactionStatus.ONGOING if open_in else known.status
        return replace(known, status=status, epoch=epoch, partitions=frozenset(open_in))

    def _end(self, known: TransactionMetadata, status: TransactionStatus) -> TransactionMetadata:
        epoch = min(known.epoch + 1, MAX_EPOCH)
        return self._settled(self._write(replace(known, status=status, epoch=epoch, version=2)))

    def _settled(self, known: TransactionMetadata) -> TransactionMetadata:
        """Do steps 2 and 3 if the transaction is decided."""
        if not known.is_prepared:
            return known
        try:
            self._write_markers(known)
            return self._write(self._completion(known))
        except Exception as error:
            decision = "committed" if known.status in _COMMITS else "aborted"
            told = f"its transaction is decided and will be {decision}, but that cannot be completed now: {error}"
            raise TransactionIncompleteError(f"transactional id {known.transactional_id}: {told}") from error

    def _write_markers(self, prepared: TransactionMetadata) -> None:
        """Write a marker to each partition that still needs one; if one fails the others still get theirs."""
        coordinator_epoch = self._log.coordinator_epoch(prepared.transactional_id)
        failure: Exception | None = None
        for topic_partition in sorted(prepared.partitions):
            try:
                self._markers.write(prepared, topic_partition, coordinator_epoch)
                self._on_marker(topic_partition)
            except Exception as error:
                failure = failure or error
            else:
                prepared = replace(prepared, partitions=prepared.partitions - {topic_partition})
                self._known[prepared.transactional_id] = prepared
        if failure is not None:
            raise failure

    def _completion(self, prepared: TransactionMetadata) -> TransactionMetadata:
        commit = prepared.status is TransactionStatus.PREPARE_COMMIT
        status = TransactionStatus.COMPLETE_COMMIT if commit else TransactionStatus.COMPLETE_ABORT
        done = replace(prepared, status=status, partitions=frozenset(), next_producer_id=-1)
        if prepared.next_producer_id >= 0 or prepared.epoch >= MAX_EPOCH:
            next_id = prepared.next_producer_id if prepared.next_producer_id >= 0 else self._ids.allocate()
            done = replace(done, producer_id=next_id, epoch=0)
        return done

    def _bumped(self, known: TransactionMetadata) -> tuple[int, int]:
        if known.epoch + 1 < MAX_EPOCH:
            return known.producer_id, known.epoch + 1
        return self._ids.allocate(), 0

    def _write(self, metadata: TransactionMetadata) -> TransactionMetadata:
        self._log.append(metadata)
        self._known[metadata.transactional_id] = metadata
        return metadata


def _identity(metadata: TransactionMetadata) -> tuple[int, int]:
    return metadata.producer_id, metadata.epoch


def _ended(known: TransactionMetadata) -> str:
    return f"its transaction was {'committed' if known.status in _COMMITS else 'aborted'} already"
