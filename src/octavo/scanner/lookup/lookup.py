"""Finds an offset or a timestamp and shows how: Kafka's fetch and ListOffsets on a snapshot.

As in a broker, a timestamp is looked for only in the first segment whose largest timestamp is not below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import unreadable
from octavo.format.indexes.offset_index import OffsetPosition
from octavo.format.indexes.time_index import ENTRY as TIME_ENTRY
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.names import FileKind
from octavo.format.record import SpecialTimestamp
from octavo.kernels.layout import NO_TIMESTAMP, Column
from octavo.scanner.damage.passed_damage import PassedDamage, not_read
from octavo.scanner.damage.salvage import walk_past
from octavo.scanner.findings import Note
from octavo.scanner.partition.index_files import is_sound, read_offset_index, read_time_index
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.partition.tail import largest_in_log
from octavo.scanner.places.files import ListedSegment
from octavo.scanner.places.location import ReadableFile, read_fully
from octavo.scanner.places.segment_log import follow

NOT_FOUND = -1
_ANY = -(1 << 63)  # no timestamp is smaller


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The answer and the steps that led to it; offset -1 if no record matches."""

    offset: int = NOT_FOUND
    timestamp: int = NO_TIMESTAMP
    segment: ListedSegment | None = None
    time_index_entry: TimestampOffset | None = None
    offset_index_entry: OffsetPosition | None = None
    start_position: int | None = None  # where reading the log file began
    batch_position: int | None = None  # where the batch with the answer was found
    notes: tuple[Note, ...] = ()


def find_offset(snapshot: PartitionSnapshot, offset: int, end_offset: int) -> LookupResult:
    """The first record at or after an offset and below `end_offset`; compaction leaves gaps.

    From an offset below the log start, the search begins at the log start, with a note.
    """
    result, notes, start = LookupResult(), tuple[Note, ...](), snapshot.log_start_offset
    if offset < start:
        sentence = f"offset {offset} is below the log start offset; looking from {start} on"
        offset, notes = start, (Note(str(snapshot.files.location), sentence),)
    if offset >= end_offset:
        return replace(result, notes=notes)
    for slot in range(snapshot.slot_of(offset), len(snapshot.segments)):
        result = _Search(snapshot, slot, offset, end_offset).by_offset(offset)
        notes += result.notes
        if result.offset != NOT_FOUND:
            break
    return replace(result, notes=notes)


def find_timestamp(snapshot: PartitionSnapshot, timestamp: int, end_offset: int) -> LookupResult:
    """The first record of this time or later and below `end_offset`, or the offset that LATEST, EARLIEST or
    MAX_TIMESTAMP stands for."""
    if timestamp == SpecialTimestamp.LATEST:
        return LookupResult(end_offset, segment=_segment_of(snapshot, end_offset))
    if timestamp == SpecialTimestamp.EARLIEST:
        return LookupResult(snapshot.log_start_offset, segment=_segment_of(snapshot, snapshot.log_start_offset))
    if timestamp == SpecialTimestamp.MAX_TIMESTAMP:
        return _find_max_timestamp(snapshot, end_offset)
    for slot, segment in enumerate(snapshot.segments):
        largest = max_so_far(snapshot, slot).timestamp
        if (largest if largest >= 0 else segment.log.mtime_ms) >= timestamp:
            return _Search(snapshot, slot, snapshot.log_start_offset, end_offset).by_timestamp(timestamp)
    return LookupResult()


def max_so_far(snapshot: PartitionSnapshot, slot: int) -> TimestampOffset:
    """A segment's largest timestamp and the offset that the time index has for it; -1 if there is none.

    In a closed segment that is the last entry. The active segment may have a larger timestamp after its last entry.
    """
    segment = snapshot.segments[slot]
    entry = _last_time_entry(snapshot, segment)
    if slot + 1 == len(snapshot.segments) and snapshot.tail is not None:
        largest = snapshot.tail.largest
        return largest if largest.timestamp > entry.timestamp else entry
    return entry


def _find_max_timestamp(snapshot: PartitionSnapshot, end_offset: int) -> LookupResult:
    if not snapshot.segments:
        return LookupResult()
    largest = [max_so_far(snapshot, slot) for slot in range(len(snapshot.segments))]
    slot = max(range(len(largest)), key=lambda slot: largest[slot].timestamp)
    return _Search(snapshot, slot, snapshot.segments[slot].base_offset, end_offset).by_max_timestamp(largest[slot])


def _segment_of(snapshot: PartitionSnapshot, offset: int) -> ListedSegment | None:
    return snapshot.segments[snapshot.slot_of(offset)] if snapshot.segments else None


