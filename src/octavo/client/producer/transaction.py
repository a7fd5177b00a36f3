"""The producer's side of transactions: whether one is open, its partitions, and its first error."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.client.producer.parts import ProducerIdentity
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.coordinator.transactions.session import Session
from octavo.errors import IllegalStateError, KafkaStorageError, TransactionIncompleteError
from octavo.format.batches.batch import Origin
from octavo.format.names import TopicPartition

NO_TRANSACTION = "no transaction is open: call begin_transaction() first"
ENDING = (
    "another thread is ending the transaction, or the end of the transaction was interrupted: "
    "then call commit_transaction() or abort_transaction() again"
)
ONLY_ABORT = "the transaction can only be aborted"


class ProducerTransaction:
    """The open transaction of a producer, if any. The producer's lock guards begin and commit."""

    def __init__(self, session: Session, offsets: CommittedOffsets, identity: ProducerIdentity) -> None:
        self._session = session
        self._offsets = offsets
        self._identity = identity
        self._partitions: set[TopicPartition] = set()
        self._error: Exception | None = None
        self.is_open = False
        self._take_identity()

    def check_ended(self) -> None:
        """Raise if a transaction is still open, before another one begins."""
        if self.is_open and not self._session.is_ended():
            raise IllegalStateError("a transaction is open already: end it before another begins")

    def begin(self) -> None:
        """Begin a transaction; an earlier one whose end failed or was interrupted is ended first."""
        self._session.begin()
        self._reset()
        self.is_open = True

    def enlist(self, topic_partition: TopicPartition) -> None:
        """Add a partition to the transaction before the first batch goes there."""
        if topic_partition in self._partitions:
            return
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        self._session.add_partition(topic_partition)
        self._partitions.add(topic_partition)

    @property
    def has_failed(self) -> bool:
        """Whether it is open, but a batch did not get into the log."""
        return self.is_open and self._error is not None

    def fail(self, error: Exception) -> None:
        """Record that a batch did not get into the log: only an abort can follow."""
        self._error = self._error or error

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[str, bytes | None]
    ) -> None:
        """Write a group's offsets as part of the transaction."""
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        self._offsets.check_metadata(offsets)
        self.enlist(self._offsets.partition_of(group))
        producer_id, epoch = self._identity.current
        origin = Origin(producer_id=producer_id, producer_epoch=epoch, base_sequence=0, is_transactional=True)
        self._offsets.commit_transactional(group, offsets, topic_ids, origin)

    def commit(self) -> None:
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        if self._error is not None:
            kind = KafkaStorageError if isinstance(self._error, KafkaStorageError) else IllegalStateError
            raise kind(f"{ONLY_ABORT}: {self._error}") from self._error
        try:
            self._session.end(commit=True)
        except (TransactionIncompleteError, IllegalStateError):
            self._reset()  # the decision is in the log
            raise
        self._reset()

    def abort(self) -> None:
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        try:
            self._session.end(commit=False)
        except Exception:  # whoever fenced this producer has aborted its transaction, or `begin` will
            self.is_open = False
            raise
        self._reset()

    def _reset(self) -> None:
        self.is_open, self._error = False, None
        self._partitions.clear()
        self._take_identity()

    def _take_identity(self) -> None:
        self._identity.become(self._session.metadata.producer_id, self._session.metadata.epoch)
