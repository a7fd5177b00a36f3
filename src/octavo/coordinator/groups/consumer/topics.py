"""The topics as groups see them: ids, partitions, and a hash that shows whether they have changed."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition, by_topic
from octavo.format.xxh3 import xxh3_64
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog

_HASH_VERSION = b"\0"


class TopicIdPartition(NamedTuple):
    """A partition, by its topic's id."""

    topic_id: bytes
    partition: int


class GroupTopic(NamedTuple):
    """A topic and the numbers of its partitions, in order."""

    name: str
    topic_id: bytes
    partitions: tuple[int, ...]

    @property
    def hash(self) -> int:
        """Kafka's hash; with racks it would also depend on the racks of the replicas."""
        count = max(self.partitions, default=-1) + 1
        # Kafka hashes numbers in little-endian order; an id is two numbers, a text is its UTF-16 and then its length.
        topic_id = self.topic_id[7::-1] + self.topic_id[:7:-1]
        name = self.name.encode("utf-16-le") + struct.pack("<i", len(self.name))
        return xxh3_64(_HASH_VERSION + topic_id + name + struct.pack(f"<{count + 1}i", count, *range(count)))


class GroupTopics:
    """The topics that exist at one time. Immutable; another object means that topics may have changed."""

    def __init__(self, topics: Iterable[GroupTopic] = ()) -> None:
        self.by_name: Mapping[str, GroupTopic] = {topic.name: topic for topic in topics}
        self._hashes: dict[str, int] = {}

    @cached_property
    def by_id(self) -> Mapping[bytes, GroupTopic]:
        return {topic.topic_id: topic for topic in self.by_name.values()}

    def ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """The ids of the named topics that exist."""
        return frozenset(self.by_name[name].topic_id for name in names if name in self.by_name)

    def by_partition(self, partition: TopicIdPartition) -> TopicPartition | None:
        """A partition by its topic's name; None if the topic does not exist."""
        topic = self.by_id.get(partition.topic_id)
        return None if topic is None else TopicPartition(topic.name, partition.partition)

    def partitions_in(self, rows: Iterable[Row]) -> list[TopicIdPartition]:
        """The partitions that rows with topics' names list; topics that do not exist are left out."""
        known = [(self.by_name[row["topic"]], row["partitions"]) for row in rows if row["topic"] in self.by_name]
        return [TopicIdPartition(topic.topic_id, number) for topic, numbers in known for number in numbers]

    def hash(self, names: Iterable[str]) -> int:
        """Kafka's hash of what members are subscribed to; topics that do not exist are left out."""
        existing = sorted(name for name in names if name in self.by_name)
        for name in existing:
            if name not in self._hashes:
                self._hashes[name] = self.by_name[name].hash
        return xxh3_64(struct.pack(f"<{len(existing)}q", *(self._hashes[name] for name in existing))) if existing else 0


NO_TOPICS = GroupTopics()


class OpenTopics:
    """The topics of log directories; listed again once `LogManager.logs` is another mapping."""

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._listed: tuple[Mapping[TopicPartition, PartitionLog], GroupTopics] | None = None

    @property
    def current(self) -> GroupTopics:
        logs, listed = self._log_manager.logs, self._listed
        if listed is None or listed[0] is not logs:
            topics = GroupTopics(
                GroupTopic(name, logs[TopicPartition(name, numbers[0])].topic_id or _made_up_id(name), tuple(numbers))
                for name, numbers in by_topic(sorted(logs)).items()
            )
            listed = self._listed = logs, topics
        return listed[1]


def _made_up_id(name: str) -> bytes:
    """An id for a topic that is older than topic ids. Only members in this process can use it."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()
