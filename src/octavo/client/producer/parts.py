"""What the parts of one producer share: its configs, its identity, and what it has learned about its codec."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.client.producer.config import ProducerConfig
from octavo.client.producer.queue import PartitionQueue
from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.errors import IllegalStateError
from octavo.format.batches.batch import Origin
from octavo.format.compression import Codec
from octavo.kernels.layout import MAX_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from octavo.storage.log_manager import LogManager

if TYPE_CHECKING:
    from octavo.client.producer.transaction import ProducerTransaction

COMPRESSION_RATIO_IMPROVING_STEP = 0.005
COMPRESSION_RATIO_DETERIORATE_STEP = 0.05


class ProducerIdentity:
    """The id and epoch by which logs recognize a producer's batches; without `ids` it has none. Thread-safe.

    The id is allocated when first needed, so that creating a producer without transactions writes nothing.
    """

    def __init__(self, ids: ProducerIds | None) -> None:
        self._ids = ids
        self._lock = threading.Lock()
        self._current = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)

    @property
    def is_idempotent(self) -> bool:
        return self._ids is not None

    @property
    def current(self) -> tuple[int, int]:
        """An id and epoch that belong together."""
        if self._ids is not None and self._current[0] == NO_PRODUCER_ID:
            with self._lock:
                if self._current[0] == NO_PRODUCER_ID:
                    self._current = self._ids.allocate(), 0
        return self._current

    def bump(self) -> None:
        """Begin a new epoch, in which sequences start at 0 again; if there are no more epochs, take a new id."""
        if self._ids is None:
            return
        with self._lock:
            producer_id, epoch = self._current
            more = producer_id != NO_PRODUCER_ID and epoch < MAX_PRODUCER_EPOCH - 1
            self._current = (producer_id, epoch + 1) if more else (self._ids.allocate(), 0)

    def become(self, producer_id: int, epoch: int) -> None:
        """Take on the identity that the transaction coordinator assigns."""
        self._current = producer_id, epoch


class CompressionRatios:
    """How well the batches of each topic have compressed, to estimate the size of an open batch."""

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}

    def of(self, topic: str) -> float:
        return self._ratios.get(topic, 1.0)

    def update(self, topic: str, observed: float) -> None:
        """Learn from a batch. The estimate falls slowly and rises fast, so that batches rarely get too large."""
        estimate = self.of(topic)
        if observed > estimate:
            estimate = max(estimate + COMPRESSION_RATIO_DETERIORATE_STEP, observed)
        elif observed < estimate:
            estimate = max(estimate - COMPRESSION_RATIO_IMPROVING_STEP, observed)
        self._ratios[topic] = estimate

    def reset(self, topic: str, observed: float) -> None:
        """After a batch that was too large, assume that the topic's batches do not compress."""
        self._ratios[topic] = max(1.0, observed)


@dataclass(frozen=True, slots=True)
class ProducerParts:
    """Shared by the accumulator, the sender and the table sender; `transaction` is None without transactions."""

    config: ProducerConfig
    log_manager: LogManager
    identity: ProducerIdentity
    transaction: ProducerTransaction | None = None
    ratios: CompressionRatios = field(default_factory=CompressionRatios)

    def ratio(self, topic: str) -> float:
        """The expected compressed size of a topic's batches, relative to the uncompressed one; 0 without a codec."""
        return self.ratios.of(topic) if self.config.codec is not Codec.NONE else 0.0

    def origin(self, queue: PartitionQueue) -> Origin:
        """The producer's fields for a partition's next batch, with its sequence; the queue's lock is held.

        From now on the partition belongs to the transaction, if there is one.
        """
        if self.transaction is not None:
            self.transaction.enlist(queue.topic_partition)
        if self.identity.is_idempotent and queue.uncertain == self.identity.current:
            if self.transaction is not None:
                raise IllegalStateError(f"{queue.topic_partition}: an append was interrupted; abort the transaction")
            self.lose_track()
        producer_id, epoch = self.identity.current
        sequence = queue.sequence_for(producer_id, epoch) if self.identity.is_idempotent else NO_SEQUENCE
        return Origin(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=self.transaction is not None,
        )

    def lose_track(self) -> None:
        """After an append that may or may not be in the log, make sure that nothing else gets its sequence.

        A transaction can then only be aborted, which begins a new epoch anyway.
        """
        if self.transaction is None:
            self.identity.bump()
