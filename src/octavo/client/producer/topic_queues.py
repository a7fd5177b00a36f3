"""The partitions of a topic, as a producer sees them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

from octavo.client.producer.partitioner import StickyPartition
from octavo.client.producer.queue import PartitionQueue
from octavo.errors import UnknownTopicOrPartitionError
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager


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

    def disown(self) -> None:
        """In a forked child: no thread holds a lock any more."""
        self.lock, self._growing = threading.RLock(), threading.Lock()
        for queue in self.queues:
            queue.lock = threading.Lock()

    def __iter__(self) -> Iterator[PartitionQueue]:
        return iter(list(self.queues))
