"""Which topics and partitions are wanted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

from octavo.errors import ScanError, no_such_partition, no_such_topic
from octavo.format.names import UNNAMED_TOPICS, TopicPartition
from octavo.scanner.findings import Note

Topics = str | Iterable[str] | re.Pattern[str] | None

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """Topics by name, by a pattern that matches the whole name, or all; partitions by number, or all.

    As with a consumer's subscription, Kafka's internal topics are read only if they are named.
    """

    topics: frozenset[str] | re.Pattern[str] | None = None
    partitions: frozenset[int] | None = None

    @classmethod
    def of(cls, topics: Topics = None, partitions: int | Iterable[int] | None = None) -> TopicSelection:
        """Raises ScanError for a topic that is not a string, and for a partition that is not a number."""
        names: frozenset[str] | re.Pattern[str] | None
        if topics is None or isinstance(topics, re.Pattern):
            names = topics
        else:
            names = _set_of(topics, str, "topics", "one or several names, or a compiled pattern")
        if partitions is None:
            return cls(names)
        return cls(names, _set_of(partitions, Integral, "partitions", "a number or several, such as 0 or [0, 1]"))

    def wants(self, topic_partition: TopicPartition) -> bool:
        return self._wants_topic(topic_partition.topic) and self._wants_number(topic_partition.partition)

    def _wants_topic(self, topic: str) -> bool:
        if isinstance(self.topics, frozenset):
            return topic in self.topics
        return topic not in UNNAMED_TOPICS and (self.topics is None or self.topics.fullmatch(topic) is not None)

    def _wants_number(self, partition: int) -> bool:
        return self.partitions is None or partition in self.partitions

    def among(self, listed: Iterable[TopicPartition], given: Collection[TopicPartition] = ()) -> list[TopicPartition]:
        """The wanted partitions. If `topics` is None, one that was `given` as a place is wanted whatever its topic."""
        named = {one for one in given if self.topics is None and self._wants_number(one.partition)}
        return [one for one in listed if self.wants(one) or one in named]

    def notes_on(
        self, topic_partitions: Collection[TopicPartition], chosen: Collection[TopicPartition], place: str
    ) -> list[Note]:
        """The note on a selection that leaves out everything there is, which may not be what was meant."""
        if chosen or not topic_partitions or isinstance(self.topics, frozenset):
            return []
        if any(map(self.wants, topic_partitions)):
            return []  # a wanted partition that cannot be listed has its own note
        names = sorted({name for name, _ in topic_partitions})
        there = ", ".join(names)
        if any(map(self._wants_topic, names)):
            numbers = " or ".join(map(str, sorted(self.partitions or ())))
            return [Note(place, f"no wanted topic has a partition {numbers}; the topics are {there}")]
        if self.topics is None:
            return [Note(place, f"only Kafka's internal topics are here; name one to read it: {there}")]
        return [Note(place, f"no topic matches {self.topics.pattern!r}; the topics are {there}")]

    def check_chosen(
        self, argument: str, named: Iterable[TopicPartition], given: Collection[TopicPartition] = ()
    ) -> None:
        """Refuse an argument about partitions that the selection leaves out."""
        for partition in named:
            if not self.among([partition], given):
                missing = "topics" if not self._wants_topic(partition.topic) else "partitions"
                problem = f"{argument} names {partition}, which {missing} leaves out"
                raise ScanError(f"{problem}; add it there, or remove it from {argument}")

    def check(self, topic_partitions: Collection[TopicPartition], place: str) -> None:
        """Refuse a topic or a partition number that does not exist; `topic_partitions` are those that do."""
        if not isinstance(self.topics, frozenset):
            missing = sorted((self.partitions or frozenset()) - {partition for _, partition in topic_partitions})
            if missing and topic_partitions:
                raise ScanError(f"{place}: no topic has a partition {missing[0]}")
            return
        for topic in sorted(self.topics):
            there = {partition for name, partition in topic_partitions if name == topic}
            if not there:
                raise ScanError(f"{place}: {no_such_topic(topic, {name for name, _ in topic_partitions})}")
            missing = sorted((self.partitions or frozenset()) - there)
            if missing:
                raise ScanError(f"{place}: {no_such_partition(topic, missing[0], there)}")


def _set_of(given: _Item | Iterable[_Item], kind: type, argument: str, expected: str) -> frozenset[_Item]:
    """One item or several of a kind; raises ScanError for anything else."""
    items: list[_Item] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not all(isinstance(item, kind) for item in items):
        raise ScanError(f"{argument} is {given!r}, expected {expected}")
    return frozenset(items)
