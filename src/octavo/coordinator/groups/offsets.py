"""The committed offsets of groups, as records of `__consumer_offsets`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from octavo.coordinator.fetch import FetchOptions, fetch_all
from octavo.coordinator.internal_topics import InternalTopic
from octavo.errors import CorruptionError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.compression import Codec
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES, decode_consumer_offsets_record
from octavo.format.messages.records import encode_key, encode_versioned
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.kernels.layout import NO_LEADER_EPOCH
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.system.clock import Clock

OFFSET_COMMIT = CONSUMER_OFFSETS_TYPES[1]
VALUE_VERSION = 4  # what Kafka 4.3 writes; 0 to 3 are read too
_LEGACY_OFFSET_COMMIT = 0
_NO_TOPIC_ID = bytes(16)


class OffsetAndMetadata(NamedTuple):
    """A committed offset (the next one to read) and the consumer's own note."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_LEADER_EPOCH


# A group and a partition it reads.
GroupOffset = tuple[str, TopicPartition]


class OffsetStore:
    """Writes commits to the log first, then to memory; reads a partition of the topic when it is first needed.

    Offsets that belong to a transaction count once it is committed. Thread-safe.
    """

    def __init__(self, topic: InternalTopic, clock: Clock, codec: Codec = Codec.NONE) -> None:
        self._topic = topic
        self._clock = clock
        self._codec = codec
        self._lock = threading.RLock()
        self._loaded: dict[TopicPartition, dict[GroupOffset, OffsetAndMetadata]] = {}
        self._outdated: set[TopicPartition] = set()  # to be read again: memory may lack what the log has

    def commit(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[str, bytes | None]
    ) -> None:
        """Write a group's offsets, as one batch (an OffsetCommit request)."""
        if offsets:
            with self._lock:
                place = self.partition_of(group)
                known = self._load(place)
                self._outdated.add(place)  # if the append fails, the log may or may not have the offsets
                self.append(group, offsets, topic_ids, Origin(base_sequence=0))
                known.update({(group, partition): offset for partition, offset in offsets.items()})
                self._outdated.discard(place)

    def append(
        self,
        group: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[str, bytes | None],
        origin: Origin,
    ) -> None:
        """Write offsets to the log but not to memory: those of a transaction (a TxnOffsetCommit request)."""
        log, now_ms = self._topic.log(self.partition_of(group)), self._clock.time_ms()
        records = [
            Record(number, now_ms, _key(group, partition), _value(offset, now_ms, topic_ids.get(partition.topic)))
            for number, (partition, offset) in enumerate(offsets.items())
        ]
        batch = bytearray(build_batch(records, codec=self._codec, origin=origin))
        log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR, trusted=True)

    def partition_of(self, group: str) -> TopicPartition:
        """The partition of `__consumer_offsets` that holds a group's offsets; creates the topic if necessary."""
        self._topic.create()
        place = self._topic.partition_of(group)
        assert place is not None, "the topic was created"
        return place

    def committed(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that a group has committed, for these partitions or for all (an OffsetFetch request)."""
        with self._lock:
            place = self._topic.partition_of(group)
            if place is None:
                return {}
            known = self._load(place)
            if partitions is None:
                partitions = [partition for owner, partition in known if owner == group]
            return {partition: known[group, partition] for partition in partitions if (group, partition) in known}

    def _load(self, place: TopicPartition) -> dict[GroupOffset, OffsetAndMetadata]:
        if place not in self._loaded or place in self._outdated:
            found: dict[GroupOffset, OffsetAndMetadata] = {}
            for record in _committed_records(place, self._topic.log(place)):
                if record.key is not None:
                    _read(record.key, record.value, found)
            self._loaded[place] = found
            self._outdated.discard(place)
        return self._loaded[place]

    def transaction_ended(self, partition: TopicPartition) -> None:
        """Read a partition again when it is next needed, because a transaction has ended in it. Ignores other
        partitions."""
        with self._lock:
            self._loaded.pop(partition, None)


def _committed_records(place: TopicPartition, log: PartitionLog) -> Iterator[ConsumerRecord]:
    """The committed records and, after the first open transaction, those outside of transactions."""
    stable = log.last_stable_offset
    yield from fetch_all(place, log, FetchOptions(Isolation.READ_COMMITTED))
    yield from fetch_all(place, log, FetchOptions(skips_transactions=True), stable)


def _read(key: bytes, value: bytes | None, found: dict[GroupOffset, OffsetAndMetadata]) -> None:
    try:
        record = decode_consumer_offsets_record(key, value)
    except CorruptionError:
        return  # an unknown kind of record, which Kafka skips too
    kind, fields = record.key
    if kind.id not in (_LEGACY_OFFSET_COMMIT, OFFSET_COMMIT.id):
        return
    group_offset = fields["group"], TopicPartition(fields["topic"], fields["partition"])
    if record.value is None:
        found.pop(group_offset, None)
    else:
        row = record.value.data
        found[group_offset] = OffsetAndMetadata(row["offset"], row["metadata"], row.get("leaderEpoch", NO_LEADER_EPOCH))


def _key(group: str, partition: TopicPartition) -> bytes:
    return encode_key(OFFSET_COMMIT, {"group": group, "topic": partition.topic, "partition": partition.partition})


def _value(offset: OffsetAndMetadata, now_ms: int, topic_id: bytes | None) -> bytes:
    row = {
        "offset": offset.offset,
        "leaderEpoch": offset.leader_epoch,
        "metadata": offset.metadata,
        "commitTimestamp": now_ms,
        "expireTimestamp": -1,
        "topicId": topic_id or _NO_TOPIC_ID,
    }
    return encode_versioned(OFFSET_COMMIT.value, VALUE_VERSION, row)
