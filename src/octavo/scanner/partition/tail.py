"""Determines where a segment ends: after its last whole batch with a good CRC, whatever follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.sound import broken
from octavo.format.batches.walker import STOP_TEXTS
from octavo.format.indexes.time_index import TimestampOffset
from octavo.kernels.layout import NO_TIMESTAMP, Stop
from octavo.scanner.damage.resync import are_zeros
from octavo.scanner.damage.salvage import walk_past
from octavo.scanner.partition.index_files import are_untrimmed, last_sound_entry
from octavo.scanner.places.files import ListedSegment, PartitionFiles
from octavo.scanner.places.location import Entry, ReadableFile
from octavo.scanner.places.segment_log import follow
from octavo.system.clock import Clock, SystemClock

LOOKS = 5
_PAUSE_SECONDS = 0.02
_RECENT_MS = 60_000


@dataclass(frozen=True, slots=True)
class WriterPatience:
    """Whether a file may be in the process of being written, and how to wait for its writer. Picklable."""

    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep

    def is_recent(self, entry: Entry) -> bool:
        """Whether the file was changed within the last minute, or has a time in the future."""
        return self.clock.time_ms() - entry.mtime_ms < _RECENT_MS

    def pause(self) -> None:
        """Give a writer time to continue."""
        self.sleep(_PAUSE_SECONDS)


class SegmentTail(NamedTuple):
    """The end of a segment."""

    next_offset: int
    position: int  # the end of the last whole sound batch
    size: int  # of the file at that time
    stop: Stop  # why the walk ended
    damaged_batches: int  # whole batches after `position`, none of them sound
    zeros: bool  # only zeros follow `position`, as in a preallocated file
    largest: TimestampOffset  # the largest timestamp from the last index entry on, and the last offset of its batch
    being_written: bool = True  # now, or when a crash came: incomplete batches and zeros are normal then

    @property
    def unread_bytes(self) -> int:
        return self.size - self.position

    @property
    def is_damaged(self) -> bool:
        """Whether more was lost than what was being written when the writer stopped."""
        ordinary = self.zeros or self.stop is not Stop.SIZE_TOO_SMALL
        return self.unread_bytes > 0 and not (ordinary and self.being_written and not self.damaged_batches)

    def problem(self) -> str | None:
        """What is wrong after the last sound batch; None if nothing is, or if only preallocated zeros follow."""
        if not self.unread_bytes or (self.zeros and not self.is_damaged):
            return None
        if self.damaged_batches:
            number = self.damaged_batches
            return "a damaged batch at the end" if number == 1 else f"{number} damaged batches at the end"
        return f"{'zeros' if self.zeros else STOP_TEXTS[self.stop]} at the end"


def read_tail(files: PartitionFiles, segment: ListedSegment, patience: WriterPatience | None = None) -> SegmentTail:
    """Walk a segment from its last sound index entry on, or from its start if there is none.

    If a file was changed recently, damage is looked at until it is gone or stays the same, at most `LOOKS` times: a
    broker may be writing into a preallocated file.
    """
    patience, tail = patience or WriterPatience(), _look(files, segment)
    for _ in range(LOOKS - 1):
        if not tail.is_damaged or not patience.is_recent(files.path(segment).entry()):
            break
        patience.pause()
        before, tail = tail, _look(files, segment)
        if tail == before:
            break
    return tail


def _look(files: PartitionFiles, segment: ListedSegment) -> SegmentTail:
    """Look once. The index is read before the log's size, because a broker appends to the log first."""
    with follow(files.path(segment)) as log:
        entry = last_sound_entry(files, segment, log)
        tail = _walk_tail(log, segment.base_offset, 0 if entry is None else entry.position)
    if not tail.unread_bytes:
        return tail
    stopped = files.root.was_stopped_cleanly(files.topic_partition)
    return tail._replace(being_written=not stopped and are_untrimmed(files, segment))


def _walk_tail(log: ReadableFile, base_offset: int, start: int) -> SegmentTail:
    size = log.size()
    next_offset, position, damaged, stop = base_offset, start, 0, Stop.END
    largest = TimestampOffset(NO_TIMESTAMP, base_offset)
    for chunk in walk_past(log, start, size, base_offset):
        sound = np.flatnonzero(~broken(chunk.table))
        if len(sound):
            last = chunk.table[sound[-1]]
            next_offset = int(last_offsets(chunk.table[sound[-1:]])[0]) + 1
            position = chunk.file_position + int(last["position"]) + int(last["size"])
            damaged = 0
            largest = _larger(largest, chunk.table[sound])
        damaged += len(chunk.table) - (int(sound[-1]) + 1 if len(sound) else 0)
        stop = stop if chunk.stop is None else chunk.stop
    if stop is Stop.END and not damaged:
        size = position  # if that is smaller, the file was truncated in the meantime
    zeros = not damaged and position < size and are_zeros(log, position, size)
    return SegmentTail(next_offset, position, size, stop, damaged, zeros, largest)


def largest_in_log(files: PartitionFiles, segment: ListedSegment) -> TimestampOffset:
    """The largest timestamp of a segment from its log alone; -1 if the log is there but cannot be read."""
    try:
        with follow(files.path(segment)) as log:
            return _walk_tail(log, segment.base_offset, 0).largest
    except FileNotFoundError:
        raise
    except OSError:
        return TimestampOffset(NO_TIMESTAMP, segment.base_offset)


def _larger(largest: TimestampOffset, sound: NDArray[np.void]) -> TimestampOffset:
    row = int(sound["max_timestamp"].argmax())  # the first of several, as in Kafka
    timestamp = int(sound["max_timestamp"][row])
    if timestamp <= largest.timestamp:
        return largest
    return TimestampOffset(timestamp, int(last_offsets(sound[row : row + 1])[0]))
