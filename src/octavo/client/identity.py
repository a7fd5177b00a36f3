"""Who a producer is to the logs: its id and epoch, by which they know its batches again."""

from __future__ import annotations

from octavo.client.producer_ids import ProducerIds
from octavo.kernels.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

MAX_EPOCH = 2**15 - 1


class ProducerIdentity:
    """An idempotent producer's id and epoch; without ids it has none. Sequences of a new epoch begin at 0."""

    def __init__(self, ids: ProducerIds | None) -> None:
        self._ids = ids
        self.producer_id = NO_PRODUCER_ID if ids is None else ids.allocate()
        self.epoch = NO_PRODUCER_EPOCH if ids is None else 0

    @property
    def is_idempotent(self) -> bool:
        return self._ids is not None

    def bump(self) -> None:
        """A new epoch, so that sequences begin anew; a new id where there are no more epochs."""
        if self._ids is None:
            return
        if self.epoch < MAX_EPOCH - 1:
            self.epoch += 1
        else:
            self.producer_id, self.epoch = self._ids.allocate(), 0

    def become(self, producer_id: int, epoch: int) -> None:
        """Take the identity that a transaction's coordinator gives."""
        self.producer_id, self.epoch = producer_id, epoch
