"""The offsets that groups have committed, and those that belong to open transactions."""

from __future__ import annotations

from typing import NamedTuple

from octavo.coordinator.effects import Write
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.kernels.layout import NO_LEADER_EPOCH

OFFSET_COMMIT = CONSUMER_OFFSETS_TYPES[1]
OFFSET_RECORDS = (0, OFFSET_COMMIT.id)  # the legacy type and the current one
NO_TIMESTAMP = -1
NO_TOPIC_ID = bytes(16)


class OffsetAndMetadata(NamedTuple):
    """A committed offset (the next one to read) and the consumer's own note."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_LEADER_EPOCH


class StoredOffset(NamedTuple):
    """An offset as it was committed, and the offset of the record that committed it."""

    offset: int
    metadata: str
    leader_epoch: int
    commit_timestamp: int
    expire_timestamp: int = NO_TIMESTAMP
    topic_id: bytes = NO_TOPIC_ID
    record_offset: int = -1

    @classmethod
    def of(cls, row: Row, record_offset: int) -> StoredOffset:
        """The offset in a record's value."""
        return cls(
            row["offset"], row["metadata"], row.get("leaderEpoch", NO_LEADER_EPOCH), row["commitTimestamp"],
            row.get("expireTimestamp", NO_TIMESTAMP), row.get("topicId", NO_TOPIC_ID), record_offset,
        )  # fmt: skip

    def write(self, group_id: str, partition: TopicPartition) -> Write:
        """The record of the commit."""
        row = {
            "offset": self.offset,
            "leaderEpoch": self.leader_epoch,
            "metadata": self.metadata,
            "commitTimestamp": self.commit_timestamp,
            "expireTimestamp": self.expire_timestamp,
            "topicId": self.topic_id,
        }
        return Write(OFFSET_COMMIT, _key(group_id, partition), row)

    def is_of(self, topic_id: bytes) -> bool:
        """Whether it belongs to the topic with this id; True if either id is unknown."""
        return NO_TOPIC_ID in (topic_id, self.topic_id) or topic_id == self.topic_id


def tombstone(group_id: str, partition: TopicPartition) -> Write:
    """The record that removes a committed offset."""
    return Write(OFFSET_COMMIT, _key(group_id, partition), None)


def _key(group_id: str, partition: TopicPartition) -> Row:
    return {"group": group_id, "topic": partition.topic, "partition": partition.partition}


GroupOffsets = dict[TopicPartition, StoredOffset]


class StoredOffsets:
    """The offsets of the groups in one partition of `__consumer_offsets`. Not thread-safe.

    The commit whose record has the largest offset wins, no matter when its transaction ended.
    """

    def __init__(self) -> None:
        self._committed: dict[str, GroupOffsets] = {}
        self._pending: dict[int, dict[str, GroupOffsets]] = {}  # by producer id

    def of(self, group_id: str) -> GroupOffsets:
        """The committed offsets of a group."""
        return self._committed.get(group_id, {})

    def groups(self) -> set[str]:
        """The groups that have offsets, committed or pending."""
        return set(self._committed).union(*self._pending.values())

    def pending(self, group_id: str) -> set[TopicPartition]:
        """The partitions for which an open transaction has offsets of the group."""
        return {partition for groups in self._pending.values() for partition in groups.get(group_id, ())}

    def put(self, group_id: str, partition: TopicPartition, committed: StoredOffset) -> None:
        known = self._committed.setdefault(group_id, {})
        if partition not in known or known[partition].record_offset < committed.record_offset:
            known[partition] = committed

    def put_pending(self, producer_id: int, group_id: str, partition: TopicPartition, committed: StoredOffset) -> None:
        self._pending.setdefault(producer_id, {}).setdefault(group_id, {})[partition] = committed

    def remove(self, group_id: str, partition: TopicPartition, record_offset: int) -> None:
        """Forget what was committed before the tombstone at `record_offset`, even in open transactions."""
        for groups in (self._committed, *self._pending.values()):
            known = groups.get(group_id, {})
            if partition in known and known[partition].record_offset < record_offset:
                del known[partition]
                if not known:
                    del groups[group_id]

    def end_transaction(self, producer_id: int, *, is_committed: bool) -> None:
        """Put the offsets of a transaction into effect, or drop them."""
        ended = self._pending.pop(producer_id, {})
        if is_committed:
            for group_id, offsets in ended.items():
                for partition, committed in offsets.items():
                    self.put(group_id, partition, committed)

    def of_topic(self, topic: str) -> set[tuple[str, TopicPartition]]:
        """The groups and partitions for which there are offsets of a topic, committed or pending."""
        return {
            (group_id, partition)
            for groups in (self._committed, *self._pending.values())
            for group_id, offsets in groups.items()
            for partition in offsets
            if partition.topic == topic
        }
