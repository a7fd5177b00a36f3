"""The committed offsets of groups: records of `__consumer_offsets`, written and read back."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from octavo.coordinator.fetch import FetchForm, fetch_all
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
    """A committed offset: the next one to read, and a note of the consumer's."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_LEADER_EPOCH


# By group and partition.
GroupOffset = tuple[str, TopicPartition]


class OffsetStore:
    """Commits go to the log first, then to memory. A partition of the topic is read when first asked for. Thread-safe.

    Offsets that a transaction commits count once it is committed.
    """

    def __init__(self, topic: InternalTopic, clock: Clock, codec: Codec = Codec.NONE) -> None:
        self._topic = topic
        self._clock = clock
        self._codec = codec
        self._lock = threading.RLock()
        self._loaded: dict[TopicPartition, dict[GroupOffset, OffsetAndMetadata]] = {}
        self._behind: set[TopicPartition] = set()  # commits to these failed or were interrupted: they are read again

    def commit(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[str, bytes | None]
    ) -> None:
        """Write a group's offsets, as one batch."""
        if offsets:
            with self._lock:
                known = self._load(self.place(group))
                self._behind.add(self.place(group))  # until memory has what the log may have from now on
                place = self.append(group, offsets, topic_ids, Origin(base_sequence=0))
                known.update({(group, name): offset for name, offset in offsets.items()})
                self._behind.discard(place)

    def append(
        self,
        group: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[str, bytes | None],
        origin: Origin,
    ) -> TopicPartition:
        """Write offsets to the log alone, as part of a transaction, say; returns the partition that they are in."""
        place = self.place(group)
        log, now_ms = self._topic.log(place), self._clock.time_ms()
        records = [
            Record(number, now_ms, _key(group, name), _value(offset, now_ms, topic_ids.get(name.topic)))
            for number, (name, offset) in enumerate(offsets.items())
        ]
        batch = bytearray(build_batch(records, codec=self._codec, origin=origin))
        log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR, trusted=True)
        return place

    def place(self, group: str) -> TopicPartition:
        """The partition of the topic that holds a group's offsets; the topic is made if need be."""
        self._topic.create()
        place = self._topic.partition_of(group)
        assert place is not None, "a topic that was made"
        return place

    def committed(
        self, group: str, names: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed, of these partitions or of all."""
        with self._lock:
            place = self._topic.partition_of(group)
            if place is None:
                return {}
            known = self._load(place)
            wanted = [name for of, name in known if of == group] if names is None else names
            return {name: known[group, name] for name in wanted if (group, name) in known}

    def _load(self, place: TopicPartition) -> dict[GroupOffset, OffsetAndMetadata]:
        if place not in self._loaded or place in self._behind:
            found: dict[GroupOffset, OffsetAndMetadata] = {}
            for record in _committed_records(place, self._topic.log(place)):
                if record.key is not None:
                    _read(record.key, record.value, found)
            self._loaded[place] = found
            self._behind.discard(place)
        return self._loaded[place]

    def forget(self, names: Iterable[TopicPartition]) -> None:
        """Read these partitions of the topic anew when they are next asked for: transactions in them have ended."""
        with self._lock:
            for name in names:
                self._loaded.pop(name, None)


def _committed_records(place: TopicPartition, log: PartitionLog) -> Iterator[ConsumerRecord]:
    """What is committed, and behind the first open transaction what belongs to none."""
    stable = log.last_stable_offset
    yield from fetch_all(place, log, FetchForm(Isolation.READ_COMMITTED))
    yield from fetch_all(place, log, FetchForm(skips_transactions=True), stable)


def _read(key: bytes, value: bytes | None, found: dict[GroupOffset, OffsetAndMetadata]) -> None:
    try:
        record = decode_consumer_offsets_record(key, value)
    except CorruptionError:
        return  # a kind of record that is not known, as Kafka passes over it
    kind, fields = record.key
    if kind.id not in (_LEGACY_OFFSET_COMMIT, OFFSET_COMMIT.id):
        return
    name = fields["group"], TopicPartition(fields["topic"], fields["partition"])
    if record.value is None:
        found.pop(name, None)
    else:
        row = record.value.data
        found[name] = OffsetAndMetadata(row["offset"], row["metadata"], row.get("leaderEpoch", NO_LEADER_EPOCH))


def _key(group: str, name: TopicPartition) -> bytes:
    return encode_key(OFFSET_COMMIT, {"group": group, "topic": name.topic, "partition": name.partition})


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
