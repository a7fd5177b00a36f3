"""The partitions to which a transactional producer wants to write: they must belong to its transaction.

An old client has added them itself, so here they are merely checked, unless transaction.partition.verification.enable
is false; for a newer client they are added here. A partition in which the transaction is already open has been checked
before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.metadata import VERSION_2
from octavo.errors import OctavoError, OutOfOrderSequenceError
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.partition_log import PartitionLog


class Abilities(NamedTuple):
    """What the version of a request says about its client."""

    knows_abortable: bool
    leaves_adding: bool  # it expects the broker to add partitions to the transaction


def refused_partitions(
    context: Context,
    transactional_id: str,
    by: Identity,
    batches: Mapping[TopicPartition, tuple[PartitionLog, int]],
    abilities: Abilities,
) -> dict[TopicPartition, OctavoError]:
    """Add partitions to a transaction, or check that they are in it; returns those that are refused.

    `batches` has each partition's log, and the first sequence of the batch to write to it.
    """
    adds = abilities.leaves_adding
    if not adds and not context.config.transaction_partition_verification_enable:
        return {}
    refused: dict[TopicPartition, OctavoError] = {}
    newly_used: set[TopicPartition] = set()
    for topic_partition, (log, sequence) in batches.items():
        known = log.producer(by.producer_id)
        if known is not None and by.epoch < known.epoch:
            refused[topic_partition] = RequestError(ErrorCode.INVALID_PRODUCER_EPOCH)
        elif known is None or known.current_txn_first_offset is None or by.epoch != known.epoch:
            newly_used.add(topic_partition)
            lowest = context.verifications.lowest_sequence(log, by, sequence)
            if adds and (known is None or not known.batches):  # a new producer or epoch begins with 0
                lowest = 0
            if sequence > lowest:
                refused[topic_partition] = OutOfOrderSequenceError(f"expected sequence {lowest}, not {sequence}")
    if not newly_used:
        return refused
    if adds:
        error = context.transactions.add_partitions(transactional_id, by, newly_used, VERSION_2)
        found = dict.fromkeys(newly_used, error)
    else:
        found = context.transactions.verify(transactional_id, by, newly_used)
    for one, error in found.items():
        if error is not ErrorCode.NONE:
            refused[one] = RequestError(*_translated(error, abilities))
    return refused


def _translated(error: ErrorCode, abilities: Abilities) -> tuple[ErrorCode, str | None]:
    """The coordinator's error, translated for a producer that is writing."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH, None
    if error is ErrorCode.TRANSACTION_ABORTABLE and not abilities.knows_abortable:
        return ErrorCode.INVALID_TXN_STATE, "The partition was not added to the transaction."
    return error, None
