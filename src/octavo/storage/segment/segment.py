"""A segment: appends that maintain its indexes, the values a roll depends on, truncation and closing.

`log.lookup` and `log.read` search and read it; `recovery.recover` rebuilds it.
"""

from __future__ import annotations

import random
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.config import LogConfig
from octavo.errors import OctavoError
from octavo.format.batches.batch_summary import last_offset
from octavo.format.indexes.offset_index import OffsetPosition
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.names import Transient
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import INDEX_COUNTERS, NO_TIMESTAMP
from octavo.storage.segment.build_index import new_counters
from octavo.storage.segment.index_file import OffsetIndexFile
from octavo.storage.segment.log_file import BatchPlace, SearchBy
from octavo.storage.segment.segment_files import SegmentFiles
from octavo.system.clock import Clock
from octavo.system.filesystem import FileSystem

if TYPE_CHECKING:
    from typing_extensions import Buffer

_Entry = TypeVar("_Entry", OffsetPosition, OffsetPosition | None)

_BYTES_SINCE_LAST_ENTRY = INDEX_COUNTERS.index("bytes_since_last_entry")
# How much of a segment's end is read at once; by default, the last index entry is some 4096 bytes and a batch away.
_TAIL_BYTES = 64 << 10

_MAX_TIMESTAMP = INDEX_COUNTERS.index("max_timestamp")
_MAX_TIMESTAMP_OFFSET = INDEX_COUNTERS.index("max_timestamp_offset")


class SegmentOffsetOverflowError(OctavoError):
    """An offset too far from the segment's base offset for an index entry."""

    def __init__(self, base_offset: int, offset: int) -> None:
        super().__init__(f"offset {offset} does not fit into the segment with base offset {base_offset}")
        self.base_offset = base_offset
        self.offset = offset


class Tail(NamedTuple):
    """The end of a segment's last whole batch."""

    next_offset: int  # the segment's base offset if it has no whole batch
    end_position: int


