"""A row of the batch table as a Python value: reading its fields through numpy would take ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from octavo.kernels import layout
from octavo.kernels.integers import signed64

if TYPE_CHECKING:  # printing a small file needs no numpy, which takes long to import
    import numpy as np
    from numpy.typing import NDArray


class BatchRow(NamedTuple):
    """The fields of `kernels.layout.BATCH`, in its order."""

    position: int
    base_offset: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    size: int
    partition_leader_epoch: int
    crc: int
    last_offset_delta: int
    base_sequence: int
    record_count: int  # `count` in BATCH
    attributes: int
    producer_epoch: int
    magic: int
    flaws: int
    reserved: int

    @property
    def end(self) -> int:
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        return signed64(self.base_offset + self.last_offset_delta)

    @property
    def codec_id(self) -> int:
        return self.attributes & layout.CODEC_MASK

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and self.attributes & layout.CONTROL != 0

    @property
    def claims_append_time(self) -> bool:
        """Whether the batch says that its timestamps are LogAppendTime."""
        return self.magic >= 1 and self.attributes & layout.LOG_APPEND_TIME != 0

    def __str__(self) -> str:
        return f"the batch at position {self.position}"


def batch_row(table: NDArray[np.void], row: int) -> BatchRow:
    return BatchRow(*table.item(row))


def batch_rows(table: NDArray[np.void]) -> Iterator[BatchRow]:
    return map(BatchRow._make, table.tolist())
