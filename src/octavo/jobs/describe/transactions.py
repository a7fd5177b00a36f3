"""Finds open transactions, in `__transaction_state` and in the logs of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition

TOPIC = "__transaction_state"

_FINISHED = {
    TransactionStatus.EMPTY,
    TransactionStatus.COMPLETE_COMMIT,
    TransactionStatus.COMPLETE_ABORT,
    TransactionStatus.DEAD,
}


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has not ended. Without a transactional id, it is known only from the logs, and will not end
    by itself, unless its state in `__transaction_state` is on another disk or cannot be read.

    `first_offsets` has the partitions in whose logs it is open, each with the transaction's first offset there:
    read_committed does not get past that.
    """

    producer_id: int
    transactional_id: str | None
    state: str | None
    epoch: int | None
    start_ms: int | None
    timeout_ms: int | None
    partitions: tuple[TopicPartition, ...]  # known to the coordinator
    first_offsets: dict[TopicPartition, int]


def open_transactions(
    states: Mapping[str, TransactionMetadata], in_logs: Mapping[TopicPartition, tuple[tuple[int, int], ...]]
) -> list[OpenTransaction]:
    """The transactions that are open for their coordinator or in some log, by producer id."""
    found: dict[int, dict[TopicPartition, int]] = {}
    for topic_partition, several in in_logs.items():
        for producer_id, first_offset in several:
            found.setdefault(producer_id, {})[topic_partition] = first_offset
    unfinished = {state.producer_id for state in states.values() if state.status not in _FINISHED}
    known = {state.producer_id: state for state in states.values()}
    return [_joined(number, known.get(number), found.get(number, {})) for number in sorted({*found, *unfinished})]


def _joined(
    producer_id: int, state: TransactionMetadata | None, first_offsets: dict[TopicPartition, int]
) -> OpenTransaction:
    if state is None:
        return OpenTransaction(producer_id, None, None, None, None, None, (), first_offsets)
    return OpenTransaction(
        producer_id,
        state.transactional_id,
        state.status.kafka_name,
        state.epoch,
        state.start_ms,
        state.timeout_ms,
        tuple(sorted(state.partitions)),
        first_offsets,
    )
