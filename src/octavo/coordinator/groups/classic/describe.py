"""Classic groups as DescribeGroups shows them."""

from __future__ import annotations

from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicState
from octavo.format.messages.schema import Row


def described(group: ClassicGroup) -> Row:
    """A group with its members. Their metadata belongs to a protocol, which is only known while the group is stable."""
    protocol = group.protocol_name if group.state is ClassicState.STABLE else None
    members = [
        {
            "memberId": member.member_id,
            "groupInstanceId": member.instance_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "memberMetadata": b"" if protocol is None else member.metadata(protocol),
            "memberAssignment": member.assignment,
        }
        for member in group.members.values()
    ]
    return {
        "groupId": group.group_id,
        "groupState": group.state.value,
        "protocolType": group.protocol_type or "",
        "protocolData": protocol or "",
        "members": members,
    }
