"""The state of a consumer group. Immutable: a change makes a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import NamedTuple

from octavo.coordinator.effects import Effect
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer.topics import NO_TOPICS, GroupTopics, TopicIdPartition
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

LEFT = -1  # the epoch of a member that leaves
AWAY = -2  # the epoch of a static member that will come back

Epochs = Mapping[TopicIdPartition, int]  # the assignment epoch in which a member got each partition
Target = frozenset[TopicIdPartition]


class State(StrEnum):
    """The states of a group, by Kafka's names."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"  # the target assignment is older than the group's epoch
    RECONCILING = "Reconciling"  # some members do not have their target yet
    STABLE = "Stable"


class MemberState(IntEnum):
    """The states of a member, as records have them."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it has to give up partitions first
    UNRELEASED_PARTITIONS = 2  # others have to give up partitions first
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of a group. With an instance id it is static: it may come back under another member id."""

    member_id: str
    member_epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: Epochs = field(default_factory=dict)
    revoking: Epochs = field(default_factory=dict)  # partitions that it has to give up
    classic: Row | None = None  # what a member of the classic protocol sent when it joined
    session_timeout_ms: int | None = None  # only for a member in this process, about which nothing is written

    @property
    def is_local(self) -> bool:
        return self.session_timeout_ms is not None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch


class ResolvedRegex(NamedTuple):
    """The topics that an expression matched when it was last resolved."""

    topics: frozenset[str]
    version: int
    time_ms: int


@dataclass(frozen=True, kw_only=True)
class ConsumerGroup:
    """A group whose coordinator assigns the partitions."""

    group_id: str
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 1
    assignment_time_ms: int = 0
    members: Mapping[str, Member] = field(default_factory=dict)
    targets: Mapping[str, Target] = field(default_factory=dict)
    regexes: Mapping[str, ResolvedRegex] = field(default_factory=dict)
    has_partition_metadata: bool = False  # there is a record that only Kafka 4.0 writes; it is to be removed
    is_written: bool = False  # there are records about it
    # Not in records: the topics for which the hash was last computed, and the expressions last resolved.
    hashed_topics: GroupTopics = field(default=NO_TOPICS, compare=False)
    resolved_topics: GroupTopics = field(default=NO_TOPICS, compare=False)
    rejoining: frozenset[str] = field(default=frozenset(), compare=False)  # classic members told to join again

    @cached_property
    def state(self) -> State:
        if not self.members:
            return State.EMPTY
        if self.epoch > self.assignment_epoch:
            return State.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return State.STABLE
        return State.RECONCILING

    @cached_property
    def owned(self) -> frozenset[TopicIdPartition]:
        """The partitions that some member has, or has not given up yet."""
        return frozenset[TopicIdPartition]().union(
            *(member.assigned for member in self.members.values()),
            *(member.revoking for member in self.members.values()),
        )

    @cached_property
    def subscribed_regexes(self) -> Counter[str]:
        """The expressions, with the number of members subscribed to each."""
        return Counter(member.regex for member in self.members.values() if member.regex)

    @cached_property
    def subscribed_topics(self) -> frozenset[str]:
        """The topics of all members, whether they exist or not."""
        return frozenset[str]().union(
            *(member.topics for member in self.members.values()), *(found.topics for found in self.regexes.values())
        )

    @cached_property
    def static_members(self) -> dict[str, str]:
        """The member ids by instance id."""
        return {
            member.instance_id: member_id
            for member_id, member in self.members.items()
            if member.instance_id is not None
        }

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def topics_of(self, member: Member) -> frozenset[str]:
        """What a member is subscribed to, by name or by an expression that has been resolved."""
        found = self.regexes.get(member.regex) if member.regex else None
        return member.topics if found is None else member.topics | found.topics

    def member(self, member_id: str, instance_id: str | None = None) -> Member:
        """The member with this id and, if one is given, this instance id; raises if there is none."""
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is None:
                raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
            if known != member_id:
                problem = f"Static member {member_id} with instance id {instance_id} was fenced by member {known}."
                raise RequestError(ErrorCode.FENCED_INSTANCE_ID, problem)
        if member_id not in self.members:
            problem = f"Member {member_id} is not a member of group {self.group_id}."
            raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID, problem)
        return self.members[member_id]

    def preferred_assignor(self, default: str) -> str:
        """The assignor that most members prefer; the default if no member prefers one."""
        counts = Counter(member.assignor for member in self.members.values() if member.assignor is not None)
        return counts.most_common(1)[0][0] if counts else default


class ConsumerOutcome(NamedTuple):
    """The group after an event (None if it is gone), and the effects."""

    group: ConsumerGroup | None
    effects: list[Effect]
