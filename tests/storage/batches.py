"""Batches for tests of the storage engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.walker import walk
from octavo.format.record import Record

Batches = tuple[bytes, NDArray[np.void]]


def batch(
    base_offset: int,
    count: int = 1,
    *,
    timestamp: int = 1000,
    value_bytes: int = 100,
    epoch: int = 0,
    origin: Origin | None = None,
) -> bytes:
    """A batch of `count` records; the timestamps ascend by 1."""
    records = [
        Record(base_offset + number, timestamp + number, b"k%d" % number, bytes(value_bytes)) for number in range(count)
    ]
    return build_batch(records, partition_leader_epoch=epoch, origin=origin)


def walked(*batches: bytes) -> Batches:
    """Batches one after the other, with their table."""
    data = b"".join(batches)
    return data, walk(data).table


def last_offset(table: Sequence[np.void] | NDArray[np.void]) -> int:
    return int(table[-1]["base_offset"]) + int(table[-1]["last_offset_delta"])
