"""Commits a consumer's offsets for its group, on request or automatically."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.membership import Membership
from octavo.client.consumer.partition_state import PartitionState
from octavo.coordinator.groups.commit_rules import ANYBODY
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import IllegalStateError
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager


class OffsetCommits:
    """Commits the offsets of one consumer; automatic commits include only those that changed since the last one."""

    def __init__(self, log_manager: LogManager, config: ConsumerConfig, offsets: CommittedOffsets) -> None:
        self._log_manager = log_manager
        self._clock = log_manager.environment.clock
        self._config = config
        self._offsets = offsets
        self._known: dict[TopicPartition, int] = {}
        self._last_ms = self._clock.monotonic_ms()

    @property
    def is_due(self) -> bool:
        """Whether auto.commit.interval.ms has passed since the last automatic commit."""
        return self._clock.monotonic_ms() - self._last_ms >= self._config.auto_commit_interval_ms

    def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that the group has committed for these partitions."""
        return self._offsets.committed(self._group_id(), partitions)

    def begin(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offsets from which to read these partitions; none without a group."""
        if self._config.group_id is None:
            return {}
        for partition in partitions:
            self._known.pop(partition, None)  # its topic may have been deleted and created again
        found = {partition: committed.offset for partition, committed in self.committed(partitions).items()}
        self._known.update(found)
        return found

    def write(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], membership: Membership | None) -> None:
        """Commit offsets; raises if the group may have given the partitions to others."""
        if membership is not None and not membership.is_alive:
            reason = "it has not polled yet, or not within max.poll.interval.ms"
            raise IllegalStateError(f"the consumer is not a member of its group: {reason}; poll first")
        group_id = self._group_id()
        if not offsets:
            return
        self._offsets.check_metadata(offsets)
        topic_ids = {partition.topic: self._log_manager.log(*partition).topic_id for partition in offsets}
        committer = ANYBODY if membership is None else membership.committer
        self._offsets.commit(group_id, offsets, topic_ids, committer)
        self._known.update({partition: committed.offset for partition, committed in offsets.items()})

    def write_changed(self, states: Iterable[PartitionState], membership: Membership | None) -> None:
        """Commit the positions that have changed, if enable.auto.commit is on and the member is alive."""
        self._last_ms = self._clock.monotonic_ms()
        if self._config.group_id is not None and self._config.enable_auto_commit and membership is not None:
            changed = {
                partition: position
                for partition, position in self.positions(states).items()
                if self._known.get(partition) != position.offset
            }
            if changed and membership.is_alive:
                self.write(changed, membership)

    def positions(self, states: Iterable[PartitionState]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of partitions, except those of deleted topics, which have nothing to commit."""
        logs = self._log_manager.logs
        return {
            state.topic_partition: OffsetAndMetadata(state.position)
            for state in states
            if state.position is not None and logs.get(state.topic_partition) is state.log
        }

    def _group_id(self) -> str:
        if self._config.group_id is None:
            problem = "the consumer has no group.id, so it can neither commit offsets nor look up committed ones"
            raise IllegalStateError(f"{problem}: name a group when you create it")
        return self._config.group_id
