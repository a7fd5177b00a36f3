"""Assigns partitions to members that want different topics, deciding in the same order as Kafka."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable

from octavo.coordinator.groups.assignment import Current, GroupAssignment, PartitionNumbers, Subscriptions, TopicIds
from octavo.coordinator.groups.loads import Loads
from octavo.format.names import TopicPartition

_ROUNDS = 16


class UnevenGroup:
    """One assignment. Members come in the order of the subscriptions."""

    def __init__(self, subscriptions: Subscriptions, partitions: PartitionNumbers, ids: TopicIds) -> None:
        self._subscriptions = subscriptions
        self._partitions = partitions
        self._places = {member: place for place, member in enumerate(subscriptions)}
        self._takers = {
            topic: [member for member, topics in subscriptions.items() if topic in topics] for topic in partitions
        }
        self._topics = sorted((topic for topic in partitions if self._takers[topic]), key=self._urgency(ids))
        self._owners: dict[TopicPartition, str] = {}
        self._sizes: Counter[str] = Counter()

    def assign(self, current: Current) -> GroupAssignment:
        """Members keep what they have; free partitions go to those with the fewest; then those with the most give some
        up."""
        there = {topic: frozenset(numbers) for topic, numbers in self._partitions.items()}
        for member, topics in self._subscriptions.items():
            for topic_partition in current.get(member, ()):
                topic, number = topic_partition
                if topic in topics and number in there.get(topic, ()):
                    self._give(topic_partition, member)
        for topic in self._topics:
            loads = Loads(self._takers[topic], self._sizes, self._places)
            for number in self._partitions[topic]:
                topic_partition = TopicPartition(topic, number)
                if topic_partition not in self._owners:
                    self._give(topic_partition, loads.next_least())
        self._balance()
        assigned: GroupAssignment = {member: [] for member in self._subscriptions}
        for topic_partition, member in self._owners.items():
            assigned[member].append(topic_partition)
        return assigned

    def _urgency(self, ids: TopicIds) -> Callable[[str], tuple[float, int, tuple[int, ...]]]:
        """The order of topics: most partitions per member that wants them, then fewest such members, then by id."""

        def key(topic: str) -> tuple[float, int, tuple[int, ...]]:
            takers = len(self._takers[topic])
            return -len(self._partitions[topic]) / takers, takers, struct.unpack(">qq", ids[topic])

        return key

    def _give(self, topic_partition: TopicPartition, member: str) -> None:
        owner = self._owners.get(topic_partition)
        if owner is not None:
            self._sizes[owner] -= 1
        self._owners[topic_partition] = member
        self._sizes[member] += 1

    def _balance(self) -> None:
        """Balance one topic after the other, until a whole round has changed nothing, but for at most 16 rounds."""
        shared = [topic for topic in self._topics if len(self._takers[topic]) > 1]
        last = None
        for _ in range(_ROUNDS):
            for topic in shared:
                if topic == last:
                    return
                if self._balance_topic(topic) or last is None:
                    last = topic

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions of a topic from members with the most to those with the fewest; returns whether any moved."""
        loads = Loads(self._takers[topic], self._sizes, self._places)
        if loads.difference <= 1:
            return False
        held: dict[str, list[TopicPartition]] = {}
        for number in self._partitions[topic]:
            topic_partition = TopicPartition(topic, number)
            held.setdefault(self._owners[topic_partition], []).append(topic_partition)
        moved = False
        while (giver := loads.next_most(held)) is not None:
            topic_partition, taker = held[giver].pop(), loads.next_least()
            if loads.is_balanced:
                break
            self._give(topic_partition, taker)
            moved = True
        return moved
