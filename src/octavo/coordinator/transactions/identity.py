"""Who a producer is to the logs: its id and epoch, by which they know its batches again."""

from __future__ import annotations

import threading

from octavo.coordinator.transactions.producer_ids import ProducerIds
from octavo.kernels.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

MAX_EPOCH = 2**15 - 1


class ProducerIdentity:
    """An idempotent producer's id and epoch; without ids it has none. Sequences of a new epoch begin at 0. Thread-safe.

    The id is taken when it is first needed: making a producer writes nothing.
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
        """Id and epoch as they belong together."""
        if self._ids is not None and self._current[0] == NO_PRODUCER_ID:
            with self._lock:
                if self._current[0] == NO_PRODUCER_ID:
                    self._current = self._ids.allocate(), 0
        return self._current

    @property
    def producer_id(self) -> int:
        return self.current[0]

    @property
    def epoch(self) -> int:
        return self.current[1]

    def bump(self) -> None:
        """A new epoch, so that sequences begin again; a new id where there are no more epochs."""
        if self._ids is None:
            return
        producer_id, epoch = self.current
        with self._lock:
            more = epoch < MAX_EPOCH - 1
            self._current = (producer_id, epoch + 1) if more else (self._ids.allocate(), 0)

    def become(self, producer_id: int, epoch: int) -> None:
        """Take the identity that a transaction's coordinator gives."""
        self._current = producer_id, epoch
