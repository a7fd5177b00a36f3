"""Kafka's own topics: made when first needed, with the configs that a broker gives them."""

from __future__ import annotations

import threading

from octavo.config import Given
from octavo.errors import UnknownTopicOrPartitionError
from octavo.format.messages.partition_choice import coordinator_partition
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"


class InternalTopic:
    """One of Kafka's own topics, whose partitions are chosen by the ids of what they hold. Thread-safe."""

    def __init__(self, logs: LogManager, topic: str, partitions: int, configs: dict[str, Given]) -> None:
        self._logs = logs
        self.topic = topic
        self._partitions = partitions
        self._configs = configs
        self._lock = threading.Lock()
        self._is_being_made = False
        self._count = 0

    @property
    def count(self) -> int:
        """How many partitions the topic has; 0 if it is not there. It never gets more: ids would move."""
        if not self._count and not self._is_being_made:
            self._count = max(self._logs.topics.get(self.topic, [-1])) + 1
        return self._count

    def create(self) -> None:
        """Make the topic, unless it is there."""
        with self._lock:
            if self.count:
                return
            if self._is_being_made and self.topic in self._logs.topics:  # an interrupt came before it had them all
                self._logs.create_partitions(self.topic, range(self._partitions))
            else:
                self._is_being_made = True
                self._logs.create_topic(self.topic, self._partitions, self._configs)
            self._is_being_made = False

    def partition_of(self, name: str) -> TopicPartition | None:
        """The partition that holds an id; None while the topic is not there."""
        count = self.count
        return TopicPartition(self.topic, coordinator_partition(name, count)) if count else None

    def log(self, partition: TopicPartition) -> PartitionLog:
        """A partition's log; an error where the directories have other partitions of the topic only."""
        log = self._logs.logs.get(partition)
        if log is None:
            raise UnknownTopicOrPartitionError(f"{partition} is not in these directories, expected it there")
        return log

    def logs(self) -> list[tuple[TopicPartition, PartitionLog]]:
        """All partitions that are there."""
        names = [TopicPartition(self.topic, number) for number in self._logs.topics.get(self.topic, ())]
        return [(name, self._logs.logs[name]) for name in names]


def consumer_offsets(logs: LogManager) -> InternalTopic:
    config = logs.broker_config
    configs: dict[str, Given] = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": config.offsets_topic_segment_bytes,
    }
    return InternalTopic(logs, CONSUMER_OFFSETS, config.offsets_topic_num_partitions, configs)


def transaction_state(logs: LogManager) -> InternalTopic:
    config = logs.broker_config
    configs: dict[str, Given] = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "segment.bytes": config.transaction_state_log_segment_bytes,
    }
    return InternalTopic(logs, TRANSACTION_STATE, config.transaction_state_log_num_partitions, configs)
