"""Reads the log of a partition as a consumer does: whole batches, and the records that its isolation level shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError, CorruptRecordError
from octavo.format.batches.batch_summary import last_offsets, summarize
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import are_readable, unreadable
from octavo.format.batches.walker import walk
from octavo.format.names import FileKind, SegmentFile, TopicPartition
from octavo.scanner.reading.aborted import AbortedRanges
from octavo.scanner.reading.read import Filling
from octavo.scanner.reading.records import ConsumerRecord, DecodeRecord, records_of
from octavo.scanner.reading.rows import delivered, timestamp_types
from octavo.storage.log.read import Isolation, OffsetMetadata
from octavo.storage.partition_log import PartitionLog


class FetchOptions(NamedTuple):
    """How partitions are read."""

    isolation: Isolation = Isolation.READ_UNCOMMITTED
    max_bytes: int = 1048576
    check_crcs: bool = True
    decode: DecodeRecord | None = None


class FetchedRecords(NamedTuple):
    """Records, decoded on demand, and the next position, which is also after records that are not shown."""

    records: Iterator[ConsumerRecord]
    next_position: int


def fetch(
    topic_partition: TopicPartition, log: PartitionLog, position: int, options: FetchOptions
) -> FetchedRecords | None:
    """The records from a position on; None if there is no batch to read yet.

    Raises OffsetOutOfRangeError for a position outside the log, and CorruptRecordError if the first batch is damaged.
    """
    fetched, data = log.fetch(position, options.max_bytes, options.isolation)
    table, largest_offset = sound(topic_partition, walk(data, check_crc=options.check_crcs).table, log.log_end_offset)
    if not len(table):
        return None
    next_position = largest_offset + 1
    aborted = AbortedRanges(())
    if options.isolation is Isolation.READ_COMMITTED and fetched.aborted:
        aborted = AbortedRanges(log.aborted_transactions(position, next_position))
    shown = delivered(table, position, next_position, aborted)
    records = _located(records_of_batches(topic_partition, data, shown, position), log, fetched.start)
    return FetchedRecords(records if options.decode is None else map(options.decode, records), next_position)


def fetch_all(topic_partition: TopicPartition, log: PartitionLog) -> Iterator[ConsumerRecord]:
    """The records of a partition, from the log's start at least up to its current end."""
    position, end = log.log_start_offset, log.log_end_offset
    while position < end and (fetched := fetch(topic_partition, log, position, FetchOptions())) is not None:
        yield from fetched.records
        position = fetched.next_position


def sound(topic_partition: TopicPartition, table: NDArray[np.void], end_offset: int) -> tuple[NDArray[np.void], int]:
    """The batches before the first damaged one, and their largest offset; raises if the first one is damaged.

    No CRC covers the base offset, and a batch that claims offsets beyond the log's end would lead the reader there. In
    a damaged log offsets may also decrease, so the last one need not be the largest.
    """
    found = summarize(table)
    if not len(table) or (found.ascending and are_readable(found) and found.last_offset < end_offset):
        return table, found.last_offset
    last = last_offsets(table)
    damaged = np.flatnonzero(unreadable(table) | (last >= end_offset))
    if not len(damaged):
        return table, int(last.max())
    if damaged[0] > 0:
        return table[: damaged[0]], int(last[: damaged[0]].max())
    base_offset = int(table[0]["base_offset"])
    raise CorruptRecordError(f"{topic_partition}: the batch at offset {base_offset} is damaged; seek past it to go on")


def _located(records: Iterator[ConsumerRecord], log: PartitionLog, start: OffsetMetadata) -> Iterator[ConsumerRecord]:
    """Add the file and the position to an error about a batch's bytes."""
    try:
        yield from records
    except CorruptionError as error:
        path = log.folder / SegmentFile(start.segment_base_offset, FileKind.LOG).name
        position = None if error.position is None else start.position + error.position
        raise error.at(position=position, path=str(path)) from None


def records_of_batches(
    topic_partition: TopicPartition, data: bytes, table: NDArray[np.void], position: int
) -> Iterator[ConsumerRecord]:
    """The records from a position on. In a damaged log offsets may decrease; such records are skipped."""
    decoder = Decoder()
    for batches, timestamp_type in timestamp_types(table):
        for columns in decoder.decode(data, batches):
            offsets = columns.offset[: columns.rows]
            if not len(offsets):
                continue
            if np.all(offsets[1:] > offsets[:-1]):
                first = int(np.searchsorted(offsets, position))
                yield from records_of(*topic_partition, Filling(columns, first, columns.rows, timestamp_type))
                position = max(position, int(offsets[-1]) + 1)
                continue
            for record in records_of(*topic_partition, Filling(columns, 0, columns.rows, timestamp_type)):
                if record.offset >= position:
                    position = record.offset + 1
                    yield record
