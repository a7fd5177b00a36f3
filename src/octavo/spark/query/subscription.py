"""Selects the partitions of a query: assign, subscribe or subscribePattern, as in Spark's Kafka source."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from octavo.errors import ConfigError, UnknownTopicOrPartitionError, no_such_topic
from octavo.format.names import UNNAMED_TOPICS, TopicPartition
from octavo.spark.query.java_pattern import compile_java
from octavo.spark.query.values import partitions

STRATEGIES = "subscribe", "subscribePattern", "assign"


@dataclass(frozen=True, slots=True)
class QuerySubscription:
    """Topics by name, topics whose names contain a match of a pattern, or single partitions.

    Kafka's internal topics are read only if they are named.
    """

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    assigned: frozenset[TopicPartition] = frozenset()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> QuerySubscription:
        """Build it from a mapping whose names are case-insensitive; without any of the options it wants all topics."""
        given = [name for name in STRATEGIES if name in options]
        if not given:
            return cls(pattern=re.compile(""))
        if len(given) > 1:
            listed = ", ".join(STRATEGIES)
            raise ConfigError(f"Only one of the following options can be specified for the octavo source: {listed}.")
        text = options[given[0]]
        if given[0] == "assign":
            if not text.strip().startswith("{"):
                raise ConfigError(f"No topicpartitions to assign as specified value for option 'assign' is '{text}'")
            return cls(assigned=partitions("assign", text))
        if given[0] == "subscribe":
            topics = frozenset(filter(None, map(str.strip, text.split(","))))
            if not topics:
                raise ConfigError(f"No topics to subscribe to as specified value for option 'subscribe' is '{text}'")
            return cls(topics)
        if not text.strip():
            raise ConfigError(
                f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{text}'"
            )
        return cls(pattern=compile_java(text.strip()))

    def wants(self, topic_partition: TopicPartition) -> bool:
        topic = topic_partition.topic
        if self.pattern is not None:
            return topic not in UNNAMED_TOPICS and self.pattern.search(topic) is not None
        return topic_partition in self.assigned or topic in self.topics

    def check(self, there: Collection[str], place: str) -> None:
        """Raise if a named topic does not exist. The topics of assigned partitions must exist too, as in Spark."""
        named = self.topics | {topic_partition.topic for topic_partition in self.assigned}
        for topic in sorted(named.difference(there)):
            raise UnknownTopicOrPartitionError(f"{place}: {no_such_topic(topic, there)}")
