"""The states of transactional ids, as records of `__transaction_state`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from octavo.coordinator.internal_topics import InternalTopic
from octavo.coordinator.log_reader import fetch_all
from octavo.coordinator.transactions.metadata import VERSION_1, TransactionMetadata
from octavo.errors import CorruptionError
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.messages.records import UnknownRecordTypeError, encode_key, encode_versioned
from octavo.format.messages.schema import Row
from octavo.format.messages.transaction_state import (
    TRANSACTION_STATE_TYPES,
    TransactionStatus,
    decode_transaction_state_record,
)
from octavo.format.names import TopicPartition, by_topic
from octavo.format.record import Record
from octavo.kernels.layout import NO_PRODUCER_ID
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.append_origin import AppendOrigin
from octavo.system.clock import Clock

_log = logging.getLogger(__name__)

TRANSACTION_LOG = TRANSACTION_STATE_TYPES[0]
# A broker without the feature transaction.version writes version 0, and cannot use the fields of later versions.
_WITHOUT_FEATURE = 0


class TransactionLog:
    """Writes and reads the states. Not thread-safe: the coordinator's lock guards it."""

    def __init__(self, topic: InternalTopic, clock: Clock) -> None:
        self.topic = topic
        self._clock = clock

    def load(self, partition: TopicPartition) -> dict[str, TransactionMetadata]:
        """The last state of each id that a partition holds."""
        return last_states(fetch_all(partition, self.topic.log(partition)), _warn)

    def coordinator_epoch(self, transactional_id: str) -> int:
        """The epoch that markers carry: the leader epoch of the id's partition."""
        partition = self.topic.partition_of(transactional_id)
        return 0 if partition is None else self.topic.log(partition).leader_epoch

    def append(self, metadata: TransactionMetadata) -> None:
        """Write a state."""
        value = encode_versioned(TRANSACTION_LOG.value, metadata.record_version, _row(metadata))
        self._append(metadata.transactional_id, value)

    def append_tombstone(self, transactional_id: str) -> None:
        """Forget an id."""
        self._append(transactional_id, None)

    def _append(self, transactional_id: str, value: bytes | None) -> None:
        log = self.topic.log(self.topic.place_of(transactional_id))
        key = encode_key(TRANSACTION_LOG, {"transactionalId": transactional_id})
        record = Record(0, self._clock.time_ms(), key, value)
        batch = bytearray(build_batch([record], origin=Origin(base_sequence=0)))
        log.append_as_leader(batch, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR, trusted=True)


def last_states(
    records: Iterable[ConsumerRecord], on_damage: Callable[[ConsumerRecord, Exception], None]
) -> dict[str, TransactionMetadata]:
    """The last state of each transactional id in these records of `__transaction_state`.

    A record that cannot be decoded is reported and skipped; Kafka logs an error and does not read what follows it.
    """
    found: dict[str, TransactionMetadata] = {}
    for record in records:
        try:
            decoded = decode_transaction_state_record(record.key or b"", record.value)
            transactional_id = decoded.key.data["transactionalId"]
            if decoded.value is None:
                found.pop(transactional_id, None)
            else:
                known = _metadata(transactional_id, decoded.value.data)
                found[transactional_id] = replace(known, record_version=decoded.value.version)
        except UnknownRecordTypeError:
            continue  # Kafka skips it too
        except (CorruptionError, ValueError) as error:  # a ValueError: the status is unknown
            on_damage(record, error)
    return found


def _warn(record: ConsumerRecord, error: Exception) -> None:
    place = TopicPartition(record.topic, record.partition)
    _log.warning("%s, offset %d: a record that cannot be decoded is skipped: %s", place, record.offset, error)


def _metadata(transactional_id: str, row: Row) -> TransactionMetadata:
    partitions = frozenset(
        TopicPartition(entry["topic"], number)
        for entry in row["transactionPartitions"] or ()
        for number in entry["partitionIds"]
    )
    return TransactionMetadata(
        transactional_id,
        row["producerId"],
        row["producerEpoch"],
        row["transactionTimeoutMs"],
        status=TransactionStatus(row["transactionStatus"]),
        partitions=partitions,
        start_ms=row["transactionStartTimestampMs"],
        last_update_ms=row["transactionLastUpdateTimestampMs"],
        previous_producer_id=row.get("previousProducerId", NO_PRODUCER_ID),
        next_producer_id=row.get("nextProducerId", NO_PRODUCER_ID),
        # Records of version 0 do not say which version of the protocol the client used. The rules of VERSION_1 accept
        # markers of both versions.
        version=row.get("clientTransactionVersion", VERSION_1),
    )


def _row(metadata: TransactionMetadata) -> Row:
    topics = by_topic(sorted(metadata.partitions))
    named = [{"topic": topic, "partitionIds": numbers} for topic, numbers in topics.items()]
    row = {
        "producerId": metadata.producer_id,
        "producerEpoch": metadata.epoch,
        "transactionTimeoutMs": metadata.timeout_ms,
        "transactionStatus": int(metadata.status),
        "transactionPartitions": None if metadata.status is TransactionStatus.EMPTY else named,
        "transactionLastUpdateTimestampMs": metadata.last_update_ms,
        "transactionStartTimestampMs": metadata.start_ms,
    }
    if metadata.record_version == _WITHOUT_FEATURE:
        return row
    return {
        **row,
        "previousProducerId": metadata.previous_producer_id,
        "nextProducerId": metadata.next_producer_id,
        "clientTransactionVersion": metadata.version,
    }
