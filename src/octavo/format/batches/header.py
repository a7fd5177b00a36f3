"""The header of a batch as a value: the fields of a v2 batch, or the ones that a v0/v1 message has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from octavo.errors import EncodingError
from octavo.format.record import TimestampType
from octavo.kernels import layout
from octavo.kernels.integers import signed64
from octavo.kernels.layout import BATCH, Flaw

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SOUND = Flaw(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHeader:
    """The fields of a batch. For a v0/v1 message `base_offset` is its own offset: in a wrapper, that of the last
    message inside."""

    base_offset: int = 0
    partition_leader_epoch: int = layout.NO_LEADER_EPOCH
    magic: int = 2
    crc: int = 0
    attributes: int = 0
    last_offset_delta: int = 0
    base_timestamp: int = layout.NO_TIMESTAMP
    max_timestamp: int = layout.NO_TIMESTAMP
    producer_id: int = layout.NO_PRODUCER_ID
    producer_epoch: int = layout.NO_PRODUCER_EPOCH
    base_sequence: int = layout.NO_SEQUENCE
    count: int = 0
    position: int = 0
    size: int = 0
    flaws: Flaw = _SOUND

    @classmethod
    def from_row(cls, row: np.void) -> BatchHeader:
        """Make a header from a row of the table that a walk fills."""
        fields = {name: int(row[name]) for name in cls.__slots__ if name != "flaws"}
        return cls(**fields, flaws=Flaw(int(row["flaws"])))

    def to_table(self) -> NDArray[np.void]:
        """A table of one row, for the kernels."""
        table = np.zeros(1, BATCH)
        for name in self.__slots__:
            try:
                table[name] = getattr(self, name)
            except OverflowError:
                bits = 8 * BATCH[name].itemsize
                raise EncodingError(f"{name} {getattr(self, name)} does not fit into {bits} bits") from None
        return table

    @property
    def last_offset(self) -> int:
        return signed64(self.base_offset + self.last_offset_delta)  # that of a damaged header wraps, as in Java

    @property
    def codec_id(self) -> int:
        return self.attributes & layout.CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.of(self.magic, self.attributes)

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & layout.TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & layout.CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the batch's tombstones and markers may be removed; stored in place of the base timestamp."""
        has_horizon = self.magic >= 2 and self.attributes & layout.DELETE_HORIZON
        return self.base_timestamp if has_horizon else None
