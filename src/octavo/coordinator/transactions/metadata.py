"""What is known about one transactional id."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.kernels.layout import MAX_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

# The versions of the protocol that clients use. From version 2 on, every end of a transaction begins a new epoch.
VERSION_1 = 0  # Kafka's number for it in records and markers
VERSION_2 = 2

_COMMITS = (TransactionStatus.PREPARE_COMMIT, TransactionStatus.COMPLETE_COMMIT)
_PREPARED = (TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)
_CAN_EXPIRE = (TransactionStatus.EMPTY, TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT)


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """A transactional id: who may use it, and the state of its transaction.

    From PREPARE_COMMIT or PREPARE_ABORT on, the epoch is that of the markers and, unless that gets another producer id,
    of the next transaction. In `version` 2 it is one more than that of the batches. `last_epoch`, which is not in the
    log, is the epoch before: an InitProducerId that is sent again with it gets the same answer as before.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    status: TransactionStatus = TransactionStatus.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID  # for after this transaction, if the epochs have run out
    last_epoch: int = NO_PRODUCER_EPOCH
    version: int = VERSION_1
    record_version: int = 1  # of the record that holds it

    @property
    def is_ongoing(self) -> bool:
        return self.status is TransactionStatus.ONGOING

    @property
    def is_prepared(self) -> bool:
        """Whether the end is decided, but not yet recorded as complete."""
        return self.status in _PREPARED

    @property
    def is_commit(self) -> bool:
        """Whether the last transaction was committed, or will be."""
        return self.status in _COMMITS

    @property
    def is_exhausted(self) -> bool:
        """Whether there is no further epoch for a transaction of this producer id."""
        return self.epoch >= MAX_PRODUCER_EPOCH - 1

    @property
    def can_expire(self) -> bool:
        return self.status in _CAN_EXPIRE

    def is_late(self, now_ms: int) -> bool:
        """Whether its transaction has been open for longer than its timeout."""
        return self.is_ongoing and self.start_ms + self.timeout_ms < now_ms
