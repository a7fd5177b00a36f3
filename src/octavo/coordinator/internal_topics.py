"""`__consumer_offsets` and `__transaction_state`: created when first needed, with the configs that a broker gives them,
but none about replicas."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from octavo.config import Given
from octavo.errors import UnknownTopicOrPartitionError
from octavo.format.messages.partition_choice import coordinator_partition
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"


class InternalTopic:
    """A compacted topic; a group id or transactional id determines the partition that has its records. Thread-safe."""

    def __init__(self, log_manager: LogManager, topic: str, partitions: int, configs: dict[str, Given]) -> None:
        self._log_manager = log_manager
        self.topic = topic
        self._partitions = partitions
        self._configs: dict[str, Given] = {"cleanup.policy": "compact", **configs}
        self._lock = threading.Lock()
        self._is_being_made = False
        self._count = 0
        self._counted: Mapping[TopicPartition, PartitionLog] | None = None  # the logs when `_count` was set

    @property
    def count(self) -> int:
        """The number of partitions, as the highest number in these log directories tells; 0 if there is no topic.

        It does not grow with the topic: ids have to stay in their partitions.
        """
        logs = self._log_manager.logs
        if not self._is_being_made and self._counted is not logs:
            found = max(self._log_manager.topics.get(self.topic, [-1])) + 1
            self._count = min(self._count or found, found)  # the topic may have been deleted
            self._counted = logs
        return self._count

    def create(self) -> None:
        """Create the topic, unless it exists."""
        with self._lock:
            if self.count:
                return
            if self._is_being_made and self.topic in self._log_manager.topics:
                # An interrupt came before all partitions were created.
                self._log_manager.create_partitions(self.topic, range(self._partitions))
            else:
                self._is_being_made = True
                self._log_manager.create_topic(self.topic, self._partitions, self._configs)
            self._is_being_made = False

    def partition_of(self, group_or_id: str) -> TopicPartition | None:
        """The partition that holds a group or a transactional id; None while there is no topic."""
        count = self.count
        return TopicPartition(self.topic, coordinator_partition(group_or_id, count)) if count else None

    def place_of(self, group_or_id: str) -> TopicPartition:
        """The partition that holds a group or a transactional id; creates the topic if necessary."""
        self.create()
        topic_partition = self.partition_of(group_or_id)
        assert topic_partition is not None, "the topic was created"
        return topic_partition

    def log(self, topic_partition: TopicPartition) -> PartitionLog:
        """A partition's log; raises UnknownTopicOrPartitionError if it is missing or was not opened."""
        log = self._log_manager.logs.get(topic_partition)
        if log is None:
            problem = "is missing or was not opened: open all log directories of its broker"
            raise UnknownTopicOrPartitionError(f"{topic_partition} {problem}")
        return log

    def partitions(self) -> list[TopicPartition]:
        """The partitions that are in these log directories."""
        return [TopicPartition(self.topic, number) for number in self._log_manager.topics.get(self.topic, ())]


def consumer_offsets(log_manager: LogManager) -> InternalTopic:
    config = log_manager.broker_config
    configs: dict[str, Given] = {"compression.type": "producer", "segment.bytes": config.offsets_topic_segment_bytes}
    return InternalTopic(log_manager, CONSUMER_OFFSETS, config.offsets_topic_num_partitions, configs)


def transaction_state(log_manager: LogManager) -> InternalTopic:
    config, size = log_manager.broker_config, log_manager.broker_config.transaction_state_log_segment_bytes
    configs: dict[str, Given] = {"compression.type": "uncompressed", "segment.bytes": size}
    return InternalTopic(log_manager, TRANSACTION_STATE, config.transaction_state_log_num_partitions, configs)
