"""`Producer`: sends records to the topics of a `LogDir`, in batches, idempotently, and in transactions if requested."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

from octavo.client.producer.accumulator import Accumulator
from octavo.client.producer.batch import ProducerBatch, Sent
from octavo.client.producer.config import ProducerConfig
from octavo.client.producer.encode import NO_HEADERS, Headers, as_bytes, check_timestamp, encode_headers, upper_bound
from octavo.client.producer.future import RecordFuture
from octavo.client.producer.partitioner import partition_for_key
from octavo.client.producer.parts import ProducerIdentity, ProducerParts
from octavo.client.producer.queue import PartitionQueue, TopicQueues
from octavo.client.producer.sender import Sender
from octavo.client.producer.table import AppendedRecords, TableSender
from octavo.client.producer.transaction import ENDING, NO_TRANSACTION, ONLY_ABORT, ProducerTransaction
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import IllegalStateError, KafkaError, ProducerFencedError, TransactionAbortedError
from octavo.format.names import as_topic_partition
from octavo.kernels import append_record
from octavo.kernels.integers import INT64_MAX
from octavo.storage.log_manager import LogManager
from octavo.system.closing import Closing
from octavo.system.forks import FORKED
from octavo.system.shown import some

# Turns a key or value that a program sends into bytes or text.
Serializer = Callable[[Any], bytes | str | None]

_CLOSED = "the producer is closed"
_FORKED = f"the producer cannot be used: {FORKED}"
_log = logging.getLogger(__name__)


class Serializers(NamedTuple):
    """Turn keys and values into bytes or text. None stays null; without a serializer nothing is changed."""

    key: Serializer | None = None
    value: Serializer | None = None

    def apply(self, value: object, key: object) -> tuple[object, object]:
        return (
            value if self.value is None or value is None else self.value(value),
            key if self.key is None or key is None else self.key(key),
        )


class Producer(Closing):
    """Sends records; `LogDir.producer` creates one. Thread-safe: one thread's records keep their order in a partition.

    Close it, or use it with `with`: closing appends what is still waiting, or aborts the open transaction.
    """

    def __init__(
        self,
        log_manager: LogManager,
        config: ProducerConfig,
        identity: ProducerIdentity,
        transaction: ProducerTransaction | None,
        serializers: Serializers | None = None,
    ) -> None:
        self.config = config
        self._serializers = serializers
        self._log_manager = log_manager
        self._time_ms = log_manager.environment.clock.time_ms
        self._max_bytes = config.max_record_bytes
        self._ignores_keys = config.partitioner_ignore_keys
        self._lock = threading.Lock()
        self._identity, self._transaction = identity, transaction
        parts = ProducerParts(config, log_manager, identity, transaction)
        # Why nothing may be sent now; a transactional producer has to begin a transaction first.
        self._refusal: str | None = None if transaction is None else NO_TRANSACTION
        self.is_closed = False
        self._accumulator = Accumulator(parts, Sender(parts))
        self._topics = self._accumulator.topics
        self._tables = TableSender(parts, self._accumulator)

    def __repr__(self) -> str:
        name = "" if self.config.transactional_id is None else f" {self.config.transactional_id}"
        state = "closed" if self.is_closed else some(self._topics) or "nothing sent yet"
        return f"<Producer{name}: {state}>"

    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        *,
        timestamp_ms: int | None = None,
    ) -> RecordFuture:
        """Add a record to the batch of its partition.

            producer.send("orders", b"a coffee", key="table 5", headers={"waiter": "Ann"})

        Key and value are bytes, text (written as UTF-8) or None, which is null; or whatever the serializers accept.
        Headers are a mapping, or pairs. Without a partition the key decides; without a key, records stick to one
        randomly chosen partition for about one batch. The timestamp is in milliseconds, now by default;
        `timestamp_ms` is kafka-python's name for it. Returns a future at once; raises for an unknown topic and for a
        record larger than max.request.size or buffer.memory.
        """
        if self._serializers is not None:
            value, key = self._serializers.apply(value, key)
        content = value if type(value) is bytes else as_bytes(value, "value")
        name = key if type(key) is bytes else as_bytes(key, "key")
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        if timestamp is None and (timestamp := timestamp_ms) is None:
            timestamp = self._time_ms()
        elif type(timestamp) is not int or not 0 <= timestamp <= INT64_MAX:
            check_timestamp(timestamp)
        encoded_headers = encode_headers(headers) if headers else NO_HEADERS
        queues = self._topics.get(topic) or self._accumulator.queues(topic)
        if partition is not None:
            queue = queues.queue(partition)
        elif name is not None and not self._ignores_keys:
            queue = queues.queues[partition_for_key(name, len(queues.queues))]
        elif len(queues.queues) > 1:
            return self._send_sticky(queues, (timestamp, name, content, encoded_headers))
        else:
            queue = queues.queues[0]
        batch = queue.open
        place = append_record(
            batch.data, timestamp, name, content, encoded_headers, batch.write_limit, batch.ratio, self._max_bytes
        )
        if place < 0:
            batch, place = self._append(queues, queue, (timestamp, name, content, encoded_headers))
        return RecordFuture(batch, place, timestamp)

    def send_table(self, topic: str, data: Any) -> list[AppendedRecords]:
        """Append Arrow data (a table, record batches, a reader of them) by columns, many times faster than `send`.

        The columns are timestamp, key, value, headers and partition, each of which may be missing; a scan's other
        columns (topic, offset, timestampType) are ignored, because the log determines them. When the call returns the
        rows are in the log, after what was sent before. If it raises, what was appended up to then stays.
        """
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        return list(self._tables.append(self._accumulator.queues(topic), data))

    def partitions_for(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions."""
        queues = self._accumulator.queues(topic)
        queues.refresh()
        return list(range(queues.count))

    def flush(self) -> None:
        """Wait until every record sent so far is in its log, or its future has an error."""
        if self._refusal == _FORKED:
            raise IllegalStateError(_FORKED)
        self._accumulator.flush_all()

    def write_held(self, topics: Collection[str] | None = None) -> None:
        """Append what is waiting for linger.ms, for some topics or all, so that a reader finds it.

        Readers in this process call it; nobody else needs to.
        """
        self._accumulator.write_held(topics)

    def close(self) -> None:
        """Append what is waiting, or abort the open transaction; nothing can be sent afterwards.

        If it is interrupted, it can be called again.
        """
        if self._refusal == _FORKED:
            return
        with self._lock:
            self._refusal = _CLOSED
        try:
            if self._transaction is not None and self._transaction.is_open:
                with suppress(ProducerFencedError):
                    self._abort(self._transaction, _CLOSED)
        finally:
            self._accumulator.is_closed = True
            self.flush()
            self.is_closed = True

    def disown(self) -> None:
        """In a forked child: refuse every use; futures raise errors too."""
        self._refusal = _FORKED
        self._lock = threading.Lock()  # a thread of the parent may have held it
        self._accumulator.disown()

    def init_transactions(self) -> None:
        """Only check that the producer is transactional and open. Kafka's producer needs this call before its first
        transaction; here, creating the producer does its work."""
        self._open_session()

    def begin_transaction(self) -> None:
        """Begin a transaction: everything sent until it ends is committed as a whole, or not at all.

        An earlier transaction that was decided but not completed (TransactionIncompleteError) is completed first.
        """
        with self._lock:
            transaction = self._open_session()
            if self._refusal != NO_TRANSACTION:
                transaction.check_ended()
            transaction.begin()
            self._refusal = None

    def commit_transaction(self) -> None:
        """Append what is waiting, then commit: readers of committed records see the whole transaction.

        If a record could not be appended, IllegalStateError is raised from its error (KafkaStorageError if it was one),
        and only `abort_transaction` can end the transaction.
        TransactionIncompleteError means that the commit is final, but not all partitions have their marker yet.
        """
        transaction = self._open_session()
        self.flush()
        with self._lock:
            self._refusal = ENDING
            try:
                transaction.commit()
            except Exception:
                if transaction.has_failed:
                    self._refusal = f"{ONLY_ABORT}: call abort_transaction()"
                else:
                    self._refusal = None if transaction.is_open else NO_TRANSACTION
                raise
            self._refusal = NO_TRANSACTION

    def abort_transaction(self) -> None:
        """Drop what is waiting and abort what was appended: readers of committed records see none of it."""
        transaction = self._open_session()
        with self._lock:
            self._refusal = ENDING if transaction.is_open else NO_TRANSACTION
        self._abort(transaction, NO_TRANSACTION)

    def _abort(self, transaction: ProducerTransaction, refusal: str) -> None:
        self._accumulator.abandon_all(TransactionAbortedError("not appended: the transaction was aborted"))
        try:
            transaction.abort()
        except Exception:
            self._refusal = refusal
            raise
        self._refusal = refusal

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction for the block: committed at its end, aborted if it raises."""
        transaction = self._open_session()
        if self._refusal != NO_TRANSACTION:
            transaction.check_ended()
        try:
            self.begin_transaction()
            yield self
            self.commit_transaction()
        except BaseException:
            if transaction.is_open:
                self._abort_after_error()
            raise

    def _abort_after_error(self) -> None:
        """Abort, but let the user see the original error."""
        with suppress(ProducerFencedError):  # whoever fenced this producer has aborted its transaction
            try:
                self.abort_transaction()
            except KafkaError as error:
                transactional_id = self.config.transactional_id
                _log.warning("the transaction of %s could not be aborted: %s", transactional_id, error)

    def send_offsets_to_transaction(
        self, offsets: Mapping[tuple[str, int], int | OffsetAndMetadata], group: str
    ) -> None:
        """Commit a group's offsets (the next ones to read) with the transaction; until then they have no effect."""
        named = {as_topic_partition(partition): offset for partition, offset in offsets.items()}
        given = {
            partition: offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            for partition, offset in named.items()
        }
        topic_ids = {partition.topic: self._log_manager.log(*partition).topic_id for partition in given}
        self._open_session().commit_offsets(group, given, topic_ids)

    def _open_session(self) -> ProducerTransaction:
        if self._transaction is None:
            raise IllegalStateError("the producer has no transactions: create it with a transactional.id")
        if self._refusal in (_CLOSED, _FORKED):
            raise IllegalStateError(self._refusal)
        return self._transaction

    def _append(self, queues: TopicQueues, queue: PartitionQueue, record: Sent) -> tuple[ProducerBatch, int]:
        """Start another batch with the record."""
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        return self._accumulator.append(queues, queue, record)

    def _send_sticky(self, queues: TopicQueues, record: Sent) -> RecordFuture:
        """Add a record without a partition, and without a key that decides one, to the topic's sticky partition."""
        with queues.lock:
            queue = queues.queues[queues.sticky.current]
            batch = queue.open
            size = batch.estimated_size if batch.count else 0
            limits = batch.write_limit, batch.ratio, self._max_bytes
            place = append_record(batch.data, *record, *limits)
            if place >= 0:
                queues.sticky.appended(batch.estimated_size - size, is_batch_full=batch.is_full)
        if place < 0:  # this may run callbacks, which may send to other topics, so the lock is free
            batch, place = self._append(queues, queue, record)
            with queues.lock:
                queues.sticky.partitions = queues.count
                growth = min(batch.estimated_size, upper_bound(*record[1:]))  # others may have added records, too
                queues.sticky.appended(growth, is_batch_full=batch.is_full)
        return RecordFuture(batch, place, record[0])
