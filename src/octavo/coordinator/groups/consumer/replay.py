"""How each record changes a consumer group, when it is read and when it has just been written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import LEFT, ConsumerGroup, Epochs, Member, MemberState, ResolvedRegex
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.format.messages.schema import Row

_Value = TypeVar("_Value")


def replay(group: ConsumerGroup | None, kind: int, key: Row, value: Row | None) -> ConsumerGroup | None:
    """The group after a record that was read; a tombstone of something unknown changes nothing."""
    if group is None:
        if value is None:
            return None
        group = ConsumerGroup(group_id=key["groupId"], is_written=True)
    if kind == records.GROUP.id and value is None:
        return None
    return applied(group, kind, key, value)


def applied(group: ConsumerGroup, kind: int, key: Row, value: Row | None) -> ConsumerGroup:
    """The group after any record except the one that removes it."""
    return _REPLAYS[kind](group, key, value)


def _group(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    assert value is not None, "a tombstone would remove the group"
    return replace(group, epoch=value["epoch"], metadata_hash=value["metadataHash"])


def _partition_metadata(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    return replace(group, has_partition_metadata=value is not None)


def _member(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    member_id = key["memberId"]
    if value is None:
        return replace(group, members=_without(group.members, member_id))
    member = replace(
        group.members.get(member_id) or Member(member_id=member_id),
        instance_id=value["instanceId"],
        rack_id=value["rackId"],
        client_id=value["clientId"],
        client_host=value["clientHost"],
        topics=frozenset(value["subscribedTopicNames"]),
        regex=value["subscribedTopicRegex"],
        rebalance_timeout_ms=value["rebalanceTimeoutMs"],
        assignor=value["serverAssignor"],
        classic=value["classicMemberMetadata"],
    )
    return replace(group, members={**group.members, member_id: member})


def _target_metadata(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    if value is None:
        return replace(group, assignment_epoch=-1, assignment_time_ms=0)
    return replace(group, assignment_epoch=value["assignmentEpoch"], assignment_time_ms=value["assignmentTimestamp"])


def _target(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    if value is None:
        return replace(group, targets=_without(group.targets, key["memberId"]))
    target = frozenset(
        TopicIdPartition(row["topicId"], number) for row in value["topicPartitions"] for number in row["partitions"]
    )
    return replace(group, targets={**group.targets, key["memberId"]: target})


def _current(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    member_id = key["memberId"]
    member = group.members.get(member_id)
    if value is None:
        if member is None:
            return group
        member = replace(member, member_epoch=LEFT, previous_epoch=LEFT, assigned={}, revoking={})
    else:
        epoch = value["memberEpoch"]
        member = replace(
            member or Member(member_id=member_id),
            member_epoch=epoch,
            previous_epoch=value["previousMemberEpoch"],
            state=MemberState(value["state"]),
            assigned=_epochs(value["assignedPartitions"], epoch),
            revoking=_epochs(value["partitionsPendingRevocation"], epoch),
        )
    return replace(group, members={**group.members, member_id: member})


def _epochs(rows: list[Row], member_epoch: int) -> Epochs:
    """Partitions with their assignment epochs. Older brokers did not write these; then the member's epoch is used."""
    epochs: dict[TopicIdPartition, int] = {}
    for row in rows:
        numbers, known = row["partitions"], row["assignmentEpochs"]
        if known is None or len(known) != len(numbers):
            known = [max(member_epoch, 0)] * len(numbers)
        for number, epoch in zip(numbers, known, strict=True):
            epochs[TopicIdPartition(row["topicId"], number)] = epoch
    return epochs


def _regex(group: ConsumerGroup, key: Row, value: Row | None) -> ConsumerGroup:
    regex = key["regularExpression"]
    if value is None:
        return replace(group, regexes=_without(group.regexes, regex))
    resolved = ResolvedRegex(frozenset(value["topics"]), value["version"], value["timestamp"])
    return replace(group, regexes={**group.regexes, regex: resolved})


def _without(mapping: Mapping[str, _Value], name: str) -> Mapping[str, _Value]:
    return {known: value for known, value in mapping.items() if known != name}


_REPLAYS: Mapping[int, Callable[[ConsumerGroup, Row, Row | None], ConsumerGroup]] = {
    records.GROUP.id: _group,
    records.PARTITION_METADATA.id: _partition_metadata,
    records.MEMBER.id: _member,
    records.TARGET_METADATA.id: _target_metadata,
    records.TARGET.id: _target,
    records.CURRENT.id: _current,
    records.REGEX.id: _regex,
}
