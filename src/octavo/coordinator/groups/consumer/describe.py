"""ConsumerGroupDescribe: a group as administrators see it."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.config import BrokerConfig
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.topics import GroupTopics, TopicIdPartition
from octavo.format.messages.schema import Row
from octavo.format.names import by_topic

_CLASSIC, _CONSUMER = 0, 1


def describe(group: ConsumerGroup, topics: GroupTopics, config: BrokerConfig) -> Row:
    return {
        "groupId": group.group_id,
        "groupState": group.state,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "assignorName": group.preferred_assignor(config.group_consumer_assignors[0]),
        "members": [_member(group, member, topics) for member in group.members.values()],
    }


def _member(group: ConsumerGroup, member: Member, topics: GroupTopics) -> Row:
    """A member's assignment includes what it still has to give up."""
    return {
        "memberId": member.member_id,
        "instanceId": member.instance_id,
        "rackId": member.rack_id,
        "memberEpoch": member.member_epoch,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "subscribedTopicNames": sorted(member.topics),
        "subscribedTopicRegex": member.regex,
        "assignment": _assignment([*member.assigned, *member.revoking], topics),
        "targetAssignment": _assignment(group.targets.get(member.member_id, ()), topics),
        "memberType": _CONSUMER if member.classic is None else _CLASSIC,
    }


def _assignment(partitions: Iterable[TopicIdPartition], topics: GroupTopics) -> Row:
    return {
        "topicPartitions": [
            {"topicId": topic_id, "topicName": topics.by_id[topic_id].name, "partitions": numbers}
            for topic_id, numbers in by_topic(sorted(partitions)).items()
            if topic_id in topics.by_id
        ]
    }
