"""The groups of consumers in this process: who is a member, and who has which partition.

As with Kafka's cooperative protocol a partition changes hands in two steps: its owner gives it back when it polls next
and finds that it is to go to another member; only then does that one get it. So no two members ever read it at once.
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
    """A consumer in a group: what it wants, what it is to have, what it has."""

    member_id: str
    assignor: str
    max_poll_interval_ms: int
    last_poll_ms: int
    topics: frozenset[str] = frozenset()
    target: frozenset[TopicPartition] = frozenset()
    owned: set[TopicPartition] = field(default_factory=set)
    is_evicted: bool = False


class Group:
    """The members of one group. `generation` changes with each new sharing-out; thread-safe.

    What an interrupt left undone of a change is made up for at the next poll of a member.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._members: dict[str, Member] = {}
        self._partitions: Partitions = {}
        self._numbers = itertools.count(1)
        self._is_changed = False  # since partitions were shared out
        self.generation = 0
        self.forsaken: deque[Member] = deque()  # their consumers were forgotten: they leave when another one polls

    @property
    def members(self) -> list[str]:
        with self._lock:
            return list(self._members)

    def new_member(self, assignor: str, max_poll_interval_ms: int, now_ms: int) -> Member:
        """A member to be, which joins with its first heartbeat."""
        # Ids sort as members joined: that is the order in which assignors serve them.
        return Member(f"consumer-{next(self._numbers):06d}", assignor, max_poll_interval_ms, now_ms)

    def leave(self, member: Member) -> None:
        with self._lock:
            if member.member_id in self._members:
                self._is_changed = True
                del self._members[member.member_id]
                member.owned.clear()
                self._share_out()

    def subscribe(self, member: Member, topics: frozenset[str], partitions: Partitions) -> None:
        """Note what a member wants, and which partitions these topics have now."""
        with self._lock:
            known = {**self._partitions, **partitions}
            if topics != member.topics or known != self._partitions:
                self._is_changed = True
                member.topics, self._partitions = topics, known
            if self._is_changed:
                self._share_out()

    def heartbeat(self, member: Member, now_ms: int) -> None:
        """A member polls: it is alive. Those that are not any more, or were forgotten, lose their partitions."""
        with self._lock:
            member.last_poll_ms = now_ms
            if not member.is_evicted:
                self._members.setdefault(member.member_id, member)
            while self.forsaken:
                self.leave(self.forsaken[0])
                self.forsaken.popleft()
            late = [
                other
                for other in self._members.values()
                if now_ms - other.last_poll_ms > other.max_poll_interval_ms and other is not member
            ]
            for other in late:
                other.is_evicted = True
                self.leave(other)

    def revoked(self, member: Member) -> set[TopicPartition]:
        """What a member has to give back."""
        with self._lock:
            return member.owned - member.target

    def release(self, member: Member, names: set[TopicPartition]) -> None:
        """A member has given partitions back."""
        with self._lock:
            member.owned -= names

    def acquire(self, member: Member) -> frozenset[TopicPartition]:
        """Give a member what it is to have and nobody has; returns all that it has."""
        with self._lock:
            taken = {name for other in self._members.values() if other is not member for name in other.owned}
            member.owned |= member.target - taken
            return frozenset(member.owned)

    def _share_out(self) -> None:
        self.generation += 1
        if not self._members:
            self._is_changed = False
            return
        assignor = ASSIGNORS[next(iter(self._members.values())).assignor]
        subscriptions = {name: member.topics for name, member in self._members.items()}
        wanted = frozenset[str]().union(*subscriptions.values())
        partitions = {topic: numbers for topic, numbers in self._partitions.items() if topic in wanted}
        current = {name: sorted(member.owned) for name, member in self._members.items()}
        for name, names in assignor(subscriptions, partitions, current).items():
            self._members[name].target = frozenset(names)
        self._is_changed = False


class Groups:
    """All groups of a log directory's consumers. Thread-safe."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._lock = threading.Lock()

    def group(self, name: str) -> Group:
        with self._lock:
            return self._groups.setdefault(name, Group())
