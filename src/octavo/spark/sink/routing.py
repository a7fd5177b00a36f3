"""Rows to topics and partitions: which rows of a record batch go where, and as which columns."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from octavo.client.producer.partitioner import StickyPartition, partitions_for_keys
from octavo.errors import EncodingError, UnknownTopicOrPartitionError
from octavo.format.arrow import from_arrow
from octavo.format.batches.batch_run import payload_ends
from octavo.kernels.columns import RecordColumns
from octavo.storage.staging.destinations import Destination, Destinations

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RECORD = ("timestamp", "key", "value", "headers")
_MILLISECONDS = pa.timestamp("ms", "UTC")


class Routed(NamedTuple):
    """Rows of a topic, in the order of their partitions: those of partitions[i] are order[ends[i - 1]:ends[i]]."""

    destination: Destination
    partitions: list[int]
    columns: RecordColumns
    order: NDArray[np.int32]
    ends: NDArray[np.int64]


class Router:
    """Sends rows on their way, as Kafka's producer does. Not thread-safe."""

    def __init__(self, destinations: Destinations, topic: str | None, batch_size: int, *, ignore_keys: bool) -> None:
        self._destinations = destinations
        self._topic = topic
        self._batch_size = batch_size
        self._ignore_keys = ignore_keys
        self._sticky: dict[str, StickyPartition] = {}
        self._chooser = random.Random()

    def route(self, batch: pa.RecordBatch, now_ms: int) -> Iterator[Routed]:
        """The rows of each topic. Rows without a timestamp get that of now."""
        for topic, rows in self._by_topic(batch):
            destination = self._destinations.of(topic)
            columns = _columns(rows, now_ms)
            partitions = self._partitions(destination, rows, columns)
            if partitions is None:
                yield Routed(
                    destination, [0], columns, np.arange(columns.rows, dtype=np.int32), np.full(1, columns.rows)
                )
                continue
            counts = np.bincount(partitions, minlength=1)
            found = np.flatnonzero(counts)
            order = np.argsort(partitions, kind="stable").astype(np.int32)
            yield Routed(destination, found.tolist(), columns, order, np.cumsum(counts[found]))

    @property
    def partition_count(self) -> int:
        """Of all topics that rows went to so far."""
        return sum(sticky.partitions for sticky in self._sticky.values())

    def _by_topic(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._topic is not None:
            yield self._topic, batch
            return
        topics = batch.column("topic")
        if topics.null_count:
            found = "The Kafka message data sent to the producer contains a null topic."
            raise EncodingError(f"{found} Use the `topic` option for setting a default topic.")
        names = pc.unique(topics).to_pylist()
        for name in names:
            yield name, batch if len(names) == 1 else batch.filter(pc.equal(topics, name))

    def _partitions(
        self, destination: Destination, rows: pa.RecordBatch, columns: RecordColumns
    ) -> NDArray[np.int16 | np.int32] | None:
        """The partition of each row; None where there is but one."""
        count, sticky = destination.partitions, self._sticky_of(destination)
        given = rows.column("partition") if "partition" in rows.schema.names else None
        if given is None and count == 1:
            return None
        if columns.key is None or self._ignore_keys:
            chosen, unkeyed = np.empty(columns.rows, np.int32), np.ones(columns.rows, np.bool_)
        else:
            chosen, unkeyed = partitions_for_keys(columns.key, columns.rows, count), None
            if columns.key.nulls:
                unkeyed = rows.column("key").is_null().to_numpy(zero_copy_only=False)
        if given is not None and given.null_count < len(given):
            explicit = given.is_valid().to_numpy(zero_copy_only=False)
            numbers = given.fill_null(0).to_numpy()
            wrong = numbers[(numbers < 0) | (numbers >= count)]
            if len(wrong):
                found = f"partition {wrong[0]} of topic {destination.topic}"
                raise UnknownTopicOrPartitionError(f"{found}, expected 0 to {count - 1}")
            chosen = np.where(explicit, numbers, chosen).astype(np.int32)
            unkeyed = None if unkeyed is None else unkeyed & ~explicit
        if unkeyed is not None and unkeyed.any():
            chosen[unkeyed] = sticky.spread(np.diff(payload_ends(columns))[unkeyed])
        # A stable sort of 16-bit numbers is a radix sort.
        return chosen.astype(np.int16) if count <= 1 << 15 else chosen

    def _sticky_of(self, destination: Destination) -> StickyPartition:
        sticky = self._sticky.get(destination.topic)
        if sticky is None:
            sticky = StickyPartition(destination.partitions, self._batch_size, self._chooser)
            self._sticky[destination.topic] = sticky
        return sticky


def _columns(rows: pa.RecordBatch, now_ms: int) -> RecordColumns:
    records = rows.select([name for name in _RECORD if name in rows.schema.names])
    columns = from_arrow(_with_timestamps(records, now_ms))
    if "timestamp" not in rows.schema.names:
        columns.timestamp = np.full(columns.rows, now_ms)
    return columns


def _with_timestamps(records: pa.RecordBatch, now_ms: int) -> pa.RecordBatch:
    if "timestamp" not in records.schema.names:
        return records
    given = records.column("timestamp")
    if pa.types.is_floating(given.type):  # seconds, as Spark casts a double
        given = pc.cast(pc.multiply(given, 1000.0), pa.int64(), safe=False)
    times = pc.cast(given, _MILLISECONDS, safe=False).fill_null(pa.scalar(now_ms, _MILLISECONDS))
    earliest = pc.min(times.cast(pa.int64())).as_py()
    if earliest is not None and earliest < 0:
        raise EncodingError(f"Invalid timestamp: {earliest}. Timestamp should always be non-negative or null.")
    slot = records.schema.get_field_index("timestamp")
    return records.set_column(slot, "timestamp", times)
