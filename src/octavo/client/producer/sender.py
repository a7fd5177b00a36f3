"""Appends a producer's closed batches to their logs, and decides what is retried, what is split and what fails."""

from __future__ import annotations

from octavo.client.producer.batch import ProducerBatch, Sent
from octavo.client.producer.encode import encode_batch, encode_headers, upper_bound
from octavo.client.producer.parts import ProducerParts
from octavo.client.producer.queue import PartitionQueue
from octavo.errors import (
    AppendRejected,
    DeliveryTimeoutError,
    InvalidProducerEpochError,
    KafkaError,
    KafkaStorageError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.kernels.layout import BATCH_OVERHEAD


class Sender:
    """Appends the closed batches of a queue, one by one. Callers of its methods hold the queue's lock."""

    def __init__(self, parts: ProducerParts) -> None:
        self._parts = parts
        self._config = parts.config
        self._codec, self._level = parts.config.codec, parts.config.level
        self._identity = parts.identity
        self._ratios = parts.ratios
        self._clock = parts.log_manager.environment.clock
        self._transaction = parts.transaction

    def append(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Append a batch; afterwards it is done, or split, or waits for a retry."""
        if not queue.is_current:
            self.fail(batch, UnknownTopicOrPartitionError(f"partition {queue.topic_partition} was deleted"))
            return
        count = batch.count
        if batch.encoded is None:
            self._encode(queue, batch)
        log = queue.log
        try:
            result = log.append_as_leader(batch.restore(), leader_epoch=log.leader_epoch, trusted=True)
        except (RecordTooLargeError, RecordBatchTooLargeError) as error:
            if count > 1:
                self._split(batch)
            else:
                self._refuse(batch, error)
        except OutOfOrderSequenceError as error:
            self._begin_epoch(queue, batch, error)
        except InvalidProducerEpochError as error:
            self.fail(batch, ProducerFencedError(str(error)) if self._transaction else error)
        except KafkaStorageError as error:  # the log may have the batch, so it is tried again with its sequence
            self._retry(queue, batch, error)
        except AppendRejected as error:
            self._refuse(batch, error)
        else:
            if self._identity.is_idempotent:
                queue.advance_sequence(batch.base_sequence, count)
            batch.complete(result.first_offset, result.log_append_time)

    def _encode(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        records = batch.filled - BATCH_OVERHEAD
        origin = self._parts.origin(queue)
        batch.base_sequence = origin.base_sequence
        encoded = encode_batch(batch, self._codec, self._level, origin)
        if self._codec is not Codec.NONE:
            self._ratios.update(batch.topic, (len(encoded) - BATCH_OVERHEAD) / records)
        batch.header = bytes(encoded[:BATCH_OVERHEAD])
        batch.encoded = encoded

    def _split(self, batch: ProducerBatch) -> None:
        """Split a batch that is too large for the topic."""
        ratio = (len(batch.restore()) - BATCH_OVERHEAD) / (batch.filled - BATCH_OVERHEAD)
        if self._codec is not Codec.NONE:
            self._ratios.reset(batch.topic, ratio)
        batch.split_into(_split_batch(batch, self._config.batch_size, self._parts.ratio(batch.topic)))

    def _begin_epoch(self, queue: PartitionQueue, batch: ProducerBatch, error: OutOfOrderSequenceError) -> None:
        """Continue in a new epoch, which may begin with any batch: the log has lost some, perhaps by a truncation."""
        if self._transaction is not None or batch.attempts:
            self.fail(batch, error)
            return
        batch.restore()
        batch.encoded = None
        self._identity.bump()
        batch.attempts += 1
        self.append(queue, batch)

    def _retry(self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError) -> None:
        """Set the time of the next attempt, or fail the batch if the log is closed or no time or retries are left."""
        now_ms, config = self._clock.monotonic_ms(), self._config
        batch.attempts += 1
        expired = now_ms - batch.created_ms >= config.delivery_timeout_ms
        if not expired and not queue.log.is_closed and batch.attempts <= config.retries:
            backoff_ms = min(config.retry_backoff_ms << min(batch.attempts - 1, 20), config.retry_backoff_max_ms)
            batch.retry_ms = now_ms + backoff_ms
            return
        self._parts.lose_track()
        if expired:
            waited = f"a batch could not be appended within delivery.timeout.ms, {config.delivery_timeout_ms}"
            where = f"{batch.topic}-{batch.partition}"
            self.fail(batch, DeliveryTimeoutError(f"{where}: {waited}; the last error: {error}"))
        else:
            self.fail(batch, error)

    def _refuse(self, batch: ProducerBatch, error: AppendRejected) -> None:
        """Fail a batch that the log refused, and name the partition, which the error does not."""
        error.add_note(f"{batch.topic}-{batch.partition}")
        self.fail(batch, error)

    def fail(self, batch: ProducerBatch, error: Exception) -> None:
        """Fail a batch, after telling the transaction, so that it cannot be committed without the batch."""
        if self._transaction is not None:
            self._transaction.fail(error)
        batch.fail(error)


def _split_batch(batch: ProducerBatch, batch_size: int, ratio: float) -> list[tuple[int, ProducerBatch]]:
    """Divide the records of a batch into smaller batches, each with the original place of its first record.

    Each has at most batch.size bytes, or half the size of a batch that was not larger than that, or one larger record.
    """
    size = batch.filled
    limit = batch_size if size > batch_size else size // 2
    parts: list[tuple[int, ProducerBatch]] = []
    for place, record in enumerate(_records(batch, size)):
        if parts and parts[-1][1].add(record, layout.MAX_FILE_BYTES) >= 0:
            continue
        write_limit = max(limit, upper_bound(*record[1:]))
        part = ProducerBatch(
            batch.topic, batch.partition, write_limit, ratio, batch.created_ms, batch.push, batch.completed
        )
        part.add(record, layout.MAX_FILE_BYTES)
        parts.append((place, part))
    for _, part in parts:
        part.close()
    return parts


def _records(batch: ProducerBatch, size: int) -> list[Sent]:
    """The records of the batch, which is not compressed yet."""
    fields = layout.BATCH_HEADER.unpack_from(batch.data)
    header = BatchHeader(
        base_offset=0,
        partition_leader_epoch=layout.NO_LEADER_EPOCH,
        attributes=0,
        last_offset_delta=fields[6],
        base_timestamp=fields[7],
        max_timestamp=fields[8],
        size=size,
        magic=2,
        count=fields[12],
    )
    columns = Decoder().decode_one(memoryview(batch.data)[:size], header.to_table()[0])
    return [
        (record.timestamp, record.key, record.value, encode_headers(record.headers)) for record in to_records(columns)
    ]
