"""Which partitions a consumer reads: those that it was given by hand, or its share of what its topics have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from typing import NamedTuple, Protocol

from octavo.client.consumer.config import ConsumerConfig
from octavo.coordinator.groups.groups import Group, Member
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from octavo.format.names import CLUSTER_METADATA_TOPIC, TopicPartition
from octavo.storage.log_manager import LogManager

_INTERNAL = (CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state", CLUSTER_METADATA_TOPIC)

# Gives partitions back: commits what was read of them, if that is to be.
Revoke = Callable[[Set[TopicPartition]], None]


class Membership(Protocol):
    """What a consumer has to read; it may commit offsets of it while it `is_alive`."""

    @property
    def is_alive(self) -> bool: ...

    @property
    def token(self) -> object:
        """Another one means that all was lost, and perhaps read by others, since the last time."""

    def refresh(self, now_ms: int, revoke: Revoke) -> frozenset[TopicPartition]:
        """What is to be read now, with new topics, partitions and members; what goes is given to `revoke` first."""

    def leave(self) -> None:
        """Want nothing any more."""

    def forsake(self) -> None:
        """The consumer is gone without having left. Takes no lock."""


class Assigned:
    """Partitions that were named by hand."""

    is_alive = True
    token = None

    def __init__(self, names: Iterable[TopicPartition]) -> None:
        self._names = frozenset(names)

    def refresh(self, now_ms: int, revoke: Revoke) -> frozenset[TopicPartition]:
        return self._names

    def leave(self) -> None:
        """Nothing to leave."""

    def forsake(self) -> None:
        """Nothing to leave."""


class Subscription(NamedTuple):
    """Topics by name, or those that a pattern matches as a whole."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    exclude_internal_topics: bool = True

    def partitions(self, logs: LogManager) -> dict[str, tuple[int, ...]]:
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
    token = None

    def __init__(self, logs: LogManager, subscription: Subscription) -> None:
        self._logs = logs
        self._subscription = subscription
        self._names: frozenset[TopicPartition] = frozenset()

    def refresh(self, now_ms: int, revoke: Revoke) -> frozenset[TopicPartition]:
        there = self._subscription.partitions(self._logs)
        names = frozenset(TopicPartition(topic, number) for topic, numbers in there.items() for number in numbers)
        if names != self._names:
            revoke(self._names - names)
            self._names = names
        return names

    def leave(self) -> None:
        """Nothing to leave."""

    def forsake(self) -> None:
        """Nothing to leave."""


class GroupShare:
    """A member's share in a group."""

    def __init__(self, logs: LogManager, group: Group, config: ConsumerConfig, subscription: Subscription) -> None:
        self._logs = logs
        self._group = group
        self._config = config
        self._subscription = subscription
        self._member: Member | None = None

    @property
    def is_alive(self) -> bool:
        return self._member is not None and not self._member.is_evicted

    @property
    def token(self) -> object:
        return self._member

    def refresh(self, now_ms: int, revoke: Revoke) -> frozenset[TopicPartition]:
        member = self._member
        if member is None or member.is_evicted:
            member = self._group.new_member(self._config.assignor, self._config.max_poll_interval_ms, now_ms)
            self._member = member
        self._group.heartbeat(member, now_ms)
        there = self._subscription.partitions(self._logs)
        self._group.subscribe(member, frozenset(there), there)
        revoked = self._group.revoked(member)
        if revoked:
            revoke(revoked)
            self._group.release(member, revoked)
        return self._group.acquire(member)

    def leave(self) -> None:
        if self._member is not None:
            self._group.leave(self._member)
            self._member = None

    def forsake(self) -> None:
        if self._member is not None:
            self._group.forsaken.append(self._member)
