"""Appending a producer's closed batches to their logs: what is tried again, what is split, what fails."""

from __future__ import annotations

from octavo.client.producer.batch import EncodedBatch, ProducerBatch
from octavo.client.producer.encode import encode_batch
from octavo.client.producer.parts import ProducerParts
from octavo.client.producer.queue import PartitionQueue
from octavo.client.producer.split import split_batch
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
from octavo.format.compression import Codec
from octavo.kernels.layout import BATCH_OVERHEAD


class Sender:
    """Takes the closed batches of a queue, in order. Its methods want the queue's lock held."""

    def __init__(self, parts: ProducerParts) -> None:
        self._parts = parts
        self._config = parts.config
        self._codec, self._level = parts.config.codec, parts.config.level
        self._identity = parts.identity
        self._ratios = parts.ratios
        self._clock = parts.environment.clock
        self._transaction = parts.transaction

    def drain(self, queue: PartitionQueue, *, now: bool = False) -> None:
        """Append what is closed, up to a batch that must wait for its retry (`now`: it need not).

        An interrupt leaves a batch where it is: it is tried again with its sequence, and where the log has it already
        it answers with its offsets. Callbacks are the queue's to call once the lock is given back.
        """
        while queue.closed:
            batch = queue.closed[0]
            if not batch.is_settled:
                if batch.retry_ms > self._clock.monotonic_ms() and not now:
                    break
                try:
                    self._append(queue, batch)
                except Exception as error:  # whatever it is, who waits for the batch must hear of it
                    self._fail(batch, error)
                if not batch.is_settled:
                    break
            queue.finish(batch)

    def _append(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Append a batch, which is done then, or split, or waits for a retry."""
        if not queue.is_current:
            self._fail(batch, UnknownTopicOrPartitionError(f"there is no partition {queue.name} any more"))
            return
        count = batch.count
        if batch.encoded is None:
            batch.encoded = self._encode(queue, batch)
        log = queue.log
        try:
            data = batch.encoded.restore() if batch.was_handed_over else batch.encoded.view
            batch.was_handed_over = True
            result = log.append_as_leader(data, leader_epoch=log.leader_epoch, trusted=True)
        except (RecordTooLargeError, RecordBatchTooLargeError) as error:
            if count > 1:
                self._split(batch)
            else:
                self._refuse(batch, error)
        except OutOfOrderSequenceError as error:
            self._begin_epoch(queue, batch, error)
        except InvalidProducerEpochError as error:
            self._fail(batch, ProducerFencedError(str(error)) if self._transaction else error)
        except KafkaStorageError as error:  # the log may have the batch or not: it is tried again with its sequence
            self._retry(queue, batch, error)
        except AppendRejected as error:
            self._refuse(batch, error)
        else:
            if self._identity.is_idempotent:
                queue.advance_sequence(batch.base_sequence, count)
            batch.complete(result.first_offset, result.log_append_time)

    def _encode(self, queue: PartitionQueue, batch: ProducerBatch) -> EncodedBatch:
        records = batch.filled - BATCH_OVERHEAD
        stamp = self._parts.stamp(queue)
        batch.base_sequence = stamp.base_sequence
        encoded = encode_batch(batch, self._codec, self._level, stamp)
        if self._codec is not Codec.NONE:
            self._ratios.update(batch.topic, (len(encoded.view) - BATCH_OVERHEAD) / records)
        return encoded

    def _split(self, batch: ProducerBatch) -> None:
        """Make smaller batches of one that is too large for the topic."""
        assert batch.encoded is not None
        ratio = (len(batch.encoded.view) - BATCH_OVERHEAD) / (batch.filled - BATCH_OVERHEAD)
        if self._codec is not Codec.NONE:
            self._ratios.reset(batch.topic, ratio)
        batch.encoded.restore()
        batch.split_into(split_batch(batch, self._config.batch_size, self._parts.ratio(batch.topic)))

    def _begin_epoch(self, queue: PartitionQueue, batch: ProducerBatch, error: OutOfOrderSequenceError) -> None:
        """The log has forgotten batches (it was truncated, say): go on in a new epoch, where nothing is expected."""
        if self._transaction is not None or batch.attempts:
            self._fail(batch, error)
            return
        assert batch.encoded is not None
        batch.encoded.restore()
        batch.encoded = None
        self._identity.bump()
        batch.attempts += 1
        self._append(queue, batch)

    def _retry(self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError) -> None:
        """Let the batch wait; give up where no retry can help."""
        now_ms, config = self._clock.monotonic_ms(), self._config
        batch.attempts += 1
        expired = now_ms - batch.created_ms >= config.delivery_timeout_ms
        if not expired and not queue.log.state.is_closed and batch.attempts <= config.retries:
            backoff_ms = min(config.retry_backoff_ms << min(batch.attempts - 1, 20), config.retry_backoff_max_ms)
            batch.retry_ms = now_ms + backoff_ms
            return
        self._parts.lose_track()
        if expired:
            waited = f"no append within delivery.timeout.ms, {config.delivery_timeout_ms}"
            where = f"{batch.topic}-{batch.partition}"
            self._fail(batch, DeliveryTimeoutError(f"{where}: {waited}; the last error: {error}"))
        else:
            self._fail(batch, error)

    def _refuse(self, batch: ProducerBatch, error: AppendRejected) -> None:
        """Refuse a batch; the log does not say which partition it is."""
        error.add_note(f"{batch.topic}-{batch.partition}")
        self._fail(batch, error)

    def _fail(self, batch: ProducerBatch, error: Exception) -> None:
        """Fail a batch; its transaction hears of it first, so that it cannot be committed without it."""
        if self._transaction is not None:
            self._transaction.fail(error)
        batch.fail(error)
