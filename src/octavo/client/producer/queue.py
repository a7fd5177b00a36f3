"""The batches of each partition on their way into its log, first in, first out; only the last one is open."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from octavo.client.producer.batch import ProducerBatch
from octavo.client.producer.partitioner import StickyPartition
from octavo.errors import TopicExistsError, UnknownTopicOrPartitionError, did_you_mean, no_such_partition
from octavo.format import sequence
from octavo.format.names import TopicPartition
from octavo.kernels.layout import BATCH_OVERHEAD
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.system.signals import Signal

AUTO_CREATE = "auto.create.topics.enable"

# Stands for "no open batch": nothing can be added to it.
NO_BATCH = ProducerBatch("", -1, BATCH_OVERHEAD, 0.0, 0, lambda: None, Signal())
NO_BATCH.close()


class PartitionQueue:
    """`lock` guards opening, closing and appending batches; adding a record to `open` needs no lock.

    At most one batch is being appended at a time, so that sequences stay in step with the log: a refused batch does not
    use up its sequences. An interrupt may come between any two steps: a batch stays in `closed` until it is done, so
    that the next caller continues with it.
    """

    __slots__ = (
        "_log_manager",
        "closed",
        "epoch",
        "finished",
        "is_retry_due",
        "lock",
        "log",
        "next_sequence",
        "open",
        "partition",
        "topic",
        "topic_partition",
        "uncertain",
    )

    def __init__(self, topic_partition: TopicPartition, log: PartitionLog, log_manager: LogManager) -> None:
        self.topic_partition = topic_partition
        self.topic, self.partition = topic_partition
        self.log = log
        self._log_manager = log_manager
        self.lock = threading.Lock()
        self.open = NO_BATCH
        self.closed: deque[ProducerBatch] = deque()
        self.finished: deque[ProducerBatch] = deque()  # done, with callbacks still to be called
        self.epoch = (-1, -1)  # the producer id and epoch that `next_sequence` belongs to
        self.next_sequence = 0
        self.is_retry_due = False  # a retry is scheduled
        self.uncertain: tuple[int, int] | None = None  # the id and epoch of an append whose outcome is unknown

    @property
    def is_current(self) -> bool:
        """Whether the partition still exists and is the same one: not deleted and created again."""
        return self._log_manager.logs.get(self.topic_partition) is self.log

    def close_open(self) -> None:
        """Close the open batch, which then waits to be appended; `lock` is held."""
        batch = self.open
        if batch is not NO_BATCH:
            batch.close()
            is_listed = batch.is_settled or (self.closed and self.closed[-1] is batch)
            if not is_listed:  # otherwise an interrupt came after this append the last time
                self.closed.append(batch)
            self.open = NO_BATCH

    def finish(self, batch: ProducerBatch) -> None:
        """Remove the first batch, which is done, or put its parts in its place; `lock` is held."""
        if batch.callbacks:
            self.finished.append(batch)
        if batch.parts is None:
            self.closed.popleft()
        else:
            self.closed = deque([*(part for _, part in batch.parts), *islice(self.closed, 1, None)])

    def run_callbacks(self) -> None:
        """Run the callbacks of finished batches; `lock` is not held."""
        while self.finished:
            with suppress(IndexError, ValueError):  # another thread did it
                batch = self.finished[0]
                batch.run_callbacks()
                self.finished.remove(batch)

    def sequence_for(self, producer_id: int, epoch: int) -> int:
        """The first sequence of the next batch; 0 in a new epoch."""
        if self.epoch != (producer_id, epoch):
            self.epoch, self.next_sequence = (producer_id, epoch), 0
        return self.next_sequence

    def advance_sequence(self, base_sequence: int, count: int) -> None:
        """Record that `count` records, starting with this sequence, are in the log."""
        self.next_sequence = sequence.increment(base_sequence, count)


def _create(topic: str, log_manager: LogManager) -> None:
    """Create a topic that a record is sent to, if auto.create.topics.enable allows it; otherwise raise.

    Kafka's default is to create it. Here a program has to ask for that: a misspelt name should be an error.
    """
    if AUTO_CREATE in log_manager.broker_properties and log_manager.broker_config.auto_create_topics_enable:
        with suppress(TopicExistsError):  # another thread was faster
            log_manager.create_topic(topic)
        return
    near = did_you_mean(topic, log_manager.topics)
    hint = f"create it with create_topic({topic!r}), or open the LogDir with configs={{{AUTO_CREATE!r}: True}}"
    raise UnknownTopicOrPartitionError(f"there is no topic {topic!r}{near}; {hint}")


class TopicQueues:
    """The queues of a topic's partitions, in order; `lock` guards the sticky partition."""

    def __init__(self, topic: str, log_manager: LogManager, batch_size: int, chooser: random.Random) -> None:
        self.topic = topic
        self._log_manager = log_manager
        self.lock = threading.Lock()
        self._growing = threading.Lock()
        self.queues: list[PartitionQueue] = []
        if topic not in log_manager.topics:
            _create(topic, log_manager)
        log_manager.check_complete(topic)
        self.refresh()
        self.sticky = StickyPartition(len(self.queues), batch_size, chooser)

    @property
    def count(self) -> int:
        return len(self.queues)

    def refresh(self) -> None:
        """Add queues for partitions that were added to the topic."""
        while self._log_manager.logs.get(TopicPartition(self.topic, len(self.queues))) is not None:
            with self._growing:
                topic_partition = TopicPartition(self.topic, len(self.queues))
                if (log := self._log_manager.logs.get(topic_partition)) is not None:
                    self.queues.append(PartitionQueue(topic_partition, log, self._log_manager))

    def queue(self, partition: int) -> PartitionQueue:
        """The queue of a partition that a record names."""
        if partition >= len(self.queues):
            self.refresh()
        if not 0 <= partition < len(self.queues):
            raise UnknownTopicOrPartitionError(no_such_partition(self.topic, partition, range(len(self.queues))))
        return self.queues[partition]

    def spread(self, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partitions for records of these sizes that name none, and for which no key decides."""
        with self.lock:
            return self.sticky.spread(sizes)

    def disown(self) -> None:
        """In a forked child: replace the locks, which a thread of the parent may have held."""
        self.lock, self._growing = threading.Lock(), threading.Lock()
        for queue in self.queues:
            queue.lock = threading.Lock()

    def __iter__(self) -> Iterator[PartitionQueue]:
        return iter(list(self.queues))
