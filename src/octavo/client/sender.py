"""Appending a producer's closed batches to their logs: what is tried again, what is split, what fails."""

from __future__ import annotations

from octavo.client.batch import Callback, EncodedBatch, ProducerBatch
from octavo.client.encode import encode_batch
from octavo.client.parts import ProducerParts
from octavo.client.queue import PartitionQueue
from octavo.client.split import split_batch
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

    def drain(self, queue: PartitionQueue, *, now: bool = False) -> list[Callback]:
        """Append what is closed, up to a batch that must wait for its retry (`now`: it need not).

        Returns what is to be called once the lock is given back.
        """
        callbacks: list[Callback] = []
        while queue.closed:
            batch = queue.closed[0]
            if batch.retry_ms > self._clock.monotonic_ms() and not now:
                break
            try:
                done = self._append(queue, batch)
            except Exception as error:  # whatever it is, who waits for the batch must hear of it
                done = batch.fail(error)
            if done is None:
                break
            callbacks += done
            if batch.error is not None and self._transaction is not None:
                self._transaction.fail(batch.error)
            if queue.closed and queue.closed[0] is batch:
                queue.closed.popleft()
        return callbacks

    def _append(self, queue: PartitionQueue, batch: ProducerBatch) -> list[Callback] | None:
        """What is to be called when the batch is done; None if it waits for a retry."""
        if not queue.is_current:
            return batch.fail(UnknownTopicOrPartitionError(f"there is no partition {queue.name} any more"))
        count = batch.count
        if batch.encoded is None:
            batch.encoded = self._encode(queue, batch)
        log = queue.log
        try:
            data = batch.encoded.restore() if batch.attempts else batch.encoded.view
            result = log.append_as_leader(data, leader_epoch=log.leader_epoch, trusted=True)
        except (RecordTooLargeError, RecordBatchTooLargeError) as error:
            return self._split(queue, batch) if count > 1 else _fail(batch, error)
        except OutOfOrderSequenceError as error:
            return self._begin_epoch(queue, batch, error)
        except InvalidProducerEpochError as error:
            return batch.fail(ProducerFencedError(str(error)) if self._transaction else error)
        except KafkaStorageError as error:  # the log may have the batch or not: it is tried again with its sequence
            return self._retry(queue, batch, error)
        except AppendRejected as error:
            return _fail(batch, error)
        if self._identity.is_idempotent:
            queue.advance_sequence(count)
        return batch.complete(result.first_offset, result.log_append_time)

    def _encode(self, queue: PartitionQueue, batch: ProducerBatch) -> EncodedBatch:
        records = batch.filled - BATCH_OVERHEAD
        encoded = encode_batch(batch, self._codec, self._level, self._parts.stamp(queue))
        if self._codec is not Codec.NONE:
            self._ratios.update(batch.topic, (len(encoded.view) - BATCH_OVERHEAD) / records)
        return encoded

    def _split(self, queue: PartitionQueue, batch: ProducerBatch) -> list[Callback]:
        """Put smaller batches in the place of one that is too large for the topic."""
        assert batch.encoded is not None
        ratio = (len(batch.encoded.view) - BATCH_OVERHEAD) / (batch.filled - BATCH_OVERHEAD)
        if self._codec is not Codec.NONE:
            self._ratios.reset(batch.topic, ratio)
        batch.encoded.restore()
        parts = split_batch(batch, self._config.batch_size, self._parts.ratio(batch.topic))
        queue.closed.popleft()
        queue.closed.extendleft(part for _, part in reversed(parts))
        batch.split_into(parts)
        return []

    def _begin_epoch(
        self, queue: PartitionQueue, batch: ProducerBatch, error: OutOfOrderSequenceError
    ) -> list[Callback] | None:
        """The log has forgotten batches (it was truncated, say): go on in a new epoch, where nothing is expected."""
        if self._transaction is not None or batch.attempts:
            return batch.fail(error)
        batch.attempts += 1
        self._identity.bump()
        assert batch.encoded is not None
        batch.encoded.restore()
        batch.encoded = None
        return self._append(queue, batch)

    def _retry(self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError) -> list[Callback] | None:
        """Let the batch wait; give up where no retry can help."""
        now_ms, config = self._clock.monotonic_ms(), self._config
        batch.attempts += 1
        expired = now_ms - batch.created_ms >= config.delivery_timeout_ms
        if not expired and not queue.log.state.is_closed and batch.attempts <= config.retries:
            backoff_ms = min(config.retry_backoff_ms << min(batch.attempts - 1, 20), config.retry_backoff_max_ms)
            batch.retry_ms = now_ms + backoff_ms
            return None
        self._parts.lose_track()
        if expired:
            waited = f"no append within delivery.timeout.ms, {config.delivery_timeout_ms}"
            return batch.fail(
                DeliveryTimeoutError(f"{batch.topic}-{batch.partition}: {waited}; the last error: {error}")
            )
        return batch.fail(error)


def _fail(batch: ProducerBatch, error: AppendRejected) -> list[Callback]:
    """Refuse a batch; the log does not say which partition it is."""
    error.add_note(f"{batch.topic}-{batch.partition}")
    return batch.fail(error)
