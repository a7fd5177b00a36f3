"""What a partition knows about one producer: its epoch, its transaction and its last batches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.format import sequence
from octavo.kernels.layout import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP
from octavo.kernels.producers import CACHED_BATCHES

NO_COORDINATOR_EPOCH = -1


class CachedBatch(NamedTuple):
    """A batch that the producer may send again; it is then answered with the offsets that it has in the log."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int  # the batch's largest timestamp

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return sequence.decrement(self.last_sequence, self.offset_delta)


@dataclass(slots=True)
class ProducerStateEntry:
    """A producer with the last batches of its current epoch, oldest first."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    current_txn_first_offset: int | None = None
    batches: deque[CachedBatch] = field(default_factory=lambda: deque(maxlen=CACHED_BATCHES))

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def without_batches(self) -> ProducerStateEntry:
        """A copy without batches, to collect those of one append."""
        known = self.epoch, self.coordinator_epoch, self.last_timestamp, self.current_txn_first_offset
        return ProducerStateEntry(self.producer_id, *known)

    def add_batch(self, epoch: int, batch: CachedBatch) -> None:
        self._set_epoch(epoch)
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp

    def end_transaction(self, epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        self._set_epoch(epoch)
        self.coordinator_epoch, self.last_timestamp = coordinator_epoch, timestamp
        self.current_txn_first_offset = None

    def update(self, appended: ProducerStateEntry) -> None:
        """Apply what an append changed in a copy of this entry."""
        self._set_epoch(appended.epoch)
        self.batches.extend(appended.batches)
        self.coordinator_epoch, self.last_timestamp = appended.coordinator_epoch, appended.last_timestamp
        self.current_txn_first_offset = appended.current_txn_first_offset

    def _set_epoch(self, epoch: int) -> None:
        """Set the epoch and forget the batches of an older one, since they cannot be sent again."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch
