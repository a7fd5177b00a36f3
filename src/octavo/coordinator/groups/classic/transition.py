"""A change in progress: the group and the effects so far, while one event is handled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from octavo.coordinator.effects import Effects, Moment
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicMember, ClassicOutcome, ClassicState
from octavo.coordinator.groups.classic.records import group_write
from octavo.format.messages.schema import Row

JOIN_TIMER = "join"  # the end of a rebalance's first phase
SYNC_TIMER = "sync"  # the end of its second phase


def member_timer(member_id: str) -> Hashable:
    """The timer of a member's session, or of a member id that has not joined yet."""
    return "member", member_id


class ClassicTransition(Effects):
    """Collects what one event changes."""

    def __init__(self, group: ClassicGroup, now: Moment) -> None:
        super().__init__(now)
        self.group = group

    @property
    def outcome(self) -> ClassicOutcome:
        return ClassicOutcome(self.group, self.effects)

    def change(self, **fields: Any) -> None:
        self.group = replace(self.group, **fields)

    def enter(self, state: ClassicState, **fields: Any) -> None:
        self.change(state=state, state_since_ms=self.now.time_ms, is_initial=False, **fields)

    def write(self) -> None:
        """Write the group as it is now."""
        self.effects.append(group_write(self.group))

    def renew_session(self, member: ClassicMember) -> None:
        self.set_timer(member_timer(member.member_id), member.session_timeout_ms)

    def put(self, member: ClassicMember) -> ClassicMember:
        """Add or update a member; the first one becomes the leader."""
        group = self.group
        self.change(
            members={**group.members, member.member_id: member},
            pending=group.pending - {member.member_id},
            leader=group.leader or member.member_id,
        )
        return member

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending member id."""
        group = self.group
        members = {known: member for known, member in group.members.items() if known != member_id}
        leader = next(iter(members), None) if group.leader == member_id else group.leader
        gone = {member_id}
        self.change(members=members, leader=leader, pending=group.pending - gone, unsynced=group.unsynced - gone)
        self.cancel_timer(member_timer(member_id))

    def answer_join(self, member: ClassicMember, answer: Row) -> ClassicMember:
        """Answer a member's JoinGroup, if one is waiting; returns the member as it is now."""
        if member.join is None:
            return member
        self.reply(member.join, answer)
        return self.put(replace(member, join=None))

    def answer_sync(self, member: ClassicMember, answer: Row) -> ClassicMember:
        """Answer a member's SyncGroup, if one is waiting; returns the member as it is now."""
        if member.sync is None:
            return member
        self.reply(member.sync, answer)
        return self.put(replace(member, sync=None))

    def joined_answer(self, member_id: str, *, skip_assignment: bool = False) -> Row:
        """The answer to a member of the current generation; the leader's lists all members."""
        group = self.group
        members = [
            {
                "memberId": member.member_id,
                "groupInstanceId": member.instance_id,
                "metadata": member.metadata(group.protocol_name),
            }
            for member in (group.members.values() if group.leader == member_id else ())
        ]
        return {
            "generationId": group.generation,
            "protocolType": group.protocol_type,
            "protocolName": group.protocol_name,
            "leader": group.leader or "",
            "skipAssignment": skip_assignment,
            "memberId": member_id,
            "members": members,
        }

    def synced_answer(self, member: ClassicMember) -> Row:
        group = self.group
        return {
            "protocolType": group.protocol_type,
            "protocolName": group.protocol_name,
            "assignment": member.assignment,
        }
