"""What the parts of one producer share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from octavo.client.producer.config import ProducerConfig
from octavo.client.producer.encode import Stamp
from octavo.client.producer.queue import PartitionQueue
from octavo.client.producer.ratios import CompressionRatios
from octavo.coordinator.transactions.identity import ProducerIdentity
from octavo.errors import IllegalStateError
from octavo.format.compression import Codec
from octavo.kernels.layout import NO_SEQUENCE
from octavo.storage.environment import Environment


class Enlisting(Protocol):
    """The transaction that a producer's batches belong to."""

    def enlist(self, topic: str, partition: int) -> None:
        """Make a partition part of it before the first batch goes there; raises where no transaction is open."""

    def fail(self, error: Exception) -> None:
        """A batch did not get into the log: only an abort can follow."""


@dataclass(frozen=True, slots=True)
class ProducerParts:
    """Configs, the world around, identity, and what is learnt of codecs; `transaction` is None without any."""

    config: ProducerConfig
    environment: Environment
    identity: ProducerIdentity
    transaction: Enlisting | None = None
    ratios: CompressionRatios = field(default_factory=CompressionRatios)

    def ratio(self, topic: str) -> float:
        """How the codec is expected to do on a topic's batches; 0 without a codec."""
        return self.ratios.of(topic) if self.config.codec is not Codec.NONE else 0.0

    def stamp(self, queue: PartitionQueue) -> Stamp:
        """What a partition's next batch gets, which a transaction has from now on; the queue's lock is held."""
        is_transactional = self.transaction is not None
        if self.transaction is not None:
            self.transaction.enlist(queue.topic, queue.partition)
        if not self.identity.is_idempotent:
            return Stamp(*self.identity.current, NO_SEQUENCE, is_transactional)
        if queue.uncertain == self.identity.current:
            if is_transactional:
                raise IllegalStateError(f"{queue.name}: an append was interrupted, expected the transaction's abort")
            self.lose_track()
        current = self.identity.current
        return Stamp(*current, queue.sequence_for(*current), is_transactional)

    def lose_track(self) -> None:
        """After an append of which nobody knows whether it is in the log, nothing may follow with its sequence.

        A transaction has no way on but its abort, which begins a new epoch anyway.
        """
        if self.transaction is None:
            self.identity.bump()
