"""`Producer`: records into the topics of a `LogDir`, batched, idempotent, in transactions if asked for."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Self

from octavo.client.producer.accumulator import Accumulator, Sent
from octavo.client.producer.batch import ProducerBatch
from octavo.client.producer.config import ProducerConfig
from octavo.client.producer.encode import NO_HEADERS, Headers, as_bytes, encode_headers
from octavo.client.producer.future import RecordFuture
from octavo.client.producer.parts import ProducerIdentity, ProducerParts
from octavo.client.producer.queue import PartitionQueue, TopicQueues
from octavo.client.producer.sender import Sender
from octavo.client.producer.table import AppendedRecords, TableSender
from octavo.client.producer.transaction import ENDING, NO_TRANSACTION, ProducerTransaction
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import (
    IllegalStateError,
    InvalidTimestampError,
    KafkaError,
    ProducerFencedError,
    TransactionAbortedError,
    UnknownTopicOrPartitionError,
)
from octavo.format.entry_layout import INT64_MAX
from octavo.format.names import TopicPartition, check_writable
from octavo.kernels import append_record, murmur2
from octavo.storage.log_manager import LogManager
from octavo.system.forks import FORKED

_CLOSED = "the producer is closed"
_FORKED = f"the producer cannot be used: {FORKED}"
_log = logging.getLogger(__name__)


class Producer:
    """Sends records; `LogDir.producer` makes one. Thread-safe: records of one thread keep their order in a partition.

    To be closed, or used with `with`: closing appends what waits.
    """

    def __init__(
        self,
        logs: LogManager,
        config: ProducerConfig,
        identity: ProducerIdentity,
        transaction: ProducerTransaction | None,
    ) -> None:
        self.config = config
        self._logs = logs
        self._time_ms = logs.environment.clock.time_ms
        self._max_bytes = config.max_record_bytes
        self._ignores_keys = config.partitioner_ignore_keys
        self._chooser = random.Random()
        self._topics: dict[str, TopicQueues] = {}
        self._lock = threading.Lock()
        self._identity, self._transaction = identity, transaction
        parts = ProducerParts(config, logs.environment, identity, transaction)
        # Why nothing may be sent; with transactions it is one of them that must be begun.
        self._refusal: str | None = None if transaction is None else NO_TRANSACTION
        self.is_closed = False
        self._accumulator = Accumulator(parts, Sender(parts))
        self._tables = TableSender(parts, self._accumulator)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        topic: str,
        value: bytes | str | None = None,
        key: bytes | str | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> RecordFuture:
        """Give a record to the batch of its partition; text is written as UTF-8. Headers are pairs, or a mapping.

        Without a partition the key decides, without a key it is any. Without a timestamp (milliseconds) it is now.
        Returns at once with a future; raises for a record that no batch can take and for an unknown topic.
        """
        content = value if type(value) is bytes else as_bytes(value, "value")
        name = key if type(key) is bytes else as_bytes(key, "key")
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        if timestamp is None:
            timestamp = self._time_ms()
        elif not 0 <= timestamp <= INT64_MAX:
            expected = "0 or more" if timestamp < 0 else f"at most {INT64_MAX}"
            raise InvalidTimestampError(f"timestamp {timestamp}, expected {expected}")
        encoded_headers = encode_headers(headers) if headers else NO_HEADERS
        queues = self._topics.get(topic) or self._queues(topic)
        if partition is not None:
            queue = queues.queue(partition)
        elif name is not None and not self._ignores_keys:
            queue = queues.queues[(murmur2(name) & 0x7FFFFFFF) % len(queues.queues)]
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
        """Append Arrow data: a table, record batches, a reader of them; by columns, many times as fast as `send`.

        Columns are timestamp, key, value and headers, each of which may be missing, and partition; what else a scan
        gives (topic, offset, timestampType) is the log's to decide. It is in the log when the call returns, behind
        what was sent before; an error is raised, and what was appended up to then stays.
        """
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        return list(self._tables.append(self._queues(topic), data))

    def partitions_for(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions."""
        queues = self._queues(topic)
        queues.refresh()
        return list(range(queues.count))

    def flush(self) -> None:
        """Wait until every record that was sent is in its log, or its future knows why not."""
        if self._refusal == _FORKED:
            raise IllegalStateError(_FORKED)
        for queues in list(self._topics.values()):
            for queue in queues:
                self._accumulator.flush(queue)

    def close(self) -> None:
        """Append what waits, abort a transaction that is open; nothing can be sent after that.

        A close that was interrupted can be called again.
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
        """In a forked child: refuse every use. Futures say so, too."""
        self._refusal = _FORKED
        self._lock = threading.Lock()  # a thread of the parent's may have held it, and those of the queues
        self._accumulator.disown()
        for queues in self._topics.values():
            queues.disown()

    def init_transactions(self) -> None:
        """What Kafka's producer wants before its first transaction; here making the producer has done it."""
        self._open_session()

    def begin_transaction(self) -> None:
        """Begin a transaction: what is sent until its end is committed as a whole, or not at all.

        If the end of the one before was decided but not completed (TransactionIncompleteError), that is done first.
        """
        with self._lock:
            transaction = self._open_session()
            if self._refusal in (None, ENDING):
                transaction.check_ended()
            transaction.begin()
            self._refusal = None

    def commit_transaction(self) -> None:
        """Append what waits, then commit: readers of committed records see all of the transaction.

        If a record could not be appended its error is raised, and only `abort_transaction` can follow.
        TransactionIncompleteError says that the transaction is committed for good, but not in all partitions yet.
        """
        transaction = self._open_session()
        self.flush()
        with self._lock:
            self._refusal = ENDING
            try:
                transaction.commit()
            except Exception:
                self._refusal = None if transaction.is_open else NO_TRANSACTION
                raise
            self._refusal = NO_TRANSACTION

    def abort_transaction(self) -> None:
        """Drop what waits and mark what was appended: readers of committed records see nothing of it."""
        transaction = self._open_session()
        with self._lock:
            self._refusal = ENDING if transaction.is_open else NO_TRANSACTION
        self._abort(transaction, NO_TRANSACTION)

    def _abort(self, transaction: ProducerTransaction, refusal: str) -> None:
        for queues in list(self._topics.values()):
            for queue in queues:
                self._accumulator.abandon(queue, TransactionAbortedError("its transaction was aborted"))
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
        if self._refusal in (None, ENDING):
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
        """Abort where the reason for it is what the user is to see."""
        with suppress(ProducerFencedError):  # then it is aborted already
            try:
                self.abort_transaction()
            except KafkaError as error:
                _log.warning("a transaction was not aborted after an error: %s", error)

    def send_offsets_to_transaction(
        self, offsets: Mapping[tuple[str, int], int | OffsetAndMetadata], group: str
    ) -> None:
        """Commit a group's offsets (the next to read) with the transaction: they count once it is committed."""
        given = {
            TopicPartition(*name): offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            for name, offset in offsets.items()
        }
        topic_ids = {name.topic: self._logs.log(*name).topic_id for name in given}
        self._open_session().commit_offsets(group, given, topic_ids)

    def _open_session(self) -> ProducerTransaction:
        if self._transaction is None:
            raise IllegalStateError("the producer has no transactions, expected a transactional.id")
        if self._refusal in (_CLOSED, _FORKED):
            raise IllegalStateError(self._refusal)
        return self._transaction

    def _queues(self, topic: str) -> TopicQueues:
        with self._lock:
            queues = self._topics.get(topic)
            if queues is None:
                check_writable(topic, self.config.client_id)
                queues = TopicQueues(topic, self._logs, self.config.batch_size, self._chooser)
                self._topics[topic] = queues
            return queues

    def _append(self, queues: TopicQueues, queue: PartitionQueue, record: Sent) -> tuple[ProducerBatch, int]:
        """Begin another batch with the record."""
        if self._refusal is not None:
            raise IllegalStateError(self._refusal)
        if queue.is_current:
            queues.refresh()
            return self._accumulator.append(queue, record)
        gone = UnknownTopicOrPartitionError(f"topic {queue.topic} was deleted")
        for old in queues:
            self._accumulator.abandon(old, gone)
        with self._lock:
            if self._topics.get(queue.topic) is queues:
                del self._topics[queue.topic]
        again = self._queues(queue.topic)
        return self._append(again, again.queue(queue.partition), record)

    def _send_sticky(self, queues: TopicQueues, record: Sent) -> RecordFuture:
        """A record whose partition nothing decides, to the one that such records stick to."""
        with queues.lock:
            queue = queues.queues[queues.sticky.current]
            batch = queue.open
            size = batch.estimated_size if batch.count else 0
            limits = batch.write_limit, batch.ratio, self._max_bytes
            place = append_record(batch.data, *record, *limits)
            if place < 0:
                size = 0
                batch, place = self._append(queues, queue, record)
                queues.sticky.partitions = queues.count
            queues.sticky.appended(batch.estimated_size - size, is_batch_full=batch.is_full)
        return RecordFuture(batch, place, record[0])
