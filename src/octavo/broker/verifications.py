"""Remembers the first batches of transactions: the next batch must not overtake one that was refused."""

from __future__ import annotations

from typing import NamedTuple

from octavo.coordinator.transactions.machine import Identity
from octavo.storage.partition_log import PartitionLog
from octavo.storage.producers.entry import ProducerStateEntry

_MOST = 1000  # at most this many are remembered; Kafka forgets each one with its producer, after a day


class _Verification(NamedTuple):
    """The lowest sequence that a producer has tried since the partition last accepted a batch from it."""

    known: ProducerStateEntry | None
    epoch: int
    lowest_sequence: int


class Verifications:
    """Lives on the loop's thread."""

    def __init__(self) -> None:
        self._begun: dict[tuple[PartitionLog, int], _Verification] = {}

    def lowest_sequence(self, log: PartitionLog, by: Identity, sequence: int) -> int:
        """The sequence with which the transaction has to begin; `sequence` is the one that the producer tries now."""
        key, known = (log, by.producer_id), log.producer(by.producer_id)
        begun = self._begun.pop(key, None)
        if begun is None or begun.known != known or begun.epoch < by.epoch:
            begun = _Verification(known, by.epoch, sequence)
        elif begun.epoch == by.epoch:
            begun = begun._replace(lowest_sequence=min(begun.lowest_sequence, sequence))
        self._begun[key] = begun
        if len(self._begun) > _MOST:
            del self._begun[next(iter(self._begun))]
        return begun.lowest_sequence
