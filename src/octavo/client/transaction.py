"""A producer's side of transactions: what is open, which partitions it has, what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.client.coordinator import TransactionCoordinator
from octavo.client.identity import ProducerIdentity
from octavo.client.offsets import OffsetAndMetadata, OffsetStore
from octavo.client.transaction_log import TransactionMetadata
from octavo.errors import IllegalStateError
from octavo.format.batch import Origin
from octavo.format.names import TopicPartition

NO_TRANSACTION = "no transaction is open, expected a call of begin_transaction() before"


@dataclass(slots=True)
class Session:
    """A producer's hold on its transactional id: `metadata` is what the coordinator gave it last."""

    coordinator: TransactionCoordinator
    offsets: OffsetStore
    metadata: TransactionMetadata


class ProducerTransaction:
    """The transaction that a producer has open, if any. The producer's lock guards begin, commit and abort."""

    def __init__(self, session: Session, identity: ProducerIdentity) -> None:
        self._session = session
        self._identity = identity
        self._partitions: set[TopicPartition] = set()
        self._error: Exception | None = None
        self.is_open = False
        self._take_identity()

    def begin(self) -> None:
        if self.is_open:
            raise IllegalStateError("a transaction is open already, expected its end before another begins")
        self._session.coordinator.check(self._session.metadata)
        self.is_open = True

    def enlist(self, topic: str, partition: int) -> None:
        """Make a partition part of the transaction before the first batch goes there."""
        name = TopicPartition(topic, partition)
        if name in self._partitions:
            return
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        self._session.metadata = self._session.coordinator.add_partition(self._session.metadata, name)
        self._partitions.add(name)

    def fail(self, error: Exception) -> None:
        """A batch did not get into the log: only an abort can follow."""
        self._error = self._error or error

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[str, bytes | None]
    ) -> None:
        """Write a group's offsets as part of the transaction."""
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        store = self._session.offsets
        self.enlist(*store.place(group))
        identity = self._identity
        origin = Origin(
            producer_id=identity.producer_id, producer_epoch=identity.epoch, base_sequence=0, is_transactional=True
        )
        store.append(group, offsets, topic_ids, origin)

    def commit(self) -> None:
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        if self._error is not None:
            raise IllegalStateError(f"the transaction can only be aborted: {self._error}") from self._error
        self._end(commit=True)

    def abort(self) -> None:
        if not self.is_open:
            raise IllegalStateError(NO_TRANSACTION)
        self.is_open = False  # also if that fails: whoever fenced this producer has aborted it
        self._end(commit=False)

    def _end(self, *, commit: bool) -> None:
        self._session.metadata = self._session.coordinator.end(self._session.metadata, commit=commit)
        self.is_open, self._error = False, None
        self._partitions.clear()
        self._take_identity()

    def _take_identity(self) -> None:
        self._identity.become(self._session.metadata.producer_id, self._session.metadata.epoch)