def _last_time_entry(snapshot: PartitionSnapshot, segment: ListedSegment) -> TimestampOffset:
    """The last entry of a segment's time index. Nothing else is read, unless the file ends in zeros.

    If the file cannot be read, the log has the same information.
    """
    if segment.time_index is not None and segment.time_index.size >= TIME_ENTRY.size:
        content = memoryview(bytearray(TIME_ENTRY.size))
        try:
            with follow(snapshot.files.path(segment, FileKind.TIME_INDEX)) as file:
                filled = read_fully(file, content, file.size() // TIME_ENTRY.size * TIME_ENTRY.size - TIME_ENTRY.size)
        except FileNotFoundError:
            raise
        except OSError:
            return largest_in_log(snapshot.files, segment)
        if filled == TIME_ENTRY.size and any(content):
            timestamp, relative = TIME_ENTRY.view(content)[0].item()
            return TimestampOffset(timestamp, segment.base_offset + relative)
    return read_time_index(snapshot.files, segment).last()


class _Search:
    """A search in one segment for records from `start_offset` up to, but not including, `end_offset`."""

    def __init__(self, snapshot: PartitionSnapshot, slot: int, start_offset: int, end_offset: int) -> None:
        self._snapshot = snapshot
        self._slot = slot
        self._segment = snapshot.segments[slot]
        self._start_offset = start_offset
        self._end_offset = end_offset
        self._notes: list[Note] = []
        self._decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)

    def by_offset(self, offset: int) -> LookupResult:
        return self._scan(None, offset, _ANY)

    def by_timestamp(self, timestamp: int) -> LookupResult:
        entry = read_time_index(self._snapshot.files, self._segment).lookup(timestamp)
        return self._scan(entry, max(entry.offset, self._start_offset), timestamp)

    def by_max_timestamp(self, largest: TimestampOffset) -> LookupResult:
        return self._scan(largest, largest.offset, largest.timestamp, exactly=True)

    def _scan(
        self, time_entry: TimestampOffset | None, from_offset: int, timestamp: int, *, exactly: bool = False
    ) -> LookupResult:
        """Read from the offset index's entry on, up to the first matching record."""
        entry = read_offset_index(self._snapshot.files, self._segment).lookup(from_offset)
        location = self._snapshot.files.path(self._segment)
        passed, start, match = PassedDamage(location, from_offset), None, None
        try:
            with follow(location) as log:
                start = self._trusted(entry, log)
                match = next(self._matches(log, start, timestamp, exactly, passed), None)
        except FileNotFoundError:
            raise
        except OSError as error:
            self._notes.append(not_read(location, error))
        self._notes += passed.notes()
        position, offset, at = match if match is not None else (None, NOT_FOUND, NO_TIMESTAMP)
        if offset >= self._end_offset:  # it exists, but this reader may not see it yet
            position, offset, at = None, NOT_FOUND, NO_TIMESTAMP
        if time_entry is not None and time_entry.timestamp < 0:
            time_entry = None
        indexed = entry if entry.position > 0 else None
        return LookupResult(offset, at, self._segment, time_entry, indexed, start, position, tuple(self._notes))

    def _trusted(self, entry: OffsetPosition, log: ReadableFile) -> int:
        if entry.position == 0 or is_sound(entry, self._segment.base_offset, log, log.size()):
            return entry.position
        index = self._snapshot.files.path(self._segment, FileKind.OFFSET_INDEX)
        problem = f"no sound batch at position {entry.position} of the log, to which an entry points"
        self._notes.append(Note(str(index), f"{problem}; reading from the start of the segment instead"))
        return 0

    def _matches(
        self, log: ReadableFile, start: int, timestamp: int, exactly: bool, passed: PassedDamage
    ) -> Iterator[tuple[int, int, int]]:
        """Batch position, offset and timestamp of the first matching record in each batch that has one."""
        end = self._snapshot.batches_end(self._slot, log)
        for chunk in walk_past(log, start, end, self._segment.base_offset, passed.see_gap):
            table = chunk.table
            times = table["max_timestamp"]
            wanted = ~unreadable(table) & (last_offsets(table) >= self._start_offset)
            wanted &= times == timestamp if exactly else times >= timestamp
            for number in np.flatnonzero(wanted):
                row = table[number]
                if exactly and row["magic"] == 0:
                    return  # it has no timestamp, and -1 does not count; Kafka looks at no other batch
                try:
                    columns = self._decoder.decode_one(chunk.data, row)
                except CorruptionError as error:
                    path = str(self._snapshot.files.path(self._segment))
                    self._notes.append(Note(path, f"a batch was skipped: {error}", is_damage=True))
                    continue
                offsets, stamps = columns.offset[: columns.rows], columns.timestamp[: columns.rows]
                fits = (stamps == timestamp) if exactly else (stamps >= timestamp)
                rows = np.flatnonzero(fits & (offsets >= self._start_offset))
                if len(rows):
                    passed.see(chunk, int(number) + 1)
                    yield chunk.file_position + int(row["position"]), int(offsets[rows[0]]), int(stamps[rows[0]])
            passed.see(chunk, len(table))
