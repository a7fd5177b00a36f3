"""The topics of the log directories, as clients ask for them: by name and by id."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.client.log_dir import LogDir
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from octavo.errors import InconsistentTopicIdError, KafkaError, UnknownTopicOrPartitionError
from octavo.format.kafka_uuid import ZERO_UUID
from octavo.format.names import TopicPartition
from octavo.storage.partition_log import PartitionLog

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})


class UnknownTopicIdError(KafkaError, kafka_name="UnknownTopicIdException", error="UNKNOWN_TOPIC_ID", code=100):
    """A topic id that no topic has."""


class Topic:
    """The open partitions of a topic, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.logs: dict[int, PartitionLog] = {}

    @property
    def topic_id(self) -> bytes:
        """The topic's id; the zero id where no partition names one."""
        return next((log.topic_id for log in self.logs.values() if log.topic_id), ZERO_UUID)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    def log(self, partition: int) -> PartitionLog:
        found = self.logs.get(partition)
        if found is None:
            raise UnknownTopicOrPartitionError(f"topic {self.name} has no partition {partition}")
        return found


class Catalog:
    """Read again when topics have changed: the mapping of open logs is replaced then, never changed."""

    def __init__(self, logs: LogDir) -> None:
        self._logs = logs
        self._seen: Mapping[TopicPartition, PartitionLog] | None = None
        self._topics: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name, in order."""
        seen = self._logs.logs
        if seen is not self._seen:
            topics: dict[str, Topic] = {}
            for (topic, partition), log in sorted(seen.items()):
                topics.setdefault(topic, Topic(topic)).logs[partition] = log
            by_id = {topic.topic_id: topic for topic in topics.values() if topic.topic_id != ZERO_UUID}
            self._topics, self._by_id, self._seen = topics, by_id, seen
        return self._topics

    def named(self, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(f"there is no topic {name}")
        return topic

    def with_id(self, topic_id: bytes) -> Topic:
        if self.topics and topic_id in self._by_id:
            return self._by_id[topic_id]
        raise UnknownTopicIdError("there is no topic with this id")

    def check_id(self, topic: Topic, topic_id: bytes) -> None:
        if topic.topic_id != topic_id:
            raise InconsistentTopicIdError(f"topic {topic.name} has another id")
