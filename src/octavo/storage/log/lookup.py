"""Finds offsets by timestamp (Kafka's ListOffsets) through the time index, the offset index and the batches."""

from __future__ import annotations

import threading
from typing import NamedTuple

from octavo import kernels
from octavo.format.batches.decoder import Decoder
from octavo.format.record import SpecialTimestamp
from octavo.kernels.layout import MAGIC_POSITION, NO_LEADER_EPOCH, NO_TIMESTAMP, Column, Seek
from octavo.storage.log.log import Log
from octavo.storage.log.read import Isolation
from octavo.storage.segment.log_file import LogFile, SearchBy
from octavo.storage.segment.segments import Segments

# Two batches of a producer's default batch.size: the one the index points to, and the next.
_READ_BYTES = 32 << 10


class FoundOffset(NamedTuple):
    """The answer to ListOffsets; offset -1 if no record matches."""

    timestamp: int
    offset: int
    leader_epoch: int = NO_LEADER_EPOCH


NOT_FOUND = FoundOffset(NO_TIMESTAMP, -1)


class Found(NamedTuple):
    """A record found by timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int
    batch_position: int


def special_offset(log: Log, timestamp: int, isolation: Isolation) -> FoundOffset:
    """The answer for a negative timestamp that needs no search; `NOT_FOUND` for offsets in tiered storage."""
    if timestamp == SpecialTimestamp.LATEST:
        return _found(log.last_fetchable_offset(isolation), log.epochs.latest_epoch)
    if timestamp in (SpecialTimestamp.EARLIEST, SpecialTimestamp.EARLIEST_LOCAL):
        start = log.log_start_offset
        return _found(start, log.epochs.epoch_for_offset(start))
    return NOT_FOUND


def searched_offset(log: Log, timestamp: int, isolation: Isolation) -> FoundOffset:
    """The answer for an ordinary timestamp, or for `SpecialTimestamp.MAX_TIMESTAMP`."""
    if timestamp == SpecialTimestamp.MAX_TIMESTAMP:
        found = of_max_timestamp(log.segments)
    else:
        found = by_timestamp(log.segments, timestamp, log.log_start_offset)
    if found is None or found.offset >= log.last_fetchable_offset(isolation):
        return NOT_FOUND
    return FoundOffset(found.timestamp, found.offset, found.leader_epoch)


def _found(offset: int, epoch: int | None) -> FoundOffset:
    return FoundOffset(NO_TIMESTAMP, offset, NO_LEADER_EPOCH if epoch is None else epoch)


def by_timestamp(segments: Segments, timestamp: int, log_start_offset: int) -> Found | None:
    """The first record, counting from the log's start, whose timestamp is at least this one; None if there is none.

    As in Kafka, only one segment is searched: the first whose largest timestamp is at least this one.
    """
    segment = next((segment for segment in segments if segment.largest_timestamp >= timestamp), None)
    if segment is None:
        return None
    start = max(segment.files.time_index.lookup(timestamp).offset, log_start_offset)
    return _seek(segment.files.log, segment.index_entry(start).position, timestamp, log_start_offset)


def of_max_timestamp(segments: Segments) -> Found | None:
    """The first record with the log's largest timestamp, which may be -1; None if there is none, or it has magic 0."""
    segment = max(segments, key=lambda segment: segment.max_so_far.timestamp, default=None)
    if segment is None:
        return None
    log, largest = segment.files.log, segment.max_so_far
    found = _seek(log, segment.index_entry(largest.offset).position, largest.timestamp, segment.base_offset)
    if found is not None and log.file.pread(1, found.batch_position + MAGIC_POSITION) == b"\0":
        return None  # a magic 0 message has no timestamp, so its -1 does not count
    return found


def _seek(log: LogFile, position: int, timestamp: int, start_offset: int) -> Found | None:
    """The first record, from a position and an offset on, with at least this timestamp; reads little at once."""
    file, end, wanted = log.file, log.size, _READ_BYTES
    while position < end:
        data = file.pread(min(wanted, end - position), position)
        code, at, size, found, offset, leader_epoch = kernels.find_timestamp(data, timestamp, start_offset)
        position += at
        if position + size > end:
            return None
        if code == Seek.FOUND:
            return Found(found, offset, leader_epoch, position)
        if code == Seek.DECODE or at == size == 0:  # or too little is left for a v2 batch
            return _seek_decoded(log, position, timestamp, start_offset)
        wanted = max(size, _READ_BYTES)
    return None


def _seek_decoded(log: LogFile, position: int, timestamp: int, start_offset: int) -> Found | None:
    """Like `_seek`, but decodes the batches: they may be compressed or in an old format."""
    while (place := log.find(SearchBy.MAX_TIMESTAMP, timestamp, position)) is not None:
        data, table = log.read_batch(place)
        if not len(table):
            return None
        for columns in _decoders.decoder.decode(data, table):
            timestamps, offsets = columns.timestamp[: columns.rows], columns.offset[: columns.rows]
            fits = (timestamps >= timestamp) & (offsets >= start_offset)
            if columns.rows and fits[first := int(fits.argmax())]:
                leader_epoch: int = table["partition_leader_epoch"].item(0)
                return Found(timestamps.item(first), offsets.item(first), leader_epoch, place.position)
        position = place.position + place.size
    return None


class _Decoders(threading.local):
    """One decoder per thread: its buffers are reused, so it cannot be shared."""

    def __init__(self) -> None:
        self.decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)


_decoders = _Decoders()
