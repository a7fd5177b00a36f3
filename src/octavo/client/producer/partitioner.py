"""Chooses the partition of each record: Kafka's built-in partitioner, for single records and for whole columns.

With a key, the hash of the key decides. Without one, a topic's records stick to one partition until about one batch has
gone there, so that batches fill up; then a partition is drawn at random again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.kernels.columns import BinaryColumn, RecordColumns

_POSITIVE = 0x7FFFFFFF
_RECORD_OVERHEAD = 10  # about the size of a record without its key, value and headers
_RADIX_PARTITIONS = 1 << 16


class StickyPartition:
    """A topic's partition for records without a key. Not thread-safe: the topic's lock guards it."""

    def __init__(self, partitions: int, batch_size: int, chooser: random.Random) -> None:
        self.partitions = partitions
        self._batch_size = batch_size
        self._chooser = chooser
        self._appended_bytes = 0
        self.current = chooser.randrange(partitions)

    def appended(self, growth: int, *, is_batch_full: bool) -> None:
        """Count what a record added to its batch. Once batch.size is reached and the batch is full, or twice batch.size
        is reached, draw a partition again."""
        self._appended_bytes += growth
        if self._appended_bytes >= self._batch_size and (is_batch_full or self._appended_bytes >= 2 * self._batch_size):
            self.current = self._chooser.randrange(self.partitions)
            self._appended_bytes = 0

    def spread(self, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partitions for many records of these sizes; after every batch.size bytes, one is drawn again."""
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


# Chooses partitions for records without a key, given their sizes: `StickyPartition.spread`, perhaps under a lock.
Spread = Callable[[NDArray[np.int64]], NDArray[np.int32]]


class RoutedRows(NamedTuple):
    """Rows by partition: partitions[i] has order[ends[i - 1]:ends[i]]. Without an order, rows stay in place."""

    partitions: list[int]
    order: NDArray[np.int32] | None
    ends: NDArray[np.int64]


def route_rows(
    columns: RecordColumns, named: NDArray[np.int32] | None, partitions: int, spread: Spread, *, ignore_keys: bool
) -> RoutedRows:
    """Send each row to the partition it names (-1: none), otherwise to its key's, otherwise to the one `spread`
    chooses."""
    rows = columns.rows
    if named is None and partitions == 1:
        return RoutedRows([0], None, np.full(1, rows))
    chosen = np.empty(rows, np.int32) if named is None else named.copy()
    is_open = np.ones(rows, np.bool_) if named is None else named < 0
    if columns.key is not None and not ignore_keys and is_open.any():
        is_keyed = is_open & columns.key.valid(rows)
        np.copyto(chosen, partitions_for_keys(columns.key, rows, partitions), where=is_keyed)
        is_open &= ~is_keyed
    if is_open.any():
        chosen[is_open] = spread(_estimated_sizes(columns)[is_open])
    if partitions <= _RADIX_PARTITIONS:
        chosen = chosen.astype(np.uint16)  # numpy sorts this type by radix
    counts = np.bincount(chosen)
    found = np.flatnonzero(counts)
    order = np.argsort(chosen, kind="stable").astype(np.int32) if len(found) > 1 else None
    return RoutedRows(found.tolist(), order, np.cumsum(counts[found]))


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key, as Kafka's clients choose it."""
    return (kernels.murmur2(key) & _POSITIVE) % partitions


def partitions_for_keys(keys: BinaryColumn, rows: int, partitions: int) -> NDArray[np.int32]:
    """`partition_for_key` for each key in a column, including empty keys; the numbers for null keys mean nothing."""
    hashes = np.empty(rows, np.int32)
    kernels.murmur2_column(keys.offsets, keys.data.data, hashes)
    return (hashes & np.int32(_POSITIVE)) % np.int32(partitions)


def _estimated_sizes(columns: RecordColumns) -> NDArray[np.int64]:
    sizes = np.full(columns.rows, _RECORD_OVERHEAD, np.int64)
    for column in (columns.key, columns.value):
        if column is not None:
            sizes += np.diff(column.offsets[: columns.rows + 1])
    if columns.header_offsets is not None:
        first_headers = columns.header_offsets[: columns.rows + 1]
        for column in (columns.header_key, columns.header_value):
            if column is not None:
                sizes += np.diff(column.offsets[first_headers])
    return sizes
