"""A classic group becomes a consumer group when the first member of the consumer protocol joins."""

from __future__ import annotations

from dataclasses import replace

from octavo.coordinator.effects import CancelTimer, Effect, Reply
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicMember
from octavo.coordinator.groups.classic.join import refused
from octavo.coordinator.groups.classic.records import tombstone
from octavo.coordinator.groups.classic.transition import JOIN_TIMER, SYNC_TIMER, member_timer
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import ConsumerGroup, ConsumerOutcome, Member
from octavo.coordinator.groups.consumer.topics import GroupTopics, TopicIdPartition
from octavo.coordinator.groups.consumer.transition import Transition, View
from octavo.errors import CorruptionError
from octavo.format.messages.consumer_protocol import decode_assignment, decode_subscription
from octavo.format.protocol.error_codes import ErrorCode


def upgrade(group: ClassicGroup, view: View) -> ConsumerOutcome:
    """Convert a group with members, which keep their partitions; raises RequestError if that is not possible.

    The effects put the new group in place of the old one. Members that wait for the end of a rebalance are told to
    join again.
    """
    _check(group, view)
    try:
        found = [_member(group, member, view.topics) for member in group.members.values()]
    except CorruptionError:
        raise _refusal(group, "the embedded consumer protocol is malformed") from None
    converted = ConsumerGroup(
        group_id=group.group_id,
        epoch=group.generation,
        assignment_epoch=group.generation,
        members={member.member_id: member for member in found},
        targets={member.member_id: frozenset(member.assigned) for member in found},
        is_written=True,
    )
    converted = replace(converted, metadata_hash=view.topics.hash(converted.subscribed_topics))
    effects: list[Effect] = [tombstone(group.group_id), *records.all_writes(converted)]
    effects += [CancelTimer(JOIN_TIMER), CancelTimer(SYNC_TIMER)]
    for waiting in group.members.values():
        code = ErrorCode.REBALANCE_IN_PROGRESS
        effects.append(CancelTimer(member_timer(waiting.member_id)))
        if waiting.join is not None:
            effects.append(Reply(waiting.join, refused(code, waiting.member_id)))
        if waiting.sync is not None:
            effects.append(Reply(waiting.sync, {"errorCode": code}))
    effects += [CancelTimer(member_timer(member_id)) for member_id in group.pending]
    change = Transition(converted, view)
    for member in found:
        change.set_session_timer(member)
    return ConsumerOutcome(converted, [*effects, *change.outcome.effects])


def _check(group: ClassicGroup, view: View) -> None:
    if view.config.group_consumer_migration_policy.lower() not in ("bidirectional", "upgrade"):
        raise _refusal(group, "online upgrade is disabled")
    if not group.uses_consumer_protocol:
        raise _refusal(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > view.config.group_consumer_max_size:
        raise _refusal(group, "the group size exceeds the consumer group maximum size")


def _refusal(group: ClassicGroup, why: str) -> RequestError:
    problem = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}."
    return RequestError(ErrorCode.GROUP_ID_NOT_FOUND, problem)


def _member(group: ClassicGroup, member: ClassicMember, topics: GroupTopics) -> Member:
    subscription = decode_subscription(member.metadata(group.protocol_name)).data
    assigned: dict[TopicIdPartition, int] = {}
    if member.assignment:
        row = decode_assignment(member.assignment).data
        if row["userData"]:
            raise _refusal(
                group,
                "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
                "assignor before re-attempting the upgrade",
            )
        assigned = dict.fromkeys(topics.partitions_in(row["assignedPartitions"]), group.generation)
    return Member(
        member_id=member.member_id,
        member_epoch=group.generation,
        previous_epoch=group.generation,
        instance_id=member.instance_id,
        rack_id=subscription.get("rackId") or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=frozenset(subscription["topics"]),
        assigned=assigned,
        classic={
            "sessionTimeoutMs": member.session_timeout_ms,
            "supportedProtocols": [{"name": name, "metadata": bytes(data)} for name, data in member.protocols],
        },
    )
