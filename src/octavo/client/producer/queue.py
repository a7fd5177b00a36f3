"""The batches of one partition on their way into its log, first in, first out; only the last one is open."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from octavo.client.producer.batch import BatchLimits, ProducerBatch
from octavo.client.producer.partitioner import StickyPartition
from octavo.errors import UnknownTopicOrPartitionError
from octavo.format import sequence
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.system.signals import Signal

# Stands where no batch is open: nothing can be added to it.
NO_BATCH = ProducerBatch("", -1, BatchLimits(61, 0.0), 0, lambda: None, Signal())
NO_BATCH.close()


class PartitionQueue:
    """`lock` guards closing, opening and appending batches; adding a record to `open` needs none.

    At most one batch at a time is being appended, so that the sequence is that of the log: a batch that was refused
    has not used it up. An interrupt may come between any two steps: a batch is in `closed` until it is done, so that
    whoever comes next goes on with it.
    """

    __slots__ = (
        "_logs",
        "closed",
        "epoch",
        "finished",
        "is_retry_due",
        "lock",
        "log",
        "name",
        "next_sequence",
        "open",
        "partition",
        "topic",
        "uncertain",
    )

    def __init__(self, name: TopicPartition, log: PartitionLog, logs: LogManager) -> None:
        self.name = name
        self.topic, self.partition = name
        self.log = log
        self._logs = logs
        self.lock = threading.Lock()
        self.open = NO_BATCH
        self.closed: deque[ProducerBatch] = deque()
        self.finished: deque[ProducerBatch] = deque()  # done, with callbacks that are still to be called
        self.epoch = (-1, -1)  # producer id and epoch that the sequence is of
        self.next_sequence = 0
        self.is_retry_due = False  # a retry is scheduled
        self.uncertain: tuple[int, int] | None = None  # of this epoch nobody knows where its sequence is

    @property
    def is_current(self) -> bool:
        """Whether the partition is still there, not deleted and perhaps made anew."""
        return self._logs.logs.get(self.name) is self.log

    def close_open(self) -> None:
        """Let the open batch wait for its append; `lock` is held."""
        batch = self.open
        if batch is not NO_BATCH:
            batch.close()
            is_listed = batch.is_settled or (self.closed and self.closed[-1] is batch)
            if not is_listed:  # else an interrupt came just here the last time
                self.closed.append(batch)
            self.open = NO_BATCH

    def finish(self, batch: ProducerBatch) -> None:
        """Take out the first batch, which is done, or put its parts in its place; `lock` is held."""
        if batch.callbacks:
            self.finished.append(batch)
        if batch.parts is None:
            self.closed.popleft()
        else:
            self.closed = deque([*(part for _, part in batch.parts), *islice(self.closed, 1, None)])

    def run_callbacks(self) -> None:
        """Call what waits for batches that are done; no lock is held."""
        while self.finished:
            with suppress(IndexError, ValueError):  # another thread has seen to it
                batch = self.finished[0]
                batch.run_callbacks()
                self.finished.remove(batch)

    def sequence_for(self, producer_id: int, epoch: int) -> int:
        """The first sequence of the next batch; of a new epoch it is 0."""
        if self.epoch != (producer_id, epoch):
            self.epoch, self.next_sequence = (producer_id, epoch), 0
        return self.next_sequence

    def advance_sequence(self, base_sequence: int, count: int) -> None:
        """So many records from this sequence on are in the log."""
        self.next_sequence = sequence.increment(base_sequence, count)


class TopicQueues:
    """A queue a partition, 0, 1, 2, …; `lock` guards the sticky partition."""

    def __init__(self, topic: str, logs: LogManager, batch_size: int, chooser: random.Random) -> None:
        self.topic = topic
        self._logs = logs
        self.lock = threading.RLock()  # a record's callback, which runs under it, may send to the topic too
        self._growing = threading.Lock()
        self.queues: list[PartitionQueue] = []
        if topic not in logs.topics:
            raise UnknownTopicOrPartitionError(f"there is no topic {topic}, expected one of the directory's")
        logs.check_complete(topic)
        self.refresh()
        self.sticky = StickyPartition(len(self.queues), batch_size, chooser)

    @property
    def count(self) -> int:
        return len(self.queues)

    def refresh(self) -> None:
        """Take notice of partitions that were added."""
        while self._logs.logs.get(TopicPartition(self.topic, len(self.queues))) is not None:
            with self._growing:
                name = TopicPartition(self.topic, len(self.queues))
                if (log := self._logs.logs.get(name)) is not None:
                    self.queues.append(PartitionQueue(name, log, self._logs))

    def queue(self, partition: int) -> PartitionQueue:
        """The queue of a partition that a record names."""
        if partition >= len(self.queues):
            self.refresh()
        if not 0 <= partition < len(self.queues):
            expected = f"expected 0 to {len(self.queues) - 1}"
            raise UnknownTopicOrPartitionError(f"there is no partition {self.topic}-{partition}, {expected}")
        return self.queues[partition]

    def spread(self, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partitions of records of these sizes that nothing else decides."""
        with self.lock:
            return self.sticky.spread(sizes)

    def disown(self) -> None:
        """In a forked child: no thread holds a lock any more."""
        self.lock, self._growing = threading.RLock(), threading.Lock()
        for queue in self.queues:
            queue.lock = threading.Lock()

    def __iter__(self) -> Iterator[PartitionQueue]:
        return iter(list(self.queues))
