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

    def forsake(self) -> None:
        """The consumer is gone without having left. Takes no lock."""


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

    def forsake(self) -> None:
        """Nothing to leave."""


class Subscription(NamedTuple):
    """Topics by name, or those that a pattern matches as a whole."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    exclude_internal_topics: bool = True

    def partitions(self, logs: LogDir) -> dict[str, tuple[int, ...]]:
        """The topics that there are, with the partitions that these directories hold: perhaps not all of them."""
        found: dict[str, list[int]] = {}
        for topic, number in list(logs.logs):
            if topic in found or self._wants(topic):
                found.setdefault(topic, []).append(number)
        return {topic: tuple(sorted(numbers)) for topic, numbers in found.items()}

    def _wants(self, topic: str) -> bool:
        if topic in self.topics:
            return True
        if self.pattern is None or (self.exclude_internal_topics and topic in _INTERNAL):
            return False
        return self.pattern.fullmatch(topic) is not None


class AllPartitions:
    """Without a group: every partition of the subscribed topics."""

    is_alive = True

    def __init__(self, logs: LogDir, subscription: Subscription) -> None:
        self._logs = logs
        self._subscription = subscription
        self._names: set[TopicPartition] = set()

    def refresh(self, now_ms: int, revoke: Revoke) -> Change:
        there = self._subscription.partitions(self._logs)
        names = {TopicPartition(topic, number) for topic, numbers in there.items() for number in numbers}
        revoked, assigned = self._names - names, names - self._names
        if not revoked and not assigned:
            return NO_CHANGE
        revoke(revoked)
        self._names = names
        return Change(revoked, assigned)

    def leave(self) -> None:
        """Nothing to leave."""

    def forsake(self) -> None:
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
        there = self._subscription.partitions(self._logs)
        self._group.subscribe(member, frozenset(there), there)
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

    def forsake(self) -> None:
        if self._member is not None:
            self._group.forsaken.append(self._member)