class Segment:
    """One segment. The log's lock ensures that only one thread writes at a time; any thread may read.

    A reader may rebuild an index, but not between an append's write to the log and its index entries: `_lock` keeps the
    two apart.
    """

    def __init__(
        self,
        folder: Path,
        base_offset: int,
        config: LogConfig,
        filesystem: FileSystem,
        clock: Clock,
        *,
        transient: Transient = Transient.NONE,
        create: bool = False,
    ) -> None:
        self.base_offset = base_offset
        self.files = SegmentFiles(filesystem, folder, base_offset, config, transient=transient, create=create)
        self.jitter_ms = _jitter_ms(config)
        self._interval_bytes = config.index_interval_bytes
        self._clock = clock
        self.created_ms = clock.time_ms()
        self._first_timestamp: int | None = None
        self._counters: array[int] | None = None  # layout.INDEX_COUNTERS; None: to be read from the indexes
        self._lock = threading.RLock()

    @property
    def size(self) -> int:
        """Size of the batches, in bytes."""
        return self.files.log.size

    def append(self, largest_offset: int, data: Buffer, table: NDArray[np.void]) -> None:
        """Write whole batches with one write, then add their index entries."""
        if not len(table):
            return
        self.check_offset(largest_offset)
        log = self.files.log
        with self._lock:
            position = log.append(data)
            self.index(table, position)

    def index(self, table: NDArray[np.void], position: int) -> None:
        """Count the batches at the position, and add their index entries.

        A batch gets entries when more than index.interval.bytes precede it since the last batch with entries. While the
        segment stays open, the same batches give the same indexes, however many calls append them. Many batches at once
        may give more entries than an index has room for: it is full then, and the segment is rolled before the next
        append. (Kafka fails in the middle of such an append.)
        """
        offset_index, time_index, counters = self.files.offset_index, self.files.time_index, self._read_counters()[:]
        offsets, times = kernels.index_batches(
            table, position, self._interval_bytes, counters, offset_index.room, time_index.room
        )
        if offsets:
            offset_index.append(offsets)
        if times:
            time_index.append(times)
        self._counters = counters

    def resume_index(self) -> None:
        """Count the bytes since the last entry, as if the segment had stayed open.

        As in Kafka, a newly opened segment counts from 0. A segment that is opened again for every few batches would
        never get an entry that way.
        """
        counters = self._read_counters()[:]
        counters[_BYTES_SINCE_LAST_ENTRY] = self.size - self.last_index_entry().position
        self._counters = counters

    def check_offset(self, offset: int) -> None:
        """Refuse an offset that does not fit into an index entry."""
        if not 0 <= offset - self.base_offset <= INT32_MAX:
            raise SegmentOffsetOverflowError(self.base_offset, offset)

    @property
    def max_so_far(self) -> TimestampOffset:
        """The largest timestamp (-1 if there is none), and the last offset of the first batch that has it."""
        counters = self._read_counters()
        return TimestampOffset(counters[_MAX_TIMESTAMP], counters[_MAX_TIMESTAMP_OFFSET])

    @property
    def largest_timestamp(self) -> int:
        """Its records' largest timestamp, or its file's modification time if they have none."""
        timestamp = self.max_so_far.timestamp
        return timestamp if timestamp >= 0 else self.files.log.mtime_ms

    @property
    def first_timestamp(self) -> int:
        """The max timestamp of the first batch (-1 if there is none), from which a roll by time counts."""
        if self._first_timestamp is None:
            first = self.files.log.find(SearchBy.LAST_OFFSET, 0, 0)
            if first is None:
                return NO_TIMESTAMP
            self._first_timestamp = int(self.files.log.read_batch(first)[1]["max_timestamp"][0])
        return self._first_timestamp

    @property
    def is_index_full(self) -> bool:
        return not (self.files.offset_index.room and self.files.time_index.room)

    def find_batch(self, offset: int) -> BatchPlace | None:
        """The first batch whose last offset is not below this offset; None if there is none."""
        log, entry = self.files.log, self.files.offset_index.lookup(offset)
        head = log.head(entry.position)
        if entry.position and not log.begins_batch(entry, head):
            entry = self.index_entry(offset)
            head = log.head(entry.position)
        return log.find(SearchBy.LAST_OFFSET, offset, entry.position, head)

    def index_entry(self, offset: int) -> OffsetPosition:
        """The offset index's entry with the largest offset that is not above this one."""
        return self._trusted(lambda index: index.lookup(offset))

    def last_index_entry(self) -> OffsetPosition:
        """The offset index's last entry; the segment's start if it is empty."""
        return self._trusted(OffsetIndexFile.last)

    def index_entry_from(self, position: int) -> OffsetPosition | None:
        """The offset index's first entry at or after a position."""
        return self._trusted(lambda index: index.upper_bound(position))

    def _trusted(self, look: Callable[[OffsetIndexFile], _Entry]) -> _Entry:
        """An entry at whose position a batch begins; an index that points elsewhere is rebuilt from the log."""
        index, log = self.files.offset_index, self.files.log
        entry = look(index)
        if entry is not None and entry.position and not log.begins_batch(entry, log.head(entry.position)):
            problem = f"the entry for offset {entry.offset} points to {entry.position}, where no such batch begins"
            with self._lock:
                index.rebuild(problem)
            entry = look(index)
        return entry

    def tail(self) -> Tail:
        """Where the whole batches end, searching from the last index entry; CRCs are not checked."""
        tail = Tail(self.base_offset, 0)
        for chunk in self.files.log.chunks(self.last_index_entry().position, chunk_bytes=_TAIL_BYTES):
            tail = tail._replace(end_position=chunk.stop_position)
            if len(chunk.table):
                tail = tail._replace(next_offset=last_offset(chunk.table[-1]) + 1)
        return tail

    def truncate_to(self, offset: int) -> None:
        """Drop the first batch that reaches the offset, all after it and their entries.

        1. Find the batch, while the index can still lead to it. 2. Cut the indexes. 3. Cut the log. A crash in between
        leaves a log that is longer than its indexes say; recovery, which must follow a crash, rebuilds the indexes.
        """
        place = self.find_batch(offset)
        with self._lock:
            self.files.offset_index.truncate_to(offset)
            self.files.time_index.truncate_to(offset)
            self.files.txn_index.truncate_to(offset)
            if place is not None:
                self.files.log.truncate_to(place.position)
        if self.size == 0:
            self.created_ms = self._clock.time_ms()
            self._first_timestamp = None
        self._counters = None
        largest = self._read_max_timestamp()
        counters = self._read_counters()[:]
        counters[_MAX_TIMESTAMP], counters[_MAX_TIMESTAMP_OFFSET] = largest
        self._counters = counters

    def reset_index(self) -> None:
        """Forget all entries and counts, before the batches are counted again."""
        for index in (self.files.offset_index, self.files.time_index, self.files.txn_index):
            index.reset()
        self._counters = None

    def close_out(self) -> None:
        """Stop being the active segment: write the closing time index entry, cut indexes and log to their used
        length."""
        self.files.time_index.maybe_append(self.max_so_far)
        self.files.offset_index.trim()
        self.files.time_index.trim()
        self.files.log.trim()
        self._counters = None

    def _read_counters(self) -> array[int]:
        """The counters; in a newly opened segment they start at the indexes' last entries, with no byte counted."""
        if (counters := self._counters) is not None:
            return counters
        with self._lock:
            if (counters := self._counters) is None:
                offset_index, largest = self.files.offset_index, self.files.time_index.last()
                last_offset = offset_index.last().offset if len(offset_index) else self.base_offset - 1
                self._counters = counters = new_counters(self.base_offset, last_offset, largest)
            return counters

    def _read_max_timestamp(self) -> TimestampOffset:
        """The time index's last entry, or the larger timestamp of a batch after it."""
        found = self.files.time_index.last()
        for chunk in self.files.log.chunks(self.index_entry(found.offset).position):
            if len(chunk.table):
                row = chunk.table[int(np.argmax(chunk.table["max_timestamp"]))]
                if int(row["max_timestamp"]) > found.timestamp:
                    found = TimestampOffset(int(row["max_timestamp"]), last_offset(row))
        return found


def _jitter_ms(config: LogConfig) -> int:
    """How much earlier than segment.ms this segment rolls, so that many partitions do not all roll at once."""
    limit = min(config.segment_jitter_ms, config.segment_ms)
    return random.randrange(limit) if limit else 0
