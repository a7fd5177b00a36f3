"""The state of a classic group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from octavo.coordinator.effects import Effect
from octavo.coordinator.errors import RequestError
from octavo.errors import CorruptionError
from octavo.format.java.hash_map import in_map_order
from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.consumer_protocol import PROTOCOL_TYPE, SUBSCRIPTION
from octavo.format.messages.partition_choice import java_hash
from octavo.format.messages.records import VERSION_BYTES
from octavo.format.protocol.error_codes import ErrorCode


class ClassicState(StrEnum):
    """The states of a group, by Kafka's names."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"  # members (re)join
    COMPLETING_REBALANCE = "CompletingRebalance"  # the leader is expected to assign
    STABLE = "Stable"
    DEAD = "Dead"  # only in answers, for a group that is not found


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member of a group. With an instance id it is static: it may come back under another member id."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]  # names and metadata, the preferred one first
    assignment: bytes = b""
    is_new: bool = False  # until its first JoinGroup is answered
    join: Hashable | None = None  # the token of its waiting JoinGroup
    sync: Hashable | None = None  # the token of its waiting SyncGroup

    def metadata(self, protocol: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for an answer, and therefore cannot send heartbeats. False until its first JoinGroup is
        answered: that wait has a timeout of its own."""
        return not self.is_new and (self.join is not None or self.sync is not None)


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """A group whose members assign partitions among themselves. Immutable: a change makes a new one."""

    group_id: str
    state: ClassicState = ClassicState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: Mapping[str, ClassicMember] = field(default_factory=dict)
    pending: frozenset[str] = frozenset()  # member ids that were given out, but have not joined yet
    unsynced: frozenset[str] = frozenset()  # members whose SyncGroup is still missing
    subscribed_topics: frozenset[str] | None = None  # None if unknown
    state_since_ms: int = -1
    is_initial: bool = False  # PREPARING_REBALANCE that began in EMPTY, and waits for more members
    has_newcomer: bool = False  # since that wait was last extended
    remaining_ms: int = 0  # how much longer that wait may last

    def static_member_id(self, instance_id: str | None) -> str | None:
        if instance_id is None:
            return None
        return next((member.member_id for member in self.members.values() if member.instance_id == instance_id), None)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def has_all_joined(self) -> bool:
        return not self.pending and all(member.join is not None for member in self.members.values())

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    def supports(self, protocol_type: str, names: list[str]) -> bool:
        """Whether a member with these protocols can join."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and any(name in self.common_protocols(names) for name in names)

    def common_protocols(self, names: list[str]) -> set[str]:
        """The protocols among these that all members support."""
        common = set(names)
        for member in self.members.values():
            common &= {name for name, _ in member.protocols}
        return common

    def voted_protocol(self) -> str:
        """The protocol that most members prefer, among those that all support."""
        members = list(self.members.values())
        common = self.common_protocols([name for name, _ in members[0].protocols])
        votes = Counter(next(name for name, _ in member.protocols if name in common) for member in members)
        # If several have the most votes, the first one in the order of Java's HashMap wins.
        return max(in_map_order(votes, java_hash), key=votes.__getitem__)

    def parsed_topics(self) -> frozenset[str] | None:
        """The topics that the members subscribe to, if they are consumers; None if unknown."""
        if not self.uses_consumer_protocol:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                # All later versions begin with the fields of version 0.
                row, _ = decode_prefix(SUBSCRIPTION, 0, member.metadata(self.protocol_name), VERSION_BYTES)
                topics.update(row["topics"])
        except CorruptionError:
            return None
        return frozenset(topics)

    def check_member(self, member_id: str, instance_id: str | None, generation: int | None = None) -> None:
        """Raise unless there is such a member, with this instance id and in this generation if they are given."""
        if instance_id is not None:
            known = self.static_member_id(instance_id)
            if known is None:
                raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise RequestError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
        if generation not in (None, self.generation):
            raise RequestError(ErrorCode.ILLEGAL_GENERATION)


class ClassicOutcome(NamedTuple):
    """The group after an event (None if it is gone), and the effects."""

    group: ClassicGroup | None
    effects: list[Effect]
