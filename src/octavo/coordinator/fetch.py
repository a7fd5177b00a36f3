"""Reading a partition as a consumer does: whole batches, of which it is handed what its isolation shows."""

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
from octavo.kernels.layout import TRANSACTIONAL
from octavo.scanner.reading.aborted import AbortedRanges
from octavo.scanner.reading.read import Filling
from octavo.scanner.reading.records import ConsumerRecord, records_of
from octavo.scanner.reading.rows import delivered, timestamp_types
from octavo.storage.log.read import Isolation, OffsetMetadata
from octavo.storage.partition_log import PartitionLog


class FetchForm(NamedTuple):
    """How partitions are read."""

    isolation: Isolation = Isolation.READ_UNCOMMITTED
    max_bytes: int = 1048576
    check_crcs: bool = True
    skips_transactions: bool = False


class FetchedRecords(NamedTuple):
    """Records as they are asked for, and where to read on when all were: behind what is not shown, too."""

    records: Iterator[ConsumerRecord]
    next_position: int


def fetch(name: TopicPartition, log: PartitionLog, position: int, form: FetchForm) -> FetchedRecords | None:
    """What a partition has from the position on, None if nothing yet; OffsetOutOfRangeError beyond its log."""
    fetched, data = log.fetch(position, form.max_bytes, form.isolation)
    table, largest_offset = _sound(name, walk(data, check_crc=form.check_crcs).table, log.log_end_offset)
    if not len(table):
        return None
    next_position = largest_offset + 1
    aborted = AbortedRanges(())
    if form.isolation is Isolation.READ_COMMITTED and fetched.aborted:
        aborted = AbortedRanges(log.aborted_transactions(position, next_position))
    shown = delivered(table, position, next_position, aborted)
    if form.skips_transactions:
        shown = shown[shown["attributes"] & TRANSACTIONAL == 0]
    return FetchedRecords(_located(_records(name, data, shown, position), log, fetched.start), next_position)


def fetch_all(
    name: TopicPartition, log: PartitionLog, form: FetchForm, position: int | None = None
) -> Iterator[ConsumerRecord]:
    """All records of a partition, from its start or a position on, up to where its log ends now."""
    position, end = log.log_start_offset if position is None else position, log.log_end_offset
    while position < end and (chunk := fetch(name, log, position, form)) is not None:
        yield from chunk.records
        position = chunk.next_position


def _sound(name: TopicPartition, table: NDArray[np.void], end_offset: int) -> tuple[NDArray[np.void], int]:
    """The batches before the first that is damaged, and their largest offset; where that is the first, it is an error.

    No CRC covers the base offset: a batch that claims offsets beyond the log's end would lead the reader there. And in
    a damaged log offsets may go back, so that the last one need not be the largest.
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
    raise CorruptRecordError(f"{name}: the batch at offset {base_offset} is damaged; seek past it to go on")


def _located(records: Iterator[ConsumerRecord], log: PartitionLog, start: OffsetMetadata) -> Iterator[ConsumerRecord]:
    """Let an error about a batch's bytes name the file and the position in it."""
    try:
        yield from records
    except CorruptionError as error:
        path = log.folder / SegmentFile(start.segment_base_offset, FileKind.LOG).name
        position = None if error.position is None else start.position + error.position
        raise error.at(position=position, path=str(path)) from None


def _records(name: TopicPartition, data: bytes, table: NDArray[np.void], position: int) -> Iterator[ConsumerRecord]:
    """The records from a position on. In a damaged log offsets may go back: such records are passed over."""
    decoder = Decoder()
    for batches, timestamp_type in timestamp_types(table):
        for columns in decoder.decode(data, batches):
            offsets = columns.offset[: columns.rows]
            if not len(offsets):
                continue
            if np.all(offsets[1:] > offsets[:-1]):
                first = int(np.searchsorted(offsets, position))
                yield from records_of(*name, Filling(columns, first, columns.rows, timestamp_type))
                position = max(position, int(offsets[-1]) + 1)
                continue
            for record in records_of(*name, Filling(columns, 0, columns.rows, timestamp_type)):
                if record.offset >= position:
                    position = record.offset + 1
                    yield record
