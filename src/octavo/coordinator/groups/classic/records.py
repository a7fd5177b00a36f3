"""A classic group as a record of `__consumer_offsets`, and back."""

from __future__ import annotations

from dataclasses import replace

from octavo.coordinator.effects import Write
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from octavo.format.messages.consumer_offsets import GROUP_METADATA
from octavo.format.messages.schema import Row


def group_write(group: ClassicGroup) -> Write:
    value = {
        "protocolType": group.protocol_type or "",
        "generation": group.generation,
        "protocol": group.protocol_name,
        "leader": group.leader,
        "currentStateTimestamp": group.state_since_ms,
        "members": [_row(member, group.protocol_name) for member in group.members.values()],
    }
    return Write(GROUP_METADATA, {"group": group.group_id}, value)


def tombstone(group_id: str) -> Write:
    return Write(GROUP_METADATA, {"group": group_id}, None)


def group_of(group_id: str, row: Row) -> ClassicGroup:
    """The group in a record's value."""
    protocol: str | None = row["protocol"]
    members = {member["memberId"]: _member(member, protocol or "") for member in row["members"]}
    group = ClassicGroup(
        group_id,
        ClassicState.STABLE if members else ClassicState.EMPTY,
        row["generation"],
        row["protocolType"] or None,
        protocol,
        row["leader"],
        members,
        state_since_ms=row["currentStateTimestamp"],
    )
    return replace(group, subscribed_topics=group.parsed_topics())


def _row(member: ClassicMember, protocol: str | None) -> Row:
    return {
        "memberId": member.member_id,
        "groupInstanceId": member.instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "rebalanceTimeout": member.rebalance_timeout_ms,
        "sessionTimeout": member.session_timeout_ms,
        "subscription": member.metadata(protocol),
        "assignment": member.assignment,
    }


def _member(row: Row, protocol: str) -> ClassicMember:
    rebalance_timeout_ms = row["rebalanceTimeout"]
    return ClassicMember(
        row["memberId"],
        row["groupInstanceId"],
        row["clientId"],
        row["clientHost"],
        row["sessionTimeout"] if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        row["sessionTimeout"],
        ((protocol, row["subscription"]),),
        row["assignment"],
    )
