"""The target assignment: which partitions each member should have in the group's epoch."""

from __future__ import annotations

from functools import partial

from octavo.coordinator.groups.assignors import ASSIGNORS
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import ConsumerGroup, Member
from octavo.coordinator.groups.consumer.topics import TopicIdPartition
from octavo.coordinator.groups.consumer.transition import Transition, View
from octavo.coordinator.groups.uniform import uniform_assignor


def assign(change: Transition) -> None:
    """Let the group's assignor choose the target of each member, and write those that have changed."""
    group, topics = change.group, change.view.topics
    default = change.view.config.group_consumer_assignors[0]
    assignor = ASSIGNORS.get(group.preferred_assignor(default), ASSIGNORS[default])
    members = sorted(group.members.values(), key=_place)
    subscriptions = {member.member_id: frozenset(group.topics_of(member)) for member in members}
    wanted = sorted(name for name in frozenset[str]().union(*subscriptions.values()) if name in topics.by_name)
    partitions = {name: topics.by_name[name].partitions for name in wanted}
    if assignor is uniform_assignor:
        assignor = partial(uniform_assignor, ids={name: topics.by_name[name].topic_id for name in wanted})
    current = {
        member.member_id: [
            named
            for partition in sorted(group.targets.get(member.member_id, ()))
            if (named := topics.by_partition(partition)) is not None
        ]
        for member in members
    }
    for member_id, assigned in assignor(subscriptions, partitions, current).items():
        target = frozenset(TopicIdPartition(topics.by_name[topic].topic_id, partition) for topic, partition in assigned)
        if target != group.targets.get(member_id):
            change.write(records.target_write(group.group_id, member_id, target))
    change.write(records.target_metadata_write(group.group_id, group.epoch, change.view.now.time_ms))


def may_assign(group: ConsumerGroup, view: View) -> bool:
    """Whether the last assignment was long enough ago. Members in this process do not wait for that."""
    interval_ms = view.config.group_consumer_assignment_interval_ms
    if not group.assignment_time_ms or not interval_ms:
        return True
    return view.now.time_ms >= group.assignment_time_ms + interval_ms


def _place(member: Member) -> tuple[bool, str]:
    """Static members come first, by instance id, so that a restarted member gets the same place."""
    return member.instance_id is None, member.instance_id or member.member_id
