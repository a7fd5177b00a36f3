"""The two kinds of groups: what the coordinator needs to know about a group of either kind."""

from __future__ import annotations

from octavo.coordinator.effects import Effect, Write
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicState
from octavo.coordinator.groups.classic.records import tombstone
from octavo.coordinator.groups.consumer.group import ConsumerGroup, State
from octavo.coordinator.groups.consumer.records import tombstones
from octavo.format.messages.consumer_protocol import PROTOCOL_TYPE
from octavo.format.messages.schema import Row

Group = ClassicGroup | ConsumerGroup
# A group of either kind after an event (None if it is gone), and the effects.
GroupOutcome = tuple[Group | None, list[Effect]]


def is_empty(group: Group) -> bool:
    """Whether the group has no members."""
    return group.state in (ClassicState.EMPTY, State.EMPTY)


def listed(group: Group) -> Row:
    """A group as ListGroups shows it."""
    kind, protocol = "consumer", PROTOCOL_TYPE
    if isinstance(group, ClassicGroup):
        kind, protocol = "classic", group.protocol_type or ""
    return {"groupId": group.group_id, "protocolType": protocol, "groupState": group.state.value, "groupType": kind}


def removal(group: Group) -> list[Write]:
    """The tombstones that remove a group; none for a consumer group that was never written."""
    if isinstance(group, ClassicGroup):
        return [tombstone(group.group_id)]
    return tombstones(group) if group.is_written else []
