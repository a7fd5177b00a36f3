"""Reading a partition as a consumer does: whole batches, of which it is handed what its isolation shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptRecordError
from octavo.format.batch_summary import summarize
from octavo.format.decoder import Decoder
from octavo.format.names import TopicPartition
from octavo.format.sound import are_readable, unreadable
from octavo.format.walker import walk
from octavo.kernels.layout import TRANSACTIONAL
from octavo.scan.read import Filling
from octavo.scan.records import ConsumerRecord, records_of
from octavo.scan.rows import AbortedRanges, delivered, timestamp_types
from octavo.storage.partition_log import PartitionLog
from octavo.storage.read import Isolation, aborted_transactions


class FetchForm(NamedTuple):
    """How partitions are read."""

    isolation: Isolation = Isolation.READ_UNCOMMITTED
    max_bytes: int = 1048576
    check_crcs: bool = True
    skips_transactions: bool = False


class Chunk(NamedTuple):
    """Records as they are asked for, and where to read on when all were: behind what is not shown, too."""

    records: Iterator[ConsumerRecord]
    next_position: int


def fetch(name: TopicPartition, log: PartitionLog, position: int, form: FetchForm) -> Chunk | None:
    """What a partition has from the position on, None if nothing yet; OffsetOutOfRangeError beyond its log."""
    fetched = log.read(position, form.max_bytes, form.isolation)
    data = fetched.read()
    table = _sound(name, walk(data, check_crc=form.check_crcs).table)
    if not len(table):
        return None
    next_position = int(table[-1]["base_offset"]) + int(table[-1]["last_offset_delta"]) + 1
    aborted = AbortedRanges(())
    if form.isolation is Isolation.READ_COMMITTED and fetched.aborted:
        aborted = AbortedRanges(aborted_transactions(log.segments, position, next_position))
    shown = delivered(table, position, next_position, aborted)
    if form.skips_transactions:
        shown = shown[shown["attributes"] & TRANSACTIONAL == 0]
    return Chunk(_records(name, data, shown, position), next_position)


def fetch_all(
    name: TopicPartition, log: PartitionLog, form: FetchForm, position: int | None = None
) -> Iterator[ConsumerRecord]:
    """All records of a partition, from its start or a position on, up to where its log ends now."""
    position, end = log.log_start_offset if position is None else position, log.log_end_offset
    while position < end and (chunk := fetch(name, log, position, form)) is not None:
        yield from chunk.records
        position = chunk.next_position


def _sound(name: TopicPartition, table: NDArray[np.void]) -> NDArray[np.void]:
    """The batches before the first that is damaged; where that is the first, it is an error."""
    if are_readable(summarize(table)):
        return table
    damaged = np.flatnonzero(unreadable(table))
    if not len(damaged):
        return table
    if damaged[0] > 0:
        return table[: damaged[0]]
    base_offset = int(table[0]["base_offset"])
    raise CorruptRecordError(f"{name}: the batch at offset {base_offset} is damaged; seek past it to go on")


def _records(name: TopicPartition, data: bytes, table: NDArray[np.void], position: int) -> Iterator[ConsumerRecord]:
    decoder = Decoder()
    for batches, timestamp_type in timestamp_types(table):
        for columns in decoder.decode(data, batches):
            first = int(np.searchsorted(columns.offset[: columns.rows], position))
            yield from records_of(*name, Filling(columns, first, columns.rows, timestamp_type))
