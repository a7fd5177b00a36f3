"""The records of a consumer group."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.coordinator.effects import Write
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Epochs, Member, ResolvedRegex, Target
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.records import RecordType
from octavo.format.messages.schema import Row
from octavo.format.names import by_topic

GROUP = CONSUMER_OFFSETS_TYPES[3]
PARTITION_METADATA = CONSUMER_OFFSETS_TYPES[4]
MEMBER = CONSUMER_OFFSETS_TYPES[5]
TARGET_METADATA = CONSUMER_OFFSETS_TYPES[6]
TARGET = CONSUMER_OFFSETS_TYPES[7]
CURRENT = CONSUMER_OFFSETS_TYPES[8]
REGEX = CONSUMER_OFFSETS_TYPES[16]
CONSUMER_GROUP_RECORDS = frozenset(kind.id for kind in (
    GROUP, PARTITION_METADATA, MEMBER, TARGET_METADATA, TARGET, CURRENT, REGEX
))  # fmt: skip


def partition_rows(partitions: Iterable[TopicIdPartition]) -> list[Row]:
    """Partitions as requests, answers and records list them."""
    return [{"topicId": topic_id, "partitions": numbers} for topic_id, numbers in by_topic(sorted(partitions)).items()]


def _epoch_rows(epochs: Epochs) -> list[Row]:
    return [
        {**row, "assignmentEpochs": [epochs[TopicIdPartition(row["topicId"], number)] for number in row["partitions"]]}
        for row in partition_rows(epochs)
    ]


def group_write(group: ConsumerGroup) -> Write:
    row = {"epoch": group.epoch, "metadataHash": group.metadata_hash}
    return Write(GROUP, {"groupId": group.group_id}, row)


def member_write(group_id: str, member: Member) -> Write:
    row = {
        "instanceId": member.instance_id,
        "rackId": member.rack_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "subscribedTopicNames": sorted(member.topics),
        "subscribedTopicRegex": member.regex,
        "rebalanceTimeoutMs": member.rebalance_timeout_ms,
        "serverAssignor": member.assignor,
        "classicMemberMetadata": member.classic,
    }
    return Write(MEMBER, {"groupId": group_id, "memberId": member.member_id}, row)


def target_metadata_write(group_id: str, assignment_epoch: int, time_ms: int) -> Write:
    row = {"assignmentEpoch": assignment_epoch, "assignmentTimestamp": time_ms}
    return Write(TARGET_METADATA, {"groupId": group_id}, row)


def target_write(group_id: str, member_id: str, target: Target) -> Write:
    return Write(TARGET, {"groupId": group_id, "memberId": member_id}, {"topicPartitions": partition_rows(target)})


def current_write(group_id: str, member: Member) -> Write:
    row = {
        "memberEpoch": member.member_epoch,
        "previousMemberEpoch": member.previous_epoch,
        "state": int(member.state),
        "assignedPartitions": _epoch_rows(member.assigned),
        "partitionsPendingRevocation": _epoch_rows(member.revoking),
    }
    return Write(CURRENT, {"groupId": group_id, "memberId": member.member_id}, row)


def regex_write(group_id: str, regex: str, resolved: ResolvedRegex | None) -> Write:
    row = None
    if resolved is not None:
        row = {"topics": sorted(resolved.topics), "version": resolved.version, "timestamp": resolved.time_ms}
    return Write(REGEX, {"groupId": group_id, "regularExpression": regex}, row)


def member_tombstones(group_id: str, member_id: str) -> list[Write]:
    """The records that remove a member, in the order in which Kafka expects them."""
    key = {"groupId": group_id, "memberId": member_id}
    return [Write(kind, key, None) for kind in (CURRENT, TARGET, MEMBER)]


def all_writes(group: ConsumerGroup) -> list[Write]:
    """The records of a group that was a classic one until now, and therefore has no regular expressions."""
    group_id, members = group.group_id, group.members.values()
    return [
        *(member_write(group_id, member) for member in members),
        group_write(group),
        *(target_write(group_id, member_id, target) for member_id, target in group.targets.items()),
        target_metadata_write(group_id, group.assignment_epoch, group.assignment_time_ms),
        *(current_write(group_id, member) for member in members),
    ]


def tombstones(group: ConsumerGroup) -> list[Write]:
    """The records that remove a group, in the order in which Kafka expects them."""
    key = {"groupId": group.group_id}

    def of_members(kind: RecordType) -> list[Write]:
        return [Write(kind, {**key, "memberId": member_id}, None) for member_id in group.members]

    return [
        *of_members(CURRENT),
        *of_members(TARGET),
        Write(TARGET_METADATA, key, None),
        *of_members(MEMBER),
        *(regex_write(group.group_id, regex, None) for regex in group.regexes),
        Write(PARTITION_METADATA, key, None),
        Write(GROUP, key, None),
    ]
