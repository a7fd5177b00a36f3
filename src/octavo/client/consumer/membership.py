"""Determines the partitions that a consumer reads: those assigned by hand, all of its topics, or its share in a
group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from octavo.coordinator.groups.commit_rules import ANYBODY, Committer
from octavo.coordinator.groups.local_members import LocalConfig, LocalMember, LocalMembers, Revoke
from octavo.format.names import UNNAMED_TOPICS, TopicPartition
from octavo.storage.log_manager import LogManager


class Membership(Protocol):
    """The right to read partitions, and to commit their offsets while it `is_alive`."""

    @property
    def is_alive(self) -> bool: ...

    @property
    def token(self) -> object:
        """Another object once all partitions have been lost, and perhaps read by others."""

    @property
    def committer(self) -> Committer:
        """Who commits the offsets of its partitions."""

    def refresh(self, revoke: Revoke) -> frozenset[TopicPartition]:
        """The partitions to read now; `revoke` is called first with those that are or were taken away."""

    def leave(self) -> None:
        """Give up all partitions."""

    def leave_later(self) -> None:
        """Leave without taking a lock: the consumer was dropped without being closed."""


class _NoMembership:
    """Without a group there is nothing to lose, and nothing to leave."""

    is_alive = True
    token = None
    committer = ANYBODY

    def leave(self) -> None:
        """Do nothing."""

    def leave_later(self) -> None:
        """Do nothing."""


class ManualAssignment(_NoMembership):
    """Partitions that were assigned by hand."""

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self._partitions = frozenset(partitions)

    def refresh(self, revoke: Revoke) -> frozenset[TopicPartition]:
        return self._partitions


class Subscription(NamedTuple):
    """Topics by name, or by a pattern that matches the whole name."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    exclude_internal_topics: bool = True

    def partitions(self, log_manager: LogManager) -> dict[str, tuple[int, ...]]:
        """The subscribed topics that exist, each with those of its partitions that are in these log directories."""
        found: dict[str, list[int]] = {}
        for topic, number in list(log_manager.logs):
            if topic in found or self._wants(topic):
                found.setdefault(topic, []).append(number)
        return {topic: tuple(sorted(numbers)) for topic, numbers in found.items()}

    def _wants(self, topic: str) -> bool:
        if topic in self.topics:
            return True
        if self.pattern is None or (self.exclude_internal_topics and topic in UNNAMED_TOPICS):
            return False
        return self.pattern.fullmatch(topic) is not None


class AllPartitions(_NoMembership):
    """Without a group: every partition of the subscribed topics."""

    def __init__(self, log_manager: LogManager, subscription: Subscription) -> None:
        self._log_manager = log_manager
        self._subscription = subscription
        self._partitions: frozenset[TopicPartition] = frozenset()

    def refresh(self, revoke: Revoke) -> frozenset[TopicPartition]:
        existing = self._subscription.partitions(self._log_manager)
        partitions = frozenset(
            TopicPartition(topic, number) for topic, numbers in existing.items() for number in numbers
        )
        if partitions != self._partitions:
            revoke(self._partitions - partitions)
            self._partitions = partitions
        return partitions


class GroupShare:
    """A member's share of its group's partitions."""

    def __init__(
        self, log_manager: LogManager, members: LocalMembers, config: LocalConfig, subscription: Subscription
    ) -> None:
        self._log_manager = log_manager
        self._members = members
        self._config = config
        self._subscription = subscription
        self._member: LocalMember | None = None

    @property
    def is_alive(self) -> bool:
        return self._member is not None and self._member.is_alive

    @property
    def token(self) -> object:
        return self._member

    @property
    def committer(self) -> Committer:
        return ANYBODY if self._member is None else self._member.committer

    def refresh(self, revoke: Revoke) -> frozenset[TopicPartition]:
        topics = frozenset(self._subscription.partitions(self._log_manager))
        while True:
            if self._member is None:
                self._member = self._members.new_member(self._config)
            owned = self._member.poll(topics, revoke)
            if owned is not None:
                return owned
            self._member = None  # it was evicted

    def leave(self) -> None:
        if self._member is not None:
            self._member.leave()
            self._member = None

    def leave_later(self) -> None:
        if self._member is not None:
            self._members.leave_later(self._member)
