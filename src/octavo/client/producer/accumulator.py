"""The open and closed batches of a producer's topics, and when they are appended to the logs.

A full batch is appended by the thread that found it full; a batch that has waited for linger.ms, by the scheduler.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Collection
from functools import partial

from octavo.client.producer.batch import ProducerBatch, Sent
from octavo.client.producer.encode import upper_bound
from octavo.client.producer.parts import ProducerParts
from octavo.client.producer.queue import NO_BATCH, PartitionQueue, TopicQueues
from octavo.client.producer.sender import Sender
from octavo.errors import KafkaStorageError, RecordTooLargeError, UnknownTopicOrPartitionError
from octavo.format.names import check_writable
from octavo.kernels.layout import Refused
from octavo.system.forks import FORKED
from octavo.system.signals import Signal


class Accumulator:
    """Thread-safe. Two queues' locks are never held at once, and none while callbacks run.

    `topics` has the queues of the topics used so far.
    """

    def __init__(self, parts: ProducerParts, sender: Sender) -> None:
        self._parts = parts
        self._config = parts.config
        environment = parts.log_manager.environment
        self._clock, self._scheduler = environment.clock, environment.scheduler
        self._sender = sender
        self._max_bytes = parts.config.max_record_bytes
        self._completed = Signal()
        self.topics: dict[str, TopicQueues] = {}
        self._topics_lock = threading.Lock()
        self._chooser = random.Random()
        self._lingering: dict[PartitionQueue, None] = {}
        self._timer_lock = threading.Lock()
        self._is_timer_set = False
        self.is_closed = False
        self._is_disowned = False

    def queues(self, topic: str) -> TopicQueues:
        """The queues of a topic.

        A missing topic is created if auto.create.topics.enable is set; otherwise this raises
        UnknownTopicOrPartitionError.
        """
        with self._topics_lock:
            queues = self.topics.get(topic)
            if queues is None:
                check_writable(topic, self._config.client_id)
                queues = TopicQueues(topic, self._parts.log_manager, self._config.batch_size, self._chooser)
                self.topics[topic] = queues
            return queues

    def append(self, queues: TopicQueues, queue: PartitionQueue, record: Sent) -> tuple[ProducerBatch, int]:
        """Add a record that did not fit into the open batch to a new batch; append what is closed.

        If the topic was deleted, and perhaps created again, everything that still waits for the deleted topic fails.
        """
        while not queue.is_current:
            gone = UnknownTopicOrPartitionError(f"topic {queue.topic} was deleted")
            for old in queues:
                self.abandon(old, gone)
            with self._topics_lock:
                if self.topics.get(queue.topic) is queues:
                    del self.topics[queue.topic]
            queues = self.queues(queue.topic)
            queue = queues.queue(queue.partition)
        queues.refresh()
        with queue.lock:
            while (place := (batch := queue.open).add(record, self._max_bytes)) < 0:
                if place == Refused.TOO_LARGE:
                    raise self._too_large(record)
                queue.close_open()
                queue.open = self._new_batch(queue, record)
        if queue.closed:
            self.drain(queue)
        return batch, place

    def drain(self, queue: PartitionQueue, *, now: bool = False) -> None:
        """Append the queue's closed batches, in order, up to one that must wait for its retry, which is scheduled.

        With `now`, no batch has to wait. After an interrupt a batch is still in the queue: it is tried again with its
        sequence, if it has one, and then a log that already has it answers with its offsets.
        """
        with queue.lock:
            while queue.closed:
                batch = queue.closed[0]
                if not batch.is_settled:
                    if batch.retry_ms > self._clock.monotonic_ms() and not now:
                        break
                    try:
                        self._sender.append(queue, batch)
                    except Exception as error:  # any error must reach whoever waits for the batch
                        self._sender.fail(batch, error)
                    if not batch.is_settled:
                        break
                queue.finish(batch)
            if queue.closed and not queue.is_retry_due:
                delay_ms = max(queue.closed[0].retry_ms - self._clock.monotonic_ms(), 0)
                self._scheduler.schedule("retry-append", partial(self._retry, queue), delay_ms=delay_ms)
                queue.is_retry_due = True  # after an interrupt there is one retry too many, never one too few
        queue.run_callbacks()

    def push(self, queue: PartitionQueue) -> None:
        """Close the open batch and append what is waiting, as `drain` does."""
        if self._is_disowned:
            self.abandon(queue, KafkaStorageError(FORKED))
            return
        with queue.lock:
            queue.close_open()
        self.drain(queue)

    def flush(self, queue: PartitionQueue) -> None:
        """Wait until everything added before is in the log, or has failed."""
        self.push(queue)
        while queue.closed:
            self._completed.wait(lambda: not queue.closed, self._config.retry_backoff_ms / 1000)
            self.drain(queue, now=True)

    def write_held(self, topics: Collection[str] | None) -> None:
        """Append what is waiting, for some topics or all, without waiting for retries."""
        for queues in list(self.topics.values()):
            for queue in queues if topics is None or queues.topic in topics else ():
                # In this order: a batch being closed is in `closed` before it leaves `open`.
                if queue.open is not NO_BATCH or queue.closed:
                    self.push(queue)

    def flush_all(self) -> None:
        for queue in self._all_queues():
            self.flush(queue)

    def abandon_all(self, error: Exception) -> None:
        for queue in self._all_queues():
            self.abandon(queue, error)

    def abandon(self, queue: PartitionQueue, error: Exception) -> None:
        """Fail everything that is not in the log yet."""
        with queue.lock:
            queue.close_open()
            while queue.closed:
                batch = queue.closed[0]
                if not batch.is_settled:
                    batch.fail(error)
                queue.finish(batch)
        queue.run_callbacks()

    def disown(self) -> None:
        """In a forked child: the timer is gone, and so is any thread of the parent that held a lock."""
        self.is_closed = self._is_disowned = True
        self._timer_lock, self._topics_lock = threading.Lock(), threading.Lock()
        for queues in self.topics.values():
            queues.disown()

    def _all_queues(self) -> list[PartitionQueue]:
        return [queue for queues in list(self.topics.values()) for queue in queues]

    def _new_batch(self, queue: PartitionQueue, record: Sent) -> ProducerBatch:
        _, key, value, headers = record
        limit, ratio = max(self._config.batch_size, upper_bound(key, value, headers)), self._parts.ratio(queue.topic)
        now_ms, push = self._clock.monotonic_ms(), partial(self.push, queue)
        batch = ProducerBatch(queue.topic, queue.partition, limit, ratio, now_ms, push, self._completed)
        self._lingering[queue] = None
        self._set_timer(self._config.linger_ms)
        return batch

    def _too_large(self, record: Sent) -> RecordTooLargeError:
        _, key, value, headers = record
        found = f"a record of up to {upper_bound(key, value, headers)} bytes"
        limit = "max.request.size" if self._max_bytes == self._config.max_request_size else "buffer.memory"
        return RecordTooLargeError(f"{found}, expected at most {limit}, {self._max_bytes}")

    def _set_timer(self, delay_ms: int) -> None:
        with self._timer_lock:
            if not self._is_timer_set and not self.is_closed:
                self._scheduler.schedule("linger", self._linger, delay_ms=delay_ms)
                self._is_timer_set = True  # after an interrupt there is one timer too many, never one too few

    def _linger(self) -> None:
        """Append the batches that have waited for linger.ms, and set the timer for the next one."""
        with self._timer_lock:
            self._is_timer_set = False
        now_ms, linger_ms = self._clock.monotonic_ms(), self._config.linger_ms
        next_ms = None
        for queue in list(self._lingering):
            with queue.lock:
                batch = queue.open
                left_ms = batch.created_ms + linger_ms - now_ms
                if batch is NO_BATCH or left_ms <= 0:
                    self._lingering.pop(queue, None)
                    queue.close_open()
                else:
                    next_ms = left_ms if next_ms is None else min(next_ms, left_ms)
            if queue.closed:
                self.drain(queue)
        if next_ms is not None:
            self._set_timer(next_ms)

    def _retry(self, queue: PartitionQueue) -> None:
        with queue.lock:
            queue.is_retry_due = False
        self.drain(queue)
