"""What a leader assigns to the batches it appends, and the resulting batches to write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch import BatchTraits, Origin
from octavo.format.compression import Codec
from octavo.format.record import TimestampType
from octavo.kernels.layout import NO_TIMESTAMP
from octavo.storage.log.validation_settings import ValidationSettings


class Assignment(NamedTuple):
    """Offsets from `first_offset` on, the leader epoch and, with LogAppendTime, the timestamp."""

    first_offset: int
    now_ms: int
    leader_epoch: int
    settings: ValidationSettings

    @property
    def log_append_time(self) -> int | None:
        """The timestamp for all records, if the topic uses LogAppendTime."""
        return self.now_ms if self.settings.timestamp_type is TimestampType.LOG_APPEND_TIME else None

    def traits(self, codec: Codec, origin: Origin | None = None) -> BatchTraits:
        """The properties of a batch that is built with this codec."""
        return BatchTraits(
            codec=codec,
            level=self.settings.level,
            log_append_time=self.log_append_time,
            partition_leader_epoch=self.leader_epoch,
            origin=origin or Origin(),
        )


class WritableBatches(NamedTuple):
    """Batches ready to be written; `data` holds nothing else.

    If no record is left there is no batch, and the last offset is the one before the first.
    """

    data: memoryview
    table: NDArray[np.void]
    first_offset: int | None  # None: unknown, since the first batch is in an old format
    last_offset: int
    max_timestamp: int
    with_producers: bool  # at least one batch has a producer id
    log_append_time: int = NO_TIMESTAMP  # -1 if none was assigned
