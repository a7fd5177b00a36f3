"""Finds the topics of the log directories by name and by id."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.client.log_dir import LogDir
from octavo.errors import KafkaError, UnknownTopicOrPartitionError
from octavo.format.kafka_uuid import ZERO_UUID, to_text
from octavo.format.names import INTERNAL_TOPICS, TopicPartition
from octavo.storage.partition_log import PartitionLog


class UnknownTopicIdError(KafkaError, kafka_name="UnknownTopicIdException", error="UNKNOWN_TOPIC_ID", code=100):
    """A topic id that no topic has."""


class Topic:
    """The partitions of a topic, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_internal = name in INTERNAL_TOPICS
        self.logs: dict[int, PartitionLog] = {}

    @property
    def topic_id(self) -> bytes:
        """The topic's id; the zero id if no partition has one."""
        return next((log.topic_id for log in self.logs.values() if log.topic_id), ZERO_UUID)

    def log(self, partition: int) -> PartitionLog:
        found = self.logs.get(partition)
        if found is None:
            raise UnknownTopicOrPartitionError(f"topic {self.name} has no partition {partition}")
        return found


class _Listing:
    """The topics in one mapping of logs."""

    def __init__(self, logs: Mapping[TopicPartition, PartitionLog]) -> None:
        self.logs = logs
        self.topics: dict[str, Topic] = {}
        for (topic, partition), log in sorted(logs.items()):
            self.topics.setdefault(topic, Topic(topic)).logs[partition] = log
        self.by_id = {topic.topic_id: topic for topic in self.topics.values() if topic.topic_id != ZERO_UUID}


class Catalog:
    """Lists the topics again once the LogDir has replaced its mapping of logs. Thread-safe."""

    def __init__(self, log_dir: LogDir) -> None:
        self._log_dir = log_dir
        self._listing: _Listing | None = None

    def _listed(self) -> _Listing:
        listing, logs = self._listing, self._log_dir.logs
        if listing is None or listing.logs is not logs:
            listing = self._listing = _Listing(logs)
        return listing

    @property
    def topics(self) -> Mapping[str, Topic]:
        """All topics by name, in order."""
        return self._listed().topics

    def named(self, name: str) -> Topic:
        topic = self._listed().topics.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(f"there is no topic {name}")
        return topic

    def with_id(self, topic_id: bytes) -> Topic:
        topic = self._listed().by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicIdError(f"there is no topic with the id {to_text(topic_id)}")
        return topic
