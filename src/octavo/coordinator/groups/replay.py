"""Reads a partition of `__consumer_offsets` as its coordinator does: records with their producers, and markers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.coordinator.log_reader import records_of_batches, sound
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.control import ControlType
from octavo.format.batches.marker_table import decode_markers
from octavo.format.batches.walker import walk
from octavo.format.names import TopicPartition
from octavo.kernels.layout import CONTROL, NO_PRODUCER_ID, TRANSACTIONAL
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog

_BYTES_AT_ONCE = 1 << 20


class ReplayedRecord(NamedTuple):
    """A record; `producer_id` is set only in a transaction."""

    offset: int
    key: bytes
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID


class ReplayedMarker(NamedTuple):
    """The end of a producer's transaction."""

    producer_id: int
    is_committed: bool


def replay(
    topic_partition: TopicPartition, log: PartitionLog, position: int
) -> Iterator[ReplayedRecord | ReplayedMarker]:
    """All records with a key, and all markers, from the offset `position` up to the log's end, in order."""
    end = log.log_end_offset
    while position < end:
        _, data = log.fetch(position, _BYTES_AT_ONCE, Isolation.READ_UNCOMMITTED)
        table, largest_offset = sound(topic_partition, walk(data).table, log.log_end_offset)
        if not len(table):
            return
        yield from _replayed(topic_partition, data, table[last_offsets(table) >= position], position)
        position = largest_offset + 1


def _replayed(
    topic_partition: TopicPartition, data: bytes, table: NDArray[np.void], position: int
) -> Iterator[ReplayedRecord | ReplayedMarker]:
    for batches in _runs(table):
        attributes, producer_id = int(batches[0]["attributes"]), int(batches[0]["producer_id"])
        if attributes & CONTROL:
            for marker in decode_markers(memoryview(data), batches).markers["type"].tolist():
                if marker in (ControlType.COMMIT, ControlType.ABORT):
                    yield ReplayedMarker(producer_id, marker == ControlType.COMMIT)
            continue
        owner = producer_id if attributes & TRANSACTIONAL else NO_PRODUCER_ID
        for record in records_of_batches(topic_partition, data, batches, position):
            if record.key is not None:
                yield ReplayedRecord(record.offset, record.key, record.value, owner)


def _runs(table: NDArray[np.void]) -> Iterator[NDArray[np.void]]:
    """The batches, divided wherever the kind of batch changes, or the producer of a transaction."""
    kinds = table["attributes"] & (TRANSACTIONAL | CONTROL)
    owners = np.where(kinds != 0, table["producer_id"], NO_PRODUCER_ID)
    cuts = np.flatnonzero((kinds[1:] != kinds[:-1]) | (owners[1:] != owners[:-1])) + 1
    for start, end in pairwise([0, *cuts.tolist(), len(table)]):
        yield table[start:end]
