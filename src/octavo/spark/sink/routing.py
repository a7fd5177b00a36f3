"""Divides the rows of a record batch by topic and partition, as columns ready to be encoded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from octavo.client.producer.arrow import columns_of, named_partitions
from octavo.client.producer.partitioner import RoutedRows, StickyPartition, route_rows
from octavo.errors import EncodingError, UnknownTopicOrPartitionError, no_such_partition
from octavo.kernels.columns import RecordColumns
from octavo.storage.staging.destinations import Destination, Destinations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MILLISECONDS = pa.timestamp("ms", "UTC")


class Router:
    """Chooses the topic of each row, and its partition as Kafka's producer does. Not thread-safe."""

    def __init__(self, destinations: Destinations, topic: str | None, batch_size: int, *, ignore_keys: bool) -> None:
        self._destinations = destinations
        self._topic = topic
        self._batch_size = batch_size
        self._ignore_keys = ignore_keys
        self._sticky: dict[str, StickyPartition] = {}
        self._chooser = random.Random()

    def route(self, batch: pa.RecordBatch, now_ms: int) -> Iterator[tuple[Destination, RecordColumns, RoutedRows]]:
        """Yield the rows of each topic, with their partitions. Rows without a timestamp get `now_ms`."""
        for topic, rows in self._by_topic(batch):
            destination = self._destinations.of(topic)
            columns, named = columns_of(_with_milliseconds(rows), now_ms, 0), _named_partitions(rows, destination)
            sticky = self._sticky_of(destination)
            count, spread = destination.partitions, sticky.spread
            yield destination, columns, route_rows(columns, named, count, spread, ignore_keys=self._ignore_keys)

    @property
    def partition_count(self) -> int:
        """The total number of partitions of the topics that rows went to so far."""
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

    def _sticky_of(self, destination: Destination) -> StickyPartition:
        sticky = self._sticky.get(destination.topic)
        if sticky is None:
            sticky = StickyPartition(destination.partitions, self._batch_size, self._chooser)
            self._sticky[destination.topic] = sticky
        return sticky


def _named_partitions(rows: pa.RecordBatch, destination: Destination) -> NDArray[np.int32] | None:
    """The partition that each row names, -1 if it is null."""
    named = named_partitions(rows)
    if named is not None:
        is_given = rows.column("partition").is_valid().to_numpy(zero_copy_only=False)
        wrong = named[is_given & ((named < 0) | (named >= destination.partitions))]
        if len(wrong):
            there = range(destination.partitions)
            raise UnknownTopicOrPartitionError(no_such_partition(destination.topic, int(wrong[0]), there))
    return named


def _with_milliseconds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with timestamps in milliseconds; a negative one is refused with the message of Kafka's producer."""
    if "timestamp" not in rows.schema.names:
        return rows
    times = rows.column("timestamp")
    if pa.types.is_floating(times.type):  # seconds, as Spark casts a double
        times = pc.cast(pc.multiply(times, 1000.0), pa.int64(), safe=False)
    times = pc.cast(times, _MILLISECONDS, safe=False)
    earliest = pc.min(times.cast(pa.int64())).as_py()
    if earliest is not None and earliest < 0:
        raise EncodingError(f"Invalid timestamp: {earliest}. Timestamp should always be non-negative or null.")
    return rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", times)
