"""The transactional batches of a Produce request: their partitions must belong to the transaction.

Up to version 11 clients add partitions themselves, and this is only checked; from version 12 on they are added here. A
partition in which the transaction is open was checked before.
"""

from __future__ import annotations

from collections.abc import Mapping

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Request
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import VERSION_2
from octavo.errors import OctavoError, OutOfOrderSequenceError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.partition_log import PartitionLog

_ABORTABLE_FROM_VERSION = 11
_ADDS_FROM_VERSION = 12

# The partitions that exist, each with its log and the header of its batch.
Batches = Mapping[TopicPartition, tuple[PartitionLog, Row]]


def refused_partitions(request: Request, context: Context, batches: Batches) -> dict[TopicPartition, OctavoError]:
    """The partitions that cannot be written to in this transaction; all batches are of the same producer."""
    adds = request.version >= _ADDS_FROM_VERSION
    if not adds and not context.config.transaction_partition_verification_enable:
        return {}
    refused: dict[TopicPartition, OctavoError] = {}
    first: dict[TopicPartition, Identity] = {}
    for topic_partition, (log, header) in batches.items():
        by = Identity(header["producerId"], header["producerEpoch"])
        known = log.producer(by.producer_id)
        if known is not None and by.epoch < known.epoch:
            refused[topic_partition] = RequestError(ErrorCode.INVALID_PRODUCER_EPOCH)
        elif known is None or known.current_txn_first_offset is None or by.epoch != known.epoch:
            first[topic_partition] = by
            is_new = known is None or not known.batches
            if adds and is_new and header["baseSequence"] != 0:  # with each transaction a producer begins at 0 again
                refused[topic_partition] = OutOfOrderSequenceError(f"sequence {header['baseSequence']}, expected 0")
    if not first:
        return refused
    by, transactional_id = next(iter(first.values())), request.body["transactionalId"]
    if adds:
        error = context.transactions.add_partitions(transactional_id, by, frozenset(first), VERSION_2)
        found = dict.fromkeys(first, error)
    else:
        found = context.transactions.verify(transactional_id, by, frozenset(first))
    for one, error in found.items():
        if error is not ErrorCode.NONE:
            refused[one] = RequestError(*_told(error, request.version))
    return refused


def _told(error: ErrorCode, version: int) -> tuple[ErrorCode, str | None]:
    """The coordinator's error as producers understand it: old ones send a batch again only after certain errors."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH, None
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM_VERSION:
        return ErrorCode.INVALID_TXN_STATE, "The partition was not added to the transaction."
    is_retriable = error is ErrorCode.CONCURRENT_TRANSACTIONS and version < _ADDS_FROM_VERSION
    if is_retriable or error is ErrorCode.NOT_COORDINATOR:
        return ErrorCode.NOT_ENOUGH_REPLICAS, f"It is not known whether the transaction has the partition: {error.name}"
    return error, None
