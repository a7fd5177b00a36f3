"""The records of `__transaction_state`: what the transaction coordinator knows about each transactional id."""

from __future__ import annotations

from enum import IntEnum

from octavo.format.messages.records import CoordinatorRecord, by_id, decode_record, record_type
from octavo.format.varint import Bytes


class TransactionStatus(IntEnum):
    """The values of transactionStatus."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """The state as Kafka shows it, such as PrepareCommit."""
        return "".join(word.capitalize() for word in self.name.split("_"))


TRANSACTION_STATE_TYPES = by_id(
    record_type(0, "TransactionLog", "transactionalId  string", "0-1", "1+", """
        producerId                        int64
        previousProducerId                int64  1+  tag=0 default=-1
        nextProducerId                    int64  1+  tag=1 default=-1
        producerEpoch                     int16
        nextProducerEpoch                 int16  1+  tag=3 default=-1
        transactionTimeoutMs              int32
        transactionStatus                 int8
        transactionPartitions             []PartitionsSchema  nullable
            topic         string
            partitionIds  []int32
        transactionLastUpdateTimestampMs  int64
        transactionStartTimestampMs       int64
        clientTransactionVersion          int16  1+  tag=2
    """),
)  # fmt: skip


def decode_transaction_state_record(key: Bytes, value: Bytes | None) -> CoordinatorRecord:
    """Decode a record of `__transaction_state`."""
    return decode_record(TRANSACTION_STATE_TYPES, key, value)
