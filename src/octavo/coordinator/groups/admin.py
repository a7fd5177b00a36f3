"""What administrators do with groups: list, describe and delete them; and the expiry of offsets that nobody uses."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from octavo.coordinator.effects import Write
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups import commit_rules
from octavo.coordinator.groups.classic.group import ClassicGroup, ClassicState
from octavo.coordinator.groups.kinds import is_empty, listed, removal
from octavo.coordinator.groups.offsets import tombstone
from octavo.coordinator.groups.partition import GroupPartition
from octavo.coordinator.groups.store import GroupStore
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.system.clock import Clock

_log = logging.getLogger(__name__)


class GroupAdmin:
    """Thread-safe."""

    def __init__(self, store: GroupStore, clock: Clock, retention_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._retention_ms = retention_ms

    def load(self, group_id: str) -> None:
        """Create `__consumer_offsets` and read the group's partition, so that later requests need not wait for that."""
        with self._store.using(group_id, create=True):
            pass

    def list(self) -> list[Row]:
        """The groups of all partitions of `__consumer_offsets`, as ListGroups shows them."""
        found: list[Row] = []
        for topic_partition in self._store.topic.partitions():
            with self._store.using_partition(topic_partition) as partition:
                found += map(listed, partition.groups.values())
        return found

    def describe(self, group_id: str) -> Row:
        """A group as DescribeGroups shows it; raises RequestError if there is no such classic group."""
        with self._store.using(group_id) as partition:
            group = partition.groups.get(group_id)
            if isinstance(group, ClassicGroup):
                return _described(group)
            problem = f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
            raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, problem)

    def delete(self, group_id: str) -> None:
        """Delete a group without members, and its offsets; raises RequestError if that is not possible."""
        with self._store.using(group_id) as partition:
            commit_rules.check_deletion(partition.groups.get(group_id))
            self._forget(partition, group_id, _all_offsets(partition, group_id), is_group_over=True)

    def delete_offsets(self, group_id: str, wanted: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Delete committed offsets. Returns the partitions whose topics the group subscribes to, which keep theirs."""
        with self._store.using(group_id) as partition:
            group = partition.groups.get(group_id)
            commit_rules.check_offset_deletion(group)
            assert group is not None, "a missing group was refused"
            wanted = list(wanted)
            kept = {one for one in wanted if group.is_subscribed_to(one.topic)}
            known = _all_offsets(partition, group_id)
            self._forget(partition, group_id, [one for one in wanted if one in known and one not in kept])
            return kept

    def topic_deleted(self, topic: str) -> None:
        """Delete what all groups have committed for a topic."""
        for topic_partition in self._store.topic.partitions():
            with self._store.using_partition(topic_partition) as partition:
                committed = sorted(partition.offsets.of_topic(topic))
                if committed:
                    first = self._store.append(partition, [tombstone(*key) for key in committed])
                    for offset, (group_id, read) in enumerate(committed, first):
                        partition.offsets.remove(group_id, read, offset)

    def expire_offsets(self) -> None:
        """Delete offsets after offsets.retention.minutes, and groups that have neither offsets nor members left."""
        for topic_partition in self._store.topic.partitions():
            try:
                with self._store.using_partition(topic_partition) as partition:
                    for group_id in list(partition.groups):
                        self._expire(partition, group_id)
            except (OctavoError, OSError) as error:
                _log.error("old offsets in %s could not be deleted: %s", topic_partition, error)

    def _expire(self, partition: GroupPartition, group_id: str) -> None:
        group, offsets = partition.groups[group_id], partition.offsets.of(group_id)
        pending = partition.offsets.pending(group_id)
        over = commit_rules.expired(group, offsets, pending, self._clock.time_ms(), self._retention_ms)
        is_group_over = is_empty(group) and len(over) == len(offsets) and not pending
        if over or is_group_over:
            self._forget(partition, group_id, over, is_group_over=is_group_over)

    def _forget(
        self,
        partition: GroupPartition,
        group_id: str,
        topic_partitions: Collection[TopicPartition],
        *,
        is_group_over: bool = False,
    ) -> None:
        writes: list[Write] = [tombstone(group_id, topic_partition) for topic_partition in topic_partitions]
        if is_group_over:
            writes += removal(partition.groups[group_id])
        if not writes:
            return
        first = self._store.append(partition, writes)
        for number, topic_partition in enumerate(topic_partitions, first):
            partition.offsets.remove(group_id, topic_partition, number)
        if is_group_over:
            partition.adopt(group_id, None)


def _described(group: ClassicGroup) -> Row:
    """A group with its members. As in Kafka, the protocol and its metadata are shown only while the group is stable."""
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


def _all_offsets(partition: GroupPartition, group_id: str) -> set[TopicPartition]:
    return {*partition.offsets.of(group_id), *partition.offsets.pending(group_id)}
