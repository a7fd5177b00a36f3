"""Which partition a record goes to: Kafka's built-in partitioner.

With a key, the key's hash decides. Without, a topic's records stick to one partition until about a batch has gone
there, so that batches get full; then another one is drawn.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.kernels.columns import BinaryColumn

_POSITIVE = 0x7FFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key, an empty one too."""
    return (kernels.murmur2(key) & _POSITIVE) % partitions


def partitions_for_keys(keys: BinaryColumn, rows: int, partitions: int) -> NDArray[np.int32]:
    """The partition of each of a column's keys; what it says of null keys means nothing."""
    hashes = np.empty(rows, np.int32)
    kernels.murmur2_column(keys.offsets, keys.data.data, hashes)
    return (hashes & np.int32(_POSITIVE)) % np.int32(partitions)


class StickyPartition:
    """A topic's partition for records without a key. Not thread-safe: the topic's lock guards it."""

    def __init__(self, partitions: int, batch_size: int, chooser: random.Random) -> None:
        self.partitions = partitions
        self._batch_size = batch_size
        self._chooser = chooser
        self._appended_bytes = 0
        self.current = chooser.randrange(partitions)

    def appended(self, growth: int, *, is_batch_full: bool) -> None:
        """Count what a record added to its batch: after batch.size, and once the batch is full, another is drawn."""
        self._appended_bytes += growth
        if self._appended_bytes >= self._batch_size and (is_batch_full or self._appended_bytes >= 2 * self._batch_size):
            self.switch()

    def switch(self) -> None:
        self.current = self._chooser.randrange(self.partitions)
        self._appended_bytes = 0

    def spread(self, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partitions of many records without a key, of these sizes: another one after each batch.size bytes."""
        if not len(sizes):
            return np.empty(0, np.int32)
        batch_size = max(self._batch_size, 1)
        numbers, inverse = np.unique(
            (self._appended_bytes + np.cumsum(sizes) - sizes) // batch_size, return_inverse=True
        )
        drawn = [self._chooser.randrange(self.partitions) for _ in numbers]
        if numbers[0] == 0:
            drawn[0] = self.current
        self.current = drawn[-1]
        self._appended_bytes = int(self._appended_bytes + sizes.sum() - numbers[-1] * batch_size)
        return np.array(drawn, np.int32)[inverse]
