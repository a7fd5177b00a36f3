"""Members of consumer groups in this process: their polls are their heartbeats, and nothing is written about them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Set
from typing import NamedTuple

from octavo.coordinator.groups.commit_rules import Committer
from octavo.coordinator.groups.consumer.group import LEFT, ConsumerGroup
from octavo.coordinator.groups.consumer.records import partition_rows
from octavo.coordinator.groups.consumer.topics import GroupTopics, TopicIdPartition
from octavo.coordinator.groups.consumers import GroupConsumers
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition

# Called with partitions before they are given up, or after they were lost.
Revoke = Callable[[Set[TopicPartition]], None]


class LocalConfig(NamedTuple):
    """What a member in this process tells its group."""

    group_id: str
    assignor: str
    max_poll_interval_ms: int


class LocalMembers:
    """Creates members, and removes those that were dropped without leaving. Thread-safe."""

    def __init__(self, consumers: GroupConsumers) -> None:
        self._consumers = consumers
        self._numbers = itertools.count(1)
        self._leaving: deque[LocalMember] = deque()

    def new_member(self, config: LocalConfig) -> LocalMember:
        """Create a member; it joins with its first poll."""
        # Ids sort in the order of creation, in which the range and roundrobin assignors serve members.
        return LocalMember(self._consumers, config, f"consumer-{next(self._numbers):06d}", self._complete)

    def leave_later(self, member: LocalMember) -> None:
        """Remove a member at the next poll of another one. Takes no lock, because a finalizer may call it anywhere."""
        self._leaving.append(member)

    def _complete(self) -> None:
        """Do what is due: remove members, and handle timers even if there is no thread for them."""
        while self._leaving:
            self._leaving[0].leave()
            self._leaving.popleft()
        self._consumers.check_timers()


class LocalMember:
    """A member. Its next poll completes what an interrupt left half done."""

    def __init__(
        self, consumers: GroupConsumers, config: LocalConfig, member_id: str, complete: Callable[[], None]
    ) -> None:
        self._consumers = consumers
        self._config = config
        self.member_id = member_id
        self._complete = complete
        self._owned: frozenset[TopicIdPartition] = frozenset()
        self._named: frozenset[TopicPartition] = frozenset()
        self._topics: frozenset[str] | None = None
        self._seen: ConsumerGroup | None = None  # the group when the last poll ended
        self._has_joined = False

    @property
    def is_alive(self) -> bool:
        """Whether it is in its group."""
        return self._consumers.member_epoch(self._config.group_id, self.member_id) is not None

    @property
    def committer(self) -> Committer:
        """Who commits: this member, in its current epoch."""
        epoch = self._consumers.member_epoch(self._config.group_id, self.member_id)
        return Committer(self.member_id, None, LEFT if epoch is None else epoch)

    def poll(self, topics: frozenset[str], revoke: Revoke) -> frozenset[TopicPartition] | None:
        """The member's partitions now; `revoke` is called first with those to give up. None if it was evicted: then
        `revoke` is called with all that it had."""
        self._complete()
        seen, self._seen = self._seen, None
        if seen is not None and topics == self._topics and self._consumers.renew(seen, self.member_id):
            self._seen = seen
            return self._named
        while True:
            group = self._consumers.poll(self._body(topics), self._config.max_poll_interval_ms, self._has_joined)
            if group is None:
                revoke(self._named)
                return None
            self._has_joined = True
            assigned, names = frozenset(group.members[self.member_id].assigned), self._consumers.topics
            lost = self._owned - assigned
            if not lost:
                break
            revoke(_named(lost, names))
            self._owned -= lost
        self._owned, self._named, self._topics = assigned, frozenset(_named(assigned, names)), topics
        self._seen = group
        return self._named

    def leave(self) -> None:
        """Leave the group, unless it already has."""
        self._consumers.remove(self._config.group_id, self.member_id)
        self._owned, self._named = frozenset(), frozenset()

    def _body(self, topics: frozenset[str]) -> Row:
        config = self._config
        return {
            "groupId": config.group_id,
            "memberId": self.member_id,
            "instanceId": None,
            "rackId": None,
            "rebalanceTimeoutMs": config.max_poll_interval_ms,
            "subscribedTopicNames": sorted(topics),
            "subscribedTopicRegex": None,
            "serverAssignor": config.assignor,
            "topicPartitions": partition_rows(self._owned),
        }


def _named(partitions: Set[TopicIdPartition], topics: GroupTopics) -> set[TopicPartition]:
    return {named for partition in partitions if (named := topics.by_partition(partition)) is not None}
