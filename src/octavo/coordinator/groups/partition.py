"""What the coordinator knows about one partition of `__consumer_offsets`: its groups and their offsets."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from octavo.coordinator.groups.classic.group import ClassicGroup
from octavo.coordinator.groups.classic.records import group_of
from octavo.coordinator.groups.consumer.group import ConsumerGroup
from octavo.coordinator.groups.consumer.records import CONSUMER_GROUP_RECORDS
from octavo.coordinator.groups.consumer.replay import replay as replay_consumer_group
from octavo.coordinator.groups.kinds import Group
from octavo.coordinator.groups.offsets import OFFSET_RECORDS, StoredOffset, StoredOffsets
from octavo.coordinator.groups.replay import ReplayedRecord, replay
from octavo.errors import CorruptionError
from octavo.format.messages.consumer_offsets import GROUP_METADATA, decode_consumer_offsets_record
from octavo.format.messages.records import RecordType, UnknownRecordTypeError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.kernels.layout import NO_PRODUCER_ID
from octavo.storage.partition_log import PartitionLog

_log = logging.getLogger(__name__)


class GroupPartition:
    """Follows its log: what others append there, such as the markers of transactions, is read before each use.

    Not thread-safe. While the topic does not exist there is no log to read.
    """

    def __init__(self, topic_partition: TopicPartition | None = None, log: PartitionLog | None = None) -> None:
        self.topic_partition = topic_partition
        self.log = log
        self.groups: dict[str, Group] = {}
        self.offsets = StoredOffsets()
        self.is_live = False  # if True, groups in memory are up to date: their records are skipped
        self._position = 0 if log is None else log.log_start_offset

    def catch_up(self) -> None:
        """Read what was appended since the last time.

        Of several records with the same key only the last is decoded, except for those of transactions.
        """
        log, topic_partition = self.log, self.topic_partition
        if log is None or topic_partition is None or log.log_end_offset == self._position:
            return
        end, last = log.log_end_offset, dict[bytes, ReplayedRecord]()
        for found in replay(topic_partition, log, self._position):
            if not isinstance(found, ReplayedRecord):
                self.offsets.end_transaction(found.producer_id, is_committed=found.is_committed)
            elif found.producer_id != NO_PRODUCER_ID:
                self._apply(found)
            else:
                last.pop(found.key, None)
                last[found.key] = found
        for record in last.values():
            self._apply(record)
        self.add_simple_groups(self.offsets.groups())
        self._position = end

    def appended(self, first_offset: int, count: int) -> None:
        """Skip records that the coordinator appended itself, unless there are others before them."""
        if first_offset == self._position:
            self._position += count

    def adopt(self, group_id: str, group: Group | None) -> None:
        """Replace a group with its new state; None removes it."""
        if group is not None:
            self.groups[group_id] = group
        else:
            self.groups.pop(group_id, None)

    def add_simple_groups(self, group_ids: Iterable[str]) -> None:
        """Add groups that have offsets, committed or pending, but neither members nor a record of their own."""
        for group_id in group_ids:
            if group_id not in self.groups:
                self.groups[group_id] = ClassicGroup(group_id)

    def _apply(self, record: ReplayedRecord) -> None:
        try:
            decoded = decode_consumer_offsets_record(record.key, record.value)
        except UnknownRecordTypeError:
            return  # Kafka skips it too
        except CorruptionError as error:  # here Kafka refuses to load the partition
            place, skipped = self.topic_partition, "a record that cannot be decoded is skipped"
            _log.warning("%s, offset %d: %s: %s", place, record.offset, skipped, error)
            return
        kind, key = decoded.key
        value = None if decoded.value is None else decoded.value.data
        if kind.id in OFFSET_RECORDS:
            self._apply_offset(record, key, value)
        elif kind is GROUP_METADATA or kind.id in CONSUMER_GROUP_RECORDS:
            self._apply_group(kind, key, value)

    def _apply_group(self, kind: RecordType, key: Row, value: Row | None) -> None:
        """Apply a record of a group. A tombstone removes only a group of its own kind: a converted group stays."""
        is_classic = kind is GROUP_METADATA
        group_id = key["group" if is_classic else "groupId"]
        known = self.groups.get(group_id)
        if (self.is_live and known is not None) or (value is None and isinstance(known, ConsumerGroup) is is_classic):
            return
        if is_classic:
            self.adopt(group_id, None if value is None else group_of(group_id, value))
        else:
            consumers = known if isinstance(known, ConsumerGroup) else None
            self.adopt(group_id, replay_consumer_group(consumers, kind.id, key, value))

    def _apply_offset(self, record: ReplayedRecord, key: Row, value: Row | None) -> None:
        group_id, partition = key["group"], TopicPartition(key["topic"], key["partition"])
        if value is None:
            self.offsets.remove(group_id, partition, record.offset)
            return
        committed = StoredOffset.of(value, record.offset)
        if record.producer_id == NO_PRODUCER_ID:
            self.offsets.put(group_id, partition, committed)
        else:
            self.offsets.put_pending(record.producer_id, group_id, partition, committed)
