"""Which topics and partitions are wanted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from octavo.errors import ScanError, did_you_mean
from octavo.format.names import CLUSTER_METADATA_TOPIC, INTERNAL_TOPICS, TopicPartition

Topics = str | Iterable[str] | re.Pattern[str] | None

_INTERNAL = INTERNAL_TOPICS | {CLUSTER_METADATA_TOPIC}


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """Topics by name, by a pattern that matches the whole name, or all; partitions by number, or all.

    As with a consumer's subscription, Kafka's internal topics are read only if they are named.
    """

    topics: frozenset[str] | re.Pattern[str] | None = None
    partitions: frozenset[int] | None = None

    @classmethod
    def of(cls, topics: Topics = None, partitions: int | Iterable[int] | None = None) -> TopicSelection:
        if isinstance(topics, str):
            topics = [topics]
        names = topics if topics is None or isinstance(topics, re.Pattern) else frozenset(topics)
        if isinstance(partitions, int):
            partitions = [partitions]
        return cls(names, None if partitions is None else frozenset(partitions))

    def wants(self, topic_partition: TopicPartition) -> bool:
        return self._wants_topic(topic_partition.topic) and (
            self.partitions is None or topic_partition.partition in self.partitions
        )

    def among(self, listed: Iterable[TopicPartition], given: Collection[TopicPartition] = ()) -> list[TopicPartition]:
        """The wanted partitions. A partition whose own folder was `given` as the place counts as named."""
        unnamed = self.topics is None
        named = {
            topic_partition
            for topic_partition in given
            if unnamed and (self.partitions is None or topic_partition.partition in self.partitions)
        }
        return [
            topic_partition for topic_partition in listed if self.wants(topic_partition) or topic_partition in named
        ]

    def _wants_topic(self, topic: str) -> bool:
        if isinstance(self.topics, frozenset):
            return topic in self.topics
        return topic not in _INTERNAL and (self.topics is None or self.topics.fullmatch(topic) is not None)

    def check(self, listed: Collection[TopicPartition], topics: Collection[str], place: str) -> None:
        """Raise for a name that matches nothing; `topics` are all that exist."""
        if not isinstance(self.topics, frozenset):
            return
        for topic in sorted(self.topics):
            there = {partition for name, partition in listed if name == topic}
            if not there and topic not in topics:
                raise ScanError(f"{place}: there is no topic {topic!r}{did_you_mean(topic, topics)}")
            missing = sorted((self.partitions or frozenset()) - there)
            if missing:
                raise ScanError(f"{place}: there is no partition {missing[0]} of topic {topic!r}")
