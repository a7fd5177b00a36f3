"""A change in progress: the group and the effects so far, while one event is handled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from octavo.config import BrokerConfig
from octavo.coordinator.effects import Effects, Moment, Write
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import ConsumerGroup, ConsumerOutcome, Member
from octavo.coordinator.groups.consumer.replay import applied
from octavo.coordinator.groups.consumer.topics import GroupTopics

UNKNOWN_HASH = 0

# The kinds of a member's timers, each of which is named by its kind and the member id.
SESSION = "session"
REBALANCE = "rebalance"  # how long the member may take to give up partitions
JOIN = "join"  # how long a member of the classic protocol may take to join again
SYNC = "sync"  # how long a member of the classic protocol may take to send a SyncGroup after it has joined


class View(NamedTuple):
    """What a group depends on: the time, the topics, the configs."""

    now: Moment
    topics: GroupTopics
    config: BrokerConfig


def member_timers(member_id: str) -> list[Hashable]:
    return [(kind, member_id) for kind in (SESSION, REBALANCE, JOIN, SYNC)]


class Transition(Effects):
    """Collects what one event changes. A record that is written changes the group just as it does when it is read."""

    def __init__(self, group: ConsumerGroup, view: View) -> None:
        super().__init__(view.now)
        self.before = group
        self.group = group
        self.view = view

    @property
    def outcome(self) -> ConsumerOutcome:
        """The group and the effects. Nothing is written about members in this process, since they end with it.

        A group that has only had such members is not written at all, and ceases to exist when the last one leaves. If
        it has had others too, the hash of topics is written as unknown while it has such members, so that whoever reads
        the records assigns again.
        """
        before, effects = self.before, self.effects
        members = [*before.members.values(), *self.group.members.values()]
        local = {member.member_id for member in members if member.is_local}
        group: ConsumerGroup | None = self.group
        if local:
            is_written = before.is_written or any(not member.is_local for member in self.group.members.values())
            effects = [
                _written(effect, self.group) if isinstance(effect, Write) else effect
                for effect in effects
                if not isinstance(effect, Write) or (is_written and effect.key.get("memberId") not in local)
            ]
            if is_written and not before.is_written:
                # The last assignment before this event was not written then.
                group_id, epoch, time_ms = before.group_id, before.assignment_epoch, before.assignment_time_ms
                effects = [records.target_metadata_write(group_id, epoch, time_ms), *effects]
            elif not is_written and not self.group.members:
                group = None
        if group is not None and not group.is_written and any(isinstance(effect, Write) for effect in effects):
            group = replace(group, is_written=True)
        return ConsumerOutcome(group, effects)

    def write(self, *writes: Write) -> None:
        for write in writes:
            self.effects.append(write)
            self.group = applied(self.group, write.kind.id, write.key, write.value)

    def put(self, member: Member) -> None:
        """Add or update a member."""
        self.write(records.member_write(self.group.group_id, member))
        if member.is_local:
            self.group = replace(self.group, members={**self.group.members, member.member_id: member})

    def bump_epoch(self, metadata_hash: int) -> None:
        """Begin a new epoch, because members or their topics have changed."""
        changed = replace(self.group, epoch=self.group.epoch + 1, metadata_hash=metadata_hash)
        self.write(records.group_write(changed))

    def begin_rejoin(self, member: Member) -> None:
        """Give a member of the classic protocol time to join again, unless that time is already running."""
        if member.member_id not in self.group.rejoining:
            self.group = replace(self.group, rejoining=self.group.rejoining | {member.member_id})
            self.set_timer((JOIN, member.member_id), member.rebalance_timeout_ms)

    def end_rejoin(self, member_id: str) -> None:
        if member_id in self.group.rejoining:
            self.group = replace(self.group, rejoining=self.group.rejoining - {member_id})
        self.cancel_timer((JOIN, member_id))

    def set_session_timer(self, member: Member) -> None:
        own = member.session_timeout_ms if member.classic is None else member.classic["sessionTimeoutMs"]
        default = self.view.config.group_consumer_session_timeout_ms
        self.set_timer((SESSION, member.member_id), default if own is None else own)


def _written(write: Write, group: ConsumerGroup) -> Write:
    if write.kind is not records.GROUP or write.value is None:
        return write
    has_local_members = any(member.is_local for member in group.members.values())
    return write._replace(value={**write.value, "metadataHash": UNKNOWN_HASH}) if has_local_members else write
