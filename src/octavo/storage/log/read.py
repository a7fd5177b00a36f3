"""Reads batches as ranges of a segment's file, up to the offset that the reader's isolation allows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import chain
from typing import NamedTuple

from octavo.errors import OffsetOutOfRangeError
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments
from octavo.system.filesystem import File


class Isolation(Enum):
    """How far a reader may read."""

    LOG_END = "log end"  # up to the log end offset, for replicas
    READ_UNCOMMITTED = "read_uncommitted"  # up to the high watermark
    READ_COMMITTED = "read_committed"  # up to the last stable offset, with a list of aborted transactions


class OffsetMetadata(NamedTuple):
    """An offset and its position in the log."""

    offset: int
    segment_base_offset: int
    position: int


class FileRange(NamedTuple):
    """Bytes of a log file: they start at a batch and may end inside one. Readable even after the segment is deleted."""

    file: File
    position: int
    size: int

    def read(self) -> bytes:
        return self.file.pread(self.size, self.position)


class AbortedTransaction(NamedTuple):
    """A reader of committed records drops the producer's batches from this offset up to its next ABORT marker."""

    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    """The result of a read. Its first batch may begin before the requested offset."""

    start: OffsetMetadata
    records: FileRange | None  # None: there is nothing to read yet, or no byte is allowed
    first_batch_incomplete: bool = False
    aborted: tuple[AbortedTransaction, ...] = ()

    @property
    def size(self) -> int:
        return 0 if self.records is None else self.records.size

    def read(self) -> bytes:
        return b"" if self.records is None else self.records.read()


class Limits(NamedTuple):
    """The readable part of the log, determined once per read."""

    log_start_offset: int
    log_end: OffsetMetadata
    upper_bound: OffsetMetadata  # for the reader's isolation


class ReadRequest(NamedTuple):
    """A reader's request."""

    start_offset: int
    max_bytes: int
    min_one_batch: bool = True  # return the whole first batch, even if it is larger than max_bytes


def read(segments: Segments, limits: Limits, request: ReadRequest, *, with_aborted: bool = False) -> Fetched:
    """Batches of one segment, starting with the one that holds the start offset.

    If the start lies in a gap left by compaction, the read begins at the next batch, in a later segment if necessary.
    """
    start = request.start_offset
    segment = segments.floor(start)
    if not limits.log_start_offset <= start <= limits.log_end.offset or segment is None:
        raise OffsetOutOfRangeError(start, limits.log_start_offset, limits.log_end.offset)
    if start == limits.upper_bound.offset:
        return Fetched(limits.upper_bound, None)
    if start > limits.upper_bound.offset:
        return Fetched(locate(segments, start, limits.log_end), None)
    while segment is not None:
        found = _read_segment(segment, _max_position(segment, limits.upper_bound), request)
        if found is not None:
            if not with_aborted:
                return found
            return found._replace(aborted=_aborted(segments, segment, found, start, limits.log_end.offset))
        segment = segments.after(segment)
    return Fetched(limits.log_end, None)


def locate(segments: Segments, offset: int, log_end: OffsetMetadata) -> OffsetMetadata:
    """The base offset and position of the batch that holds an offset, or of the next one; else the log's end."""
    segment = segments.floor(offset)
    while segment is not None and offset < log_end.offset:
        place = segment.find_batch(offset)
        if place is not None:
            return OffsetMetadata(place.base_offset, segment.base_offset, place.position)
        segment = segments.after(segment)
    return log_end


def _max_position(segment: Segment, upper_bound: OffsetMetadata) -> int | None:
    if segment.base_offset < upper_bound.segment_base_offset:
        return segment.size
    return upper_bound.position if segment.base_offset == upper_bound.segment_base_offset else None


def _read_segment(segment: Segment, max_position: int | None, request: ReadRequest) -> Fetched | None:
    place = segment.find_batch(request.start_offset)
    if place is None:
        return None
    start = OffsetMetadata(place.base_offset, segment.base_offset, place.position)
    limit = max(request.max_bytes, place.size) if request.min_one_batch else request.max_bytes
    if limit == 0 or max_position is None or max_position <= place.position:
        return Fetched(start, None)
    size = min(max_position - place.position, limit)
    file = segment.files.log.file
    file.bring(place.position, size)
    return Fetched(start, FileRange(file, place.position, size), limit < place.size)


def _aborted(
    segments: Segments, segment: Segment, found: Fetched, start_offset: int, log_end_offset: int
) -> tuple[AbortedTransaction, ...]:
    """The aborted transactions that overlap what was read."""
    next_entry = segment.index_entry_from(found.start.position + found.size)
    following = segments.after(segment)
    segment_end = log_end_offset if following is None else following.base_offset
    upper = segment_end if next_entry is None else next_entry.offset
    return tuple(
        AbortedTransaction(txn.producer_id, txn.first_offset)
        for txn in aborted_transactions(segments, start_offset, upper)
    )


def aborted_transactions(segments: Segments, start_offset: int, upper_bound_offset: int) -> Sequence[AbortedTxn]:
    """The aborted transactions that overlap the offsets from the start up to, but not including, the upper bound."""
    indexes = (segment.files.txn_index.aborted() for segment in segments.overlapping(start_offset))
    return txn_index.search(chain.from_iterable(indexes), start_offset, upper_bound_offset)
