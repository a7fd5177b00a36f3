"""What a consumer commits for its group, and when it does so by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from octavo.client.consumer.config import ConsumerConfig
from octavo.client.consumer.membership import Membership
from octavo.client.consumer.partition_state import PartitionState
from octavo.coordinator.groups.offsets import OffsetAndMetadata, OffsetStore
from octavo.errors import IllegalStateError
from octavo.format.names import TopicPartition
from octavo.storage.log_manager import LogManager


class Commits:
    """The offsets that one consumer commits. What it committed last is not committed again by itself."""

    def __init__(self, logs: LogManager, config: ConsumerConfig, offsets: OffsetStore) -> None:
        self._logs = logs
        self._clock = logs.environment.clock
        self._config = config
        self._offsets = offsets
        self._known: dict[TopicPartition, int] = {}
        self._last_ms = self._clock.monotonic_ms()

    @property
    def is_due(self) -> bool:
        """Whether auto.commit.interval.ms is over."""
        return self._clock.monotonic_ms() - self._last_ms >= self._config.auto_commit_interval_ms

    def committed(self, names: Collection[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """What the group has committed for these partitions."""
        return self._offsets.committed(self._group_id(), names)

    def begin(self, names: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets to go on at, of partitions that the group has some for; without a group there are none."""
        if self._config.group_id is None:
            return {}
        found = {name: at.offset for name, at in self.committed(names).items()}
        self._known.update(found)
        return found

    def write(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], membership: Membership | None) -> None:
        """Commit these; refused where the group has given the partitions to others."""
        if membership is not None and not membership.is_alive:
            raise IllegalStateError("the group has given this consumer's partitions to others: it did not poll in time")
        topic_ids = {name.topic: self._logs.log(*name).topic_id for name in offsets}
        self._offsets.commit(self._group_id(), offsets, topic_ids)
        self._known.update({name: at.offset for name, at in offsets.items()})

    def write_changed(self, states: Iterable[PartitionState], membership: Membership | None) -> None:
        """Commit what was handed out since the last time, if that is automatic and the consumer may."""
        self._last_ms = self._clock.monotonic_ms()
        if self._config.group_id is not None and self._config.enable_auto_commit and membership is not None:
            positions = self.positions(states)
            changed = {name: at for name, at in positions.items() if self._known.get(name) != at.offset}
            if changed and membership.is_alive:
                self.write(changed, membership)

    def positions(self, states: Iterable[PartitionState]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where partitions were read up to; of a topic that was deleted there is nothing to commit."""
        there = [state for state in states if self._logs.logs.get(state.name) is state.log]
        return {state.name: OffsetAndMetadata(state.position) for state in there if state.position is not None}

    def _group_id(self) -> str:
        if self._config.group_id is None:
            raise IllegalStateError("offsets are those of a group, expected a group.id")
        return self._config.group_id
