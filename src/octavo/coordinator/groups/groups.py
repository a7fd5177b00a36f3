"""Consumer groups: their members, and which member has which partition.

As in Kafka's cooperative protocol a partition changes hands in two steps: at its next poll the owner finds that the
partition is assigned to another member and gives it back; only then does the other member get it. So no two members
ever read it at the same time.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass, field

from octavo.coordinator.groups.assignors import ASSIGNORS, Partitions
from octavo.format.names import TopicPartition


@dataclass
class Member:
    """A member of a group: the topics it wants, the partitions it should have (`target`) and those it has (`owned`)."""

    member_id: str
    assignor: str
    max_poll_interval_ms: int
    last_poll_ms: int
    topics: frozenset[str] = frozenset()
    target: frozenset[TopicPartition] = frozenset()
    owned: set[TopicPartition] = field(default_factory=set)
    is_evicted: bool = False


class Group:
    """The members of one group, and their partitions. Thread-safe.

    A member polls by calling `heartbeat`, `subscribe`, then `revoked` and `release`, then `acquire`. A change that an
    interrupt left half done is completed by the next poll of any member.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._members: dict[str, Member] = {}
        self._partitions: Partitions = {}
        self._numbers = itertools.count(1)
        self._is_changed = False  # since the last assignment
        self._leaving_later: deque[Member] = deque()

    def new_member(self, assignor: str, max_poll_interval_ms: int, now_ms: int) -> Member:
        """Create a member (a JoinGroup request); it joins with its first heartbeat."""
        # Ids sort in the order in which members joined, and assignors serve members in that order.
        return Member(f"consumer-{next(self._numbers):06d}", assignor, max_poll_interval_ms, now_ms)

    def leave(self, member: Member) -> None:
        """Remove a member (a LeaveGroup request); the others share its partitions."""
        with self._lock:
            if member.member_id in self._members:
                self._is_changed = True
                del self._members[member.member_id]
                member.owned.clear()
                self._assign()

    def leave_later(self, member: Member) -> None:
        """Remove a member at the next poll of another one. Takes no lock, because a finalizer may call it anywhere."""
        self._leaving_later.append(member)

    def subscribe(self, member: Member, topics: frozenset[str], partitions: Partitions) -> None:
        """Set the topics a member wants, and the partitions these have now; assign again if that changed."""
        with self._lock:
            known = {**self._partitions, **partitions}
            if topics != member.topics or known != self._partitions:
                self._is_changed = True
                member.topics, self._partitions = topics, known
            if self._is_changed:
                self._assign()

    def heartbeat(self, member: Member, now_ms: int) -> None:
        """Record that a member polls. Members that have not polled for max.poll.interval.ms are evicted."""
        with self._lock:
            member.last_poll_ms = now_ms
            if not member.is_evicted:
                self._members.setdefault(member.member_id, member)
            while self._leaving_later:
                self.leave(self._leaving_later[0])
                self._leaving_later.popleft()
            late = [
                other
                for other in self._members.values()
                if now_ms - other.last_poll_ms > other.max_poll_interval_ms and other is not member
            ]
            for other in late:
                other.is_evicted = True
                self.leave(other)

    def revoked(self, member: Member) -> set[TopicPartition]:
        """The partitions that a member has to give back."""
        with self._lock:
            return member.owned - member.target

    def release(self, member: Member, partitions: set[TopicPartition]) -> None:
        """Record that a member has given partitions back."""
        with self._lock:
            member.owned -= partitions

    def acquire(self, member: Member) -> frozenset[TopicPartition]:
        """Give a member the partitions of its target that nobody else has; returns all that it has (SyncGroup)."""
        with self._lock:
            taken = {partition for other in self._members.values() if other is not member for partition in other.owned}
            member.owned |= member.target - taken
            return frozenset(member.owned)

    def _assign(self) -> None:
        """Let the assignor choose the target of each member."""
        if not self._members:
            self._is_changed = False
            return
        assignor = ASSIGNORS[next(iter(self._members.values())).assignor]
        subscriptions = {member_id: member.topics for member_id, member in self._members.items()}
        wanted = frozenset[str]().union(*subscriptions.values())
        partitions = {topic: numbers for topic, numbers in self._partitions.items() if topic in wanted}
        current = {member_id: sorted(member.owned) for member_id, member in self._members.items()}
        for member_id, assigned in assignor(subscriptions, partitions, current).items():
            self._members[member_id].target = frozenset(assigned)
        self._is_changed = False


class Groups:
    """The groups of the log directories, by name. Thread-safe."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._lock = threading.Lock()

    def group(self, name: str) -> Group:
        with self._lock:
            return self._groups.setdefault(name, Group())
