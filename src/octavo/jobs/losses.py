"""What is lost when a part of a log file is cut: which offsets and records, and what else was there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.sound import broken
from octavo.format.names import SegmentFile
from octavo.jobs.tally import Counter
from octavo.kernels.layout import BATCH_FIELDS, BATCH_HEADER, BATCH_OVERHEAD, CONTROL, Stop
from octavo.scanner.damage.resync import are_zeros
from octavo.scanner.damage.salvage import Gap, walk_past
from octavo.scanner.findings import ScanFindings
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.places.location import LOCAL, Location, ReadableFile, read_fully
from octavo.scanner.places.segment_log import follow
from octavo.storage.partition_log import PartitionLog

_BEYOND = 1 << 62
_MOST_OFFSETS = 1 << 31  # a segment cannot span more


@dataclass(slots=True)
class LostPart:
    """What some bytes of a log hold. `records` includes the records that the headers of damaged batches claim."""

    size: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    records: int = 0
    sound_records: int = 0
    zeros: int = 0
    other_bytes: int = 0  # neither batches nor zeros

    def add(self, other: LostPart) -> None:
        self.size += other.size
        self.records += other.records
        self.sound_records += other.sound_records
        self.zeros += other.zeros
        self.other_bytes += other.other_bytes
        for offset in (other.first_offset, other.last_offset):
            if offset is not None:
                self.add_offsets(offset, offset)

    @property
    def batch_bytes(self) -> int:
        return self.size - self.zeros - self.other_bytes

    def add_offsets(self, first: int, last: int) -> None:
        self.first_offset = first if self.first_offset is None else min(first, self.first_offset)
        self.last_offset = last if self.last_offset is None else max(last, self.last_offset)


def gap_text(first: int, last: int) -> str:
    """What to say about offsets that are missing before a segment."""
    missing = f"offset {first} is" if first == last else f"offsets {first} to {last} are"
    return f"{missing} missing before this segment, and the topic is not compacted: a file may have been lost"


class FilePosition(NamedTuple):
    """A position in a log file."""

    path: str
    position: int


@dataclass(slots=True)
class Losses:
    """What recovery cuts from logs, by log file."""

    by_path: dict[Path, LostPart] = field(default_factory=dict)

    def see(self, path: Path, start: int, end: int) -> None:
        """Add bytes that are about to be cut, as `other_bytes` if unreadable: in a dry run, the file may not exist."""
        loss = LostPart(end - start, other_bytes=end - start)
        try:
            with Location(LOCAL, str(path)).open() as log:
                segment = SegmentFile.parse(path.name)
                loss = look_at(log, start, end, 0 if segment is None else segment.base_offset)
        except OSError:
            pass
        self.by_path.setdefault(path, LostPart()).add(loss)


def from_offset(log: PartitionLog, offset: int) -> LostPart:
    """What a truncation to the offset cuts: the batch that holds it, and all after it."""
    losses = Losses()
    for segment in log.segments:
        place = segment.find_batch(offset)
        if place is not None:
            losses.see(segment.files.log.path, place.position, segment.size)
    lost = LostPart()
    for part in losses.by_path.values():
        lost.add(part)
    return lost


def between(source: PartitionSnapshot, start: FilePosition, end: FilePosition | None) -> LostPart:
    """What lies between two places of a log (`end` None: up to the log's end); nothing if that cannot be read."""
    slots = {str(source.files.path(segment)): slot for slot, segment in enumerate(source.segments)}
    lost, first, last = LostPart(), slots.get(start.path), slots.get(end.path) if end else len(slots) - 1
    if first is None or last is None:
        return lost  # the place is in a file that has replaced others since the snapshot
    try:
        for slot in range(first, last + 1):
            segment = source.segments[slot]
            with follow(source.files.path(segment)) as log:
                position = start.position if slot == first else 0
                stop = end.position if end and slot == last else source.batches_end(slot, log)
                lost.add(look_at(log, position, max(position, stop), segment.base_offset))
    except OSError:
        return LostPart()
    return lost


def after_log_end(source: PartitionSnapshot) -> LostPart:
    """What lies after the log's end: damage, or a batch that a crash cut off. Preallocated zeros are not a loss."""
    tail = source.tail
    if tail is None or tail.problem() is None:
        return LostPart()
    segment = source.segments[-1]
    with follow(source.files.path(segment)) as log:
        if not tail.is_damaged and log.size() != tail.size:
            return LostPart()  # no crash: a writer is completing the batch
        return look_at(log, tail.position, tail.size, segment.base_offset)


def look_at(log: ReadableFile, start: int, end: int, base_offset: int) -> LostPart:
    """What lies between two positions of a log file."""
    loss, gaps, counter = LostPart(end - start), list[Gap](), Counter(_BEYOND, ScanFindings("skip"))
    for chunk in walk_past(log, start, end, base_offset, gaps.append):
        counter.take(chunk, 0)
        _add_batches(loss, chunk.table, base_offset)
    loss.sound_records = counter.tally.records
    loss.records += counter.tally.records
    for gap in gaps:
        gap_end = end if gap.resumed is None else gap.resumed
        if are_zeros(log, gap.position, gap_end):
            loss.zeros += gap_end - gap.position
        elif not _add_incomplete(loss, log, gap, base_offset):
            loss.other_bytes += gap_end - gap.position
    return loss


def _add_batches(loss: LostPart, table: NDArray[np.void], base_offset: int) -> None:
    """Add the offsets of all batches and the records of damaged ones, where their headers are plausible."""
    last, damaged = last_offsets(table), broken(table)
    possible = (table["base_offset"] <= last) & (last >= base_offset) & (last - base_offset < _MOST_OFFSETS)
    kept = table[possible]
    if len(kept):
        loss.add_offsets(int(kept["base_offset"].min()), int(last[possible].max()))
    counts = table["count"][possible & damaged & (table["attributes"] & CONTROL == 0)].astype(np.int64)
    loss.records += int(counts[(counts > 0) & (counts < _MOST_OFFSETS)].sum())


def _add_incomplete(loss: LostPart, log: ReadableFile, gap: Gap, base_offset: int) -> bool:
    """Add a batch with a whole header but not all of its records; returns whether there is one."""
    header = memoryview(bytearray(BATCH_OVERHEAD))
    if gap.stop is not Stop.INCOMPLETE_BATCH or read_fully(log, header, gap.position) < len(header):
        return False
    fields = dict(zip(BATCH_FIELDS, BATCH_HEADER.unpack(header), strict=True))
    first, count = fields["baseOffset"], fields["recordsCount"]
    last = first + fields["lastOffsetDelta"]
    if fields["magic"] != 2 or not base_offset <= first <= last < base_offset + _MOST_OFFSETS or count <= 0:
        return False
    loss.add_offsets(first, last)
    loss.records += count
    return True
