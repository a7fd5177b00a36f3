"""The states of transactional ids, as records of `__transaction_state`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from octavo.coordinator.fetch import FetchOptions, fetch_all
from octavo.coordinator.internal_topics import InternalTopic
from octavo.errors import CorruptionError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.messages.records import encode_key, encode_versioned
from octavo.format.messages.schema import Row
from octavo.format.messages.transaction_state import (
    TRANSACTION_STATE_TYPES,
    TransactionStatus,
    decode_transaction_state_record,
)
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.append_origin import AppendOrigin
from octavo.system.clock import Clock

TRANSACTION_LOG = TRANSACTION_STATE_TYPES[0]
# A broker with transaction.version 0 cannot read later versions; one with 2 reads this version, too.
VALUE_VERSION = 0
_NO_PRODUCER_ID = -1


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """A transactional id: who may use it, and the state of its transaction.

    From PREPARE_COMMIT or PREPARE_ABORT on, the epoch is that of the markers and of the next transaction. In `version`
    2, which this library writes, it is one more than that of the batches; a broker may have left an earlier version.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    status: TransactionStatus = TransactionStatus.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = -1
    next_producer_id: int = _NO_PRODUCER_ID  # chosen by a broker when the epochs ran out
    version: int = 2

    @property
    def is_prepared(self) -> bool:
        return self.status in (TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)


class TransactionLog:
    """Writes and reads the states. Not thread-safe: the coordinator's lock guards it."""

    def __init__(self, topic: InternalTopic, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock

    def partitions(self) -> list[TopicPartition]:
        """The partitions of the topic that are in these log directories."""
        return self._topic.partitions()

    def partition_of(self, transactional_id: str) -> TopicPartition | None:
        """The partition that holds an id; None while there is no topic."""
        return self._topic.partition_of(transactional_id)

    def load(self, partition: TopicPartition) -> dict[str, TransactionMetadata]:
        """The last state of each id that a partition holds."""
        return last_states(fetch_all(partition, self._topic.log(partition), FetchOptions()))

    def coordinator_epoch(self, transactional_id: str) -> int:
        """The epoch that markers carry: the leader epoch of the id's partition."""
        partition = self._topic.partition_of(transactional_id)
        return 0 if partition is None else self._topic.log(partition).leader_epoch

    def create(self) -> None:
        """Create the topic, unless it exists."""
        self._topic.create()

    def append(self, metadata: TransactionMetadata) -> None:
        """Write a state."""
        self.create()
        partition = self._topic.partition_of(metadata.transactional_id)
        assert partition is not None, "the topic was created"
        log, now_ms = self._topic.log(partition), self._clock.time_ms()
        key = encode_key(TRANSACTION_LOG, {"transactionalId": metadata.transactional_id})
        value = encode_versioned(TRANSACTION_LOG.value, VALUE_VERSION, _row(metadata, now_ms))
        batch = bytearray(build_batch([Record(0, now_ms, key, value)], origin=Origin(base_sequence=0)))
        log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR, trusted=True)


def last_states(records: Iterable[ConsumerRecord]) -> dict[str, TransactionMetadata]:
    """The last state of each transactional id in these records of `__transaction_state`."""
    found: dict[str, TransactionMetadata] = {}
    for record in records:
        try:
            decoded = decode_transaction_state_record(record.key or b"", record.value)
        except CorruptionError:
            continue  # an unknown kind of record, which Kafka skips too
        transactional_id = decoded.key.data["transactionalId"]
        if decoded.value is None:
            found.pop(transactional_id, None)
        else:
            before = found.get(transactional_id)
            found[transactional_id] = _metadata(transactional_id, decoded.value.data, before)
    return found


def _metadata(transactional_id: str, row: Row, before: TransactionMetadata | None) -> TransactionMetadata:
    partitions = frozenset(
        TopicPartition(entry["topic"], number)
        for entry in row["transactionPartitions"] or ()
        for number in entry["partitionIds"]
    )
    known = TransactionMetadata(transactional_id, row["producerId"], row["producerEpoch"], row["transactionTimeoutMs"])
    # Records do not state their version. Under the rules of version 1 a log accepts the markers of both, so 1 is
    # assumed.
    return replace(
        known,
        version=2 if before is not None and before.epoch < known.epoch else 1,
        status=TransactionStatus(row["transactionStatus"]),
        partitions=partitions,
        start_ms=row["transactionStartTimestampMs"],
        next_producer_id=row.get("nextProducerId", _NO_PRODUCER_ID),
    )


def _row(metadata: TransactionMetadata, now_ms: int) -> Row:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(metadata.partitions):
        topics.setdefault(topic, []).append(number)
    named = [{"topic": topic, "partitionIds": numbers} for topic, numbers in topics.items()]
    return {
        "producerId": metadata.producer_id,
        "producerEpoch": metadata.epoch,
        "transactionTimeoutMs": metadata.timeout_ms,
        "transactionStatus": int(metadata.status),
        "transactionPartitions": None if metadata.status is TransactionStatus.EMPTY else named,
        "transactionLastUpdateTimestampMs": now_ms,
        "transactionStartTimestampMs": metadata.start_ms,
    }
