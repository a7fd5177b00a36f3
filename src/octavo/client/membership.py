"""Which partitions a consumer reads: those that it was given by hand, or its share of what its topics have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from octavo.client.consumer_config import ConsumerConfig
from octavo.client.groups import Group, Member
from octavo.client.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from octavo.format.names import CLUSTER_METADATA_TOPIC, TopicPartition
from octavo.storage.log_dir import LogDir

_INTERNAL = (CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state", CLUSTER_METADATA_TOPIC)

# Gives partitions back: commits what was read of them, if that is to be.
Revoke = Callable[[set[TopicPartition]], None]


class Change(NamedTuple):
    """What a look at the group brought."""

    revoked: set[TopicPartition]
    assigned: set[TopicPartition]


NO_CHANGE = Change(set(), set())


class Membership(Protocol):
    """What a consumer has to read; it may commit offsets of it while it `is_alive`."""

    @property
    def is_alive(self) -> bool: ...

    def refresh(self, now_ms: int, revoke: Revoke) -> Change:
        """Take notice of new topics, partitions and members; what goes is given to `revoke` first."""

    def leave(self) -> None:
        """Want nothing any more."""


class Assigned:
    """Partitions that were named by hand."""

    is_alive = True

    def __init__(self, names: Iterable[TopicPartition]) -> None:
        self._names = set(names)
        self._is_new = True

    def refresh(self, now_ms: int, revoke: Revoke) -> Change:
        new, self._is_new = self._is_new, False
        return Change(set(), self._names) if new else NO_CHANGE

    def leave(self) -> None:
        """Nothing to leave."""


class Subscription(NamedTuple):
    """Topics by name, or those that a pattern matches as a whole."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    exclude_internal_topics: bool = True

    def counts(self, logs: LogDir) -> dict[str, int]:
        """The topics that there are, with their numbers of partitions."""
        found = {topic: _count(logs, topic) for topic in self.topics}
        if self.pattern is not None:
            names = {name.topic for name in list(logs.logs) if self.pattern.fullmatch(name.topic)}
            hidden = _INTERNAL if self.exclude_internal_topics else ()
            found |= {topic: _count(logs, topic) for topic in names if topic not in hidden}
        return {topic: count for topic, count in found.items() if count}


class AllPartitions:
    """Without a group: every partition of the subscribed topics."""

    is_alive = True

    def __init__(self, logs: LogDir, subscription: Subscription) -> None:
        self._logs = logs
        self._subscription = subscription
        self._names: set[TopicPartition] = set()

    def refresh(self, now_ms: int, revoke: Revoke) -> Change:
        counts = self._subscription.counts(self._logs)
        names = {TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)}
        revoked, assigned = self._names - names, names - self._names
        if not revoked and not assigned:
            return NO_CHANGE
        revoke(revoked)
        self._names = names
        return Change(revoked, assigned)

    def leave(self) -> None:
        """Nothing to leave."""


class GroupShare:
    """A member's share in a group."""

    def __init__(self, logs: LogDir, group: Group, config: ConsumerConfig, subscription: Subscription) -> None:
        self._logs = logs
        self._group = group
        self._config = config
        self._subscription = subscription
        self._member: Member | None = None
        self._known: set[TopicPartition] = set()

    @property
    def is_alive(self) -> bool:
        return self._member is not None and not self._member.is_evicted

    def refresh(self, now_ms: int, revoke: Revoke) -> Change:
        member, lost = self._member, set[TopicPartition]()
        if member is not None and member.is_evicted:
            lost = set(self._known)  # another member may have them already: nothing of them is committed
            member = None
        if member is None:
            member = self._group.join(self._config.assignor, self._config.max_poll_interval_ms, now_ms)
            self._member, self._known = member, set()
        self._group.heartbeat(member, now_ms)
        counts = self._subscription.counts(self._logs)
        self._group.subscribe(member, frozenset(counts), counts)
        revoked = self._group.revoked(member)
        if revoked:
            revoke(revoked)
            self._group.release(member, revoked)
        assigned = self._group.acquire(member)
        if not (lost or revoked or assigned):
            return NO_CHANGE
        self._known = set(member.owned)
        return Change(lost | revoked, assigned)

    def leave(self) -> None:
        if self._member is not None:
            self._group.leave(self._member)
            self._member = None


def _count(logs: LogDir, topic: str) -> int:
    count = 0
    while TopicPartition(topic, count) in logs.logs:
        count += 1
    return count
