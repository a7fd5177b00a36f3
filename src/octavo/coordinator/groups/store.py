"""The partitions of `__consumer_offsets`: read when first needed, written before anything is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from octavo.coordinator.effects import Write
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.offsets import NO_TIMESTAMP, OFFSET_COMMIT
from octavo.coordinator.groups.partition import GroupPartition
from octavo.coordinator.internal_topics import InternalTopic
from octavo.errors import RecordBatchTooLargeError, RecordTooLargeError, UnknownTopicOrPartitionError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.compression import Codec
from octavo.format.messages.consumer_offsets import GROUP_METADATA
from octavo.format.messages.records import encode_key, encode_versioned
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from octavo.system.clock import Clock

NO_PRODUCER = Origin(base_sequence=0)
_OFFSET_VERSION, _EXPIRING_OFFSET_VERSION = 4, 1  # only version 1 says when an offset expires
_GROUP_VERSION = 3


class GroupStore:
    """Thread-safe. `on_load` is called with each partition once it has been read, under the lock."""

    def __init__(self, topic: InternalTopic, clock: Clock, codec: Codec = Codec.NONE) -> None:
        self.topic = topic
        self._clock = clock
        self._codec = codec
        self._partitions: dict[TopicPartition, GroupPartition] = {}
        self._nowhere = GroupPartition()  # holds groups of members in this process while there is no topic
        self.lock = threading.RLock()
        self.on_load: Callable[[GroupPartition], None] = lambda partition: None

    def using(self, group_id: str, *, create: bool = False) -> AbstractContextManager[GroupPartition]:
        """The partition that holds a group, locked; one without a log if there is no topic and none is created."""
        return self.using_partition(self.topic.place_of(group_id) if create else self.topic.partition_of(group_id))

    @contextmanager
    def using_partition(self, topic_partition: TopicPartition | None) -> Iterator[GroupPartition]:
        """A partition, locked. It is read before the lock is taken, since reading may take long.

        If the topic was deleted, its groups are gone too: a new topic begins without them.
        """
        if topic_partition is None:
            with self.lock:
                yield self._nowhere
            return
        unread, log = None, self.topic.log(topic_partition)
        if topic_partition not in self._partitions or self._partitions[topic_partition].log is not log:
            unread = GroupPartition(topic_partition, log)
            unread.catch_up()
        with self.lock:
            partition = self._partitions.get(topic_partition)
            if unread is not None and (partition is None or partition.log is not log):
                unread.catch_up()
                partition = self._partitions[topic_partition] = unread
                partition.is_live = True
                self.on_load(partition)
                self._settle(topic_partition, partition)
            else:
                assert partition is not None, "otherwise it was read above"
                partition.catch_up()
            yield partition

    def _settle(self, topic_partition: TopicPartition, partition: GroupPartition) -> None:
        """Move here the groups that were formed while there was no topic."""
        for group_id in [known for known in self._nowhere.groups if self.topic.partition_of(known) == topic_partition]:
            partition.adopt(group_id, self._nowhere.groups.pop(group_id))

    def append(self, partition: GroupPartition, writes: Sequence[Write], origin: Origin = NO_PRODUCER) -> int:
        """Write records as one batch; returns the offset of the first one."""
        log, now_ms = partition.log, self._clock.time_ms()
        assert log is not None, "only an existing partition is written to"
        records = [Record(number, now_ms, *_encoded(write)) for number, write in enumerate(writes)]
        batch = bytearray(build_batch(records, codec=self._codec, origin=origin))
        info = log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR, trusted=True)
        partition.appended(info.first_offset, len(writes))
        return info.first_offset


def _encoded(write: Write) -> tuple[bytes, bytes | None]:
    kind, value = write.kind, write.value
    if value is None:
        return encode_key(kind, write.key), None
    version = kind.value.versions.highest
    if kind is GROUP_METADATA:
        version = _GROUP_VERSION
    elif kind is OFFSET_COMMIT:
        version = _OFFSET_VERSION if value["expireTimestamp"] == NO_TIMESTAMP else _EXPIRING_OFFSET_VERSION
    return encode_key(kind, write.key), encode_versioned(kind.value, version, value)


def failure_code(error: Exception) -> ErrorCode:
    """The code that a request gets after an error, such as one about the group's partition."""
    if isinstance(error, RequestError):
        return error.code
    if isinstance(error, UnknownTopicOrPartitionError):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if isinstance(error, RecordTooLargeError | RecordBatchTooLargeError):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NOT_COORDINATOR
