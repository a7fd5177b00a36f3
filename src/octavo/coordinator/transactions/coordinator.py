"""The coordinator of transactions: who may write under a transactional id, and how its transactions end."""

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

# Told of a partition that a transaction's marker was written to.
Completed = Callable[[frozenset[TopicPartition]], None]


@dataclass(slots=True, eq=False)
class Session:
    """A producer's hold on its transactional id: this object is it. `metadata` is what its last call gave it."""

    metadata: TransactionMetadata

    @property
    def transactional_id(self) -> str:
        return self.metadata.transactional_id


class TransactionCoordinator:
    """Thread-safe. The end of a transaction:

    1. Note in the log that it is to be committed, or aborted: that decides it. 2. Write a marker to each of its
    partitions. 3. Note that it is complete. Whatever stops this after 1 (a crash, a failed disk, an interrupt), 2 and 3
    are done before anything else happens under the id; a partition that has its marker already may get another one,
    which changes nothing. What is wrong with one id is logged and tried again later; it stops no other.
    """

    def __init__(self, logs: LogManager, log: TransactionLog, ids: ProducerIds, completed: Completed) -> None:
        self._logs = logs
        self._clock = logs.environment.clock
        self._log = log
        self._markers = Markers(logs)
        self._ids = ids
        self._completed = completed
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}
        self._known: dict[str, TransactionMetadata] = {}
        self._unread = set(log.partitions())
        self.settle()
        logs.environment.scheduler.schedule(
            "abort-late-transactions", self.settle, delay_ms=CHECK_INTERVAL_MS, period_ms=CHECK_INTERVAL_MS
        )

    def begin_session(self, transactional_id: str, timeout_ms: int) -> Session:
        """Make a producer the only one that may use an id: one before it is fenced, its open transaction aborted."""
        longest_ms = self._logs.broker_config.transaction_max_timeout_ms
        if timeout_ms > longest_ms:
            expected = f"expected at most transaction.max.timeout.ms, {longest_ms}"
            raise ConfigError(f"transaction.timeout.ms is {timeout_ms}, {expected}")
        with self._lock:
            place = self._log.place(transactional_id)
            if place is not None and place in self._unread:
                self._read(place, self._markers.open_producers())
            known = self._known.get(transactional_id)
            if known is None:
                self._log.create()  # with it the directory, where ids are noted
                started = TransactionMetadata(transactional_id, self._ids.allocate(), 0, timeout_ms)
            else:
                known = self._caught_up(self._settled(known))
                self._sessions.pop(transactional_id, None)
                if known.status is TransactionStatus.ONGOING:
                    known = self._end(known, TransactionStatus.PREPARE_ABORT)
                started = TransactionMetadata(transactional_id, *self._bumped(known), timeout_ms)
            session = Session(self._note(started))
            self._sessions[transactional_id] = session
            return session

    def begin(self, session: Session) -> None:
        """Let a new transaction begin: what is left of the one before, which an error interrupted, is ended first."""
        with self._lock:
            known = self._settled(self._held(session))
            if known.status is TransactionStatus.ONGOING:
                known = self._end(known, TransactionStatus.PREPARE_ABORT)
            session.metadata = known

    def is_ended(self, session: Session) -> bool:
        """Whether the transaction that the session was in is decided, though its producer was not told so."""
        with self._lock:
            known = self._held(session)
            return known.is_prepared or _identity(known) != _identity(session.metadata)

    def add_partition(self, session: Session, name: TopicPartition) -> None:
        """Make a partition part of the transaction, and begin it with the first."""
        with self._lock:
            known = self._settled(self._held(session))
            if _identity(known) != _identity(session.metadata):
                raise IllegalStateError(f"transactional id {known.transactional_id}: {_ended(known)}")
            if known.status is not TransactionStatus.ONGOING:
                start_ms = self._clock.time_ms()
                known = replace(known, status=TransactionStatus.ONGOING, start_ms=start_ms, partitions=frozenset())
            session.metadata = self._note(replace(known, partitions=known.partitions | {name}))

    def end(self, session: Session, *, commit: bool) -> None:
        """Commit or abort. Without partitions nothing happens; one that is decided already is completed.

        TransactionIncompleteError where it is decided but could not be completed.
        """
        with self._lock:
            known = self._held(session)
            if known.status is TransactionStatus.ONGOING:
                wanted = TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT
                known = self._end(known, wanted)
            known = self._settled(known)
            was_ended = _identity(known) != _identity(session.metadata)
            session.metadata = known
            if was_ended and (known.status in _COMMITS) != commit:
                raise IllegalStateError(f"transactional id {known.transactional_id}: {_ended(known)}")

    def settle(self) -> None:
        """Complete what is decided, abort what has been open for longer than its timeout, which fences its producer.

        Raises nothing: what cannot be done now is logged, and tried again the next time.
        """
        with self._lock:
            hanging = self._markers.open_producers() if self._unread else set()
            for place in sorted(self._unread):
                try:
                    self._read(place, hanging)
                except Exception as error:
                    _log.error("%s cannot be read, its transactional ids cannot be used: %s", place, error)
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
                    _log.error("the transaction of %s is left for later: %s", known.transactional_id, error)

    def _held(self, session: Session) -> TransactionMetadata:
        """What is known of a session's id; refused where another producer, or the transaction's timeout, fenced it."""
        known = self._known[session.transactional_id]
        if self._sessions.get(session.transactional_id) is not session:
            found = f"producer id {session.metadata.producer_id}, epoch {session.metadata.epoch}"
            expected = f"expected id {known.producer_id}, epoch {known.epoch}"
            raise ProducerFencedError(f"transactional id {known.transactional_id}: {found}, {expected}")
        return known

    def _read(self, place: TopicPartition, hanging: set[int]) -> None:
        """Take over a partition of the transaction log; `hanging` producers have a transaction open in some log."""
        found = self._log.load(place)
        for transactional_id, known in found.items():
            is_over = known.status is not TransactionStatus.ONGOING and not known.is_prepared
            if is_over and known.producer_id in hanging:
                found[transactional_id] = self._adopted(known)
        self._known.update(found)
        self._unread.discard(place)

    def _adopted(self, known: TransactionMetadata) -> TransactionMetadata:
        """A transaction that data's partitions have open is open, though the log says that there is none.

        After a power loss the end of the log may be gone, theirs not.
        """
        caught_up = self._caught_up(known)
        is_open = caught_up.status is TransactionStatus.ONGOING
        return replace(caught_up, start_ms=self._clock.time_ms()) if is_open else known

    def _caught_up(self, known: TransactionMetadata) -> TransactionMetadata:
        """An id with the latest epoch that a partition has seen, and all partitions that have its transaction open."""
        epoch, open_in = known.epoch, set(known.partitions)
        for name, entry in self._markers.entries(known.producer_id):
            epoch = max(epoch, entry.epoch)
            if entry.current_txn_first_offset is not None:
                open_in.add(name)
        status = TransactionStatus.ONGOING if open_in else known.status
        return replace(known, status=status, epoch=epoch, partitions=frozenset(open_in))

    def _end(self, known: TransactionMetadata, status: TransactionStatus) -> TransactionMetadata:
        epoch = min(known.epoch + 1, MAX_EPOCH)
        return self._settled(self._note(replace(known, status=status, epoch=epoch, version=2)))

    def _settled(self, known: TransactionMetadata) -> TransactionMetadata:
        """Steps 2 and 3 for a transaction that is decided."""
        if not known.is_prepared:
            return known
        try:
            self._write_markers(known)
            return self._note(self._completion(known))
        except Exception as error:
            decision = "committed" if known.status in _COMMITS else "aborted"
            told = f"its transaction is decided and will be {decision}, but that cannot be completed now: {error}"
            raise TransactionIncompleteError(f"transactional id {known.transactional_id}: {told}") from error

    def _write_markers(self, prepared: TransactionMetadata) -> None:
        """A marker to each partition that has none yet; one that fails keeps none of the others from getting theirs."""
        coordinator_epoch = self._log.coordinator_epoch(prepared.transactional_id)
        failure: Exception | None = None
        for name in sorted(prepared.partitions):
            try:
                self._markers.write(prepared, name, coordinator_epoch)
                self._completed(frozenset({name}))
            except Exception as error:
                failure = failure or error
            else:
                prepared = replace(prepared, partitions=prepared.partitions - {name})
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

    def _note(self, metadata: TransactionMetadata) -> TransactionMetadata:
        self._log.append(metadata)
        self._known[metadata.transactional_id] = metadata
        return metadata


def _identity(metadata: TransactionMetadata) -> tuple[int, int]:
    return metadata.producer_id, metadata.epoch


def _ended(known: TransactionMetadata) -> str:
    return f"its transaction was {'committed' if known.status in _COMMITS else 'aborted'} already"
