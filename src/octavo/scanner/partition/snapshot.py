"""A snapshot of one partition: which segments hold it, from which offset on it may be read, and where it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from octavo.errors import ScanError
from octavo.format.names import FileKind, SegmentFile, TopicPartition, Transient
from octavo.scanner.findings import Note
from octavo.scanner.partition.tail import LOOKS, SegmentTail, WriterPatience, read_tail
from octavo.scanner.places.files import ListedSegment, PartitionFiles, read_partition, read_segments
from octavo.scanner.places.location import UNKNOWN_SIZE, ReadableFile
from octavo.scanner.places.root import Root

_COMMITS = 5  # that may come in between, before what was found is taken as it is
_CHASE_SECONDS = 30.0

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """A partition as it was at one moment. What a broker appends later lies above `log_end_offset`."""

    files: PartitionFiles
    segments: tuple[ListedSegment, ...]  # those that a broker would read, by base offset
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None  # from its checkpoint, between the two; None where that does not name the partition
    tail: SegmentTail | None  # of the last segment; None without a segment
    notes: tuple[Note, ...] = ()
    failure: OSError | None = None  # why the last segment, which is none of `segments`, cannot be read

    @property
    def topic_partition(self) -> TopicPartition:
        return self.files.topic_partition

    def notes_up_to(self, end_offset: int) -> list[Note]:
        """What is to be said to who reads up to an offset: damage at the log's end counts only if that is wanted."""
        reaches_end = end_offset >= self.log_end_offset
        return [note._replace(is_damage=note.is_damage and reaches_end) for note in self.notes]

    def end_of(self, slot: int) -> int:
        """The offset at which the segment in this slot ends: where the next begins, or the log's end."""
        if slot + 1 < len(self.segments):
            return min(self.segments[slot + 1].base_offset, self.log_end_offset)
        return self.log_end_offset

    def end_position(self, slot: int, log: ReadableFile) -> int:
        """Where the batches of the segment in this slot end in its open file."""
        if self.tail is not None and slot + 1 == len(self.segments):
            return self.tail.position
        return log.size()

    def first_slot(self) -> int:
        """The slot of the segment that holds the log start offset."""
        below = sum(segment.base_offset <= self.log_start_offset for segment in self.segments)
        return max(below - 1, 0)


def take_snapshot(files: PartitionFiles, patience: WriterPatience | None = None) -> PartitionSnapshot:
    """Look at a partition. Files that went away since they were listed are looked for in a new listing."""
    return retrying(files, partial(look_at, patience=patience))


class ListingRetries:
    """Whether to list a folder again whose files went away before they could be read.

    A cleaner that never rests renames and deletes for ever, and each time something else: that is followed up to a
    deadline. Where listings stay the same a file that cannot be opened is given up after some tries.
    """

    def __init__(self, seconds: float = _CHASE_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self.listings = 0
        self._now = now
        self._end = now() + seconds
        self._last: object = None
        self._same = 0

    def goes_on(self, listing: object) -> bool:
        """Whether to try what a new listing shows."""
        self.listings += 1
        self._same = self._same + 1 if listing == self._last else 0
        self._last = listing
        return self._same < LOOKS and self._now() < self._end


def retrying(files: PartitionFiles, look: Callable[[PartitionFiles], Value]) -> Value:
    """What `look` finds, with a new listing each time when a listed file is gone."""
    chase = ListingRetries()
    while True:
        try:
            return look(files)
        except FileNotFoundError as error:
            files = relisted(files)
            if not chase.goes_on((files.segments, files.others)):
                gone = f"{error.filename} went away while it was read; {chase.listings} listings did not help"
                raise ScanError(f"{files.location}: {gone}") from error


def until_settled(look: Callable[[bool], tuple[Value, Iterable[Root]]]) -> Value:
    """What `look` finds in all partitions of some roots, once no commit of several partitions came in between.

    It is told whether it looks again, and has to list anew.
    """
    found, roots = look(False)
    for _ in range(_COMMITS - 1):
        moved = [root.has_committed() for root in roots]
        if not any(moved):
            break
        found, roots = look(True)
    return found


def relisted(files: PartitionFiles) -> PartitionFiles:
    """The same place, listed anew."""
    try:
        if files.whole:
            return read_partition(files.root, files.location, files.folder)
        names = [SegmentFile(segment.base_offset, FileKind.LOG, segment.transient) for segment in files.segments]
        return read_segments(files.root, files.location, files.folder, names)
    except (FileNotFoundError, NotADirectoryError):
        raise ScanError(f"{files.location}: it was deleted or renamed while it was read") from None


def look_at(files: PartitionFiles, patience: WriterPatience | None = None) -> PartitionSnapshot:
    """A snapshot of these files; FileNotFoundError where one of them is gone."""
    listed = effective_segments(files)
    first = listed[0].base_offset if listed else 0
    checkpointed = files.root.log_start_offsets().get(files.topic_partition, 0) if files.whole else 0
    log_start_offset = max(checkpointed, first)
    pending_start = files.root.pending_starts().get(files.topic_partition) if files.whole else None
    segments, tail, failure = _readable(files, listed, patience)
    # A log reaches to its last segment, even if that cannot be read. One that ends below its checkpointed start has
    # nothing to read: a broker would begin it anew there.
    log_end_offset = max(tail.next_offset if tail else 0, listed[-1].base_offset if listed else 0, log_start_offset)
    if pending_start is not None:
        log_end_offset = max(min(log_end_offset, pending_start), log_start_offset)
    high_watermark = files.root.high_watermarks().get(files.topic_partition)
    if high_watermark is not None:
        high_watermark = min(max(high_watermark, log_start_offset), log_end_offset)
    notes = _tail_note(files, segments, tail)
    return PartitionSnapshot(files, segments, log_start_offset, log_end_offset, high_watermark, tail, notes, failure)


def effective_segments(files: PartitionFiles) -> tuple[ListedSegment, ...]:
    """The segments that a broker would have after its start: complete `.swap` files take the place of their range.

    A `.swap` file is complete, but one behind a `.cleaned` file belongs to a split that was not finished. What has such
    a name and is not a file (a folder, a FIFO) is passed over.
    """
    swaps = tuple(swap for swap in files.transient_segments(Transient.SWAP) if swap.log.size != UNKNOWN_SIZE)
    if not swaps or not files.whole:
        return files.segments
    cleaned = files.transient_segments(Transient.CLEANED)
    swaps = tuple(swap for swap in swaps if not cleaned or swap.base_offset < cleaned[0].base_offset)
    if not swaps:
        return files.segments
    start = swaps[0].base_offset
    end = max(read_tail(files, swap).next_offset for swap in swaps)
    kept = [segment for segment in files.segments if not start <= segment.base_offset < end]
    # An empty swap ends where it begins; a plain segment of the same name gives way to it all the same.
    bases = {swap.base_offset for swap in swaps}
    kept = [segment for segment in kept if segment.base_offset not in bases]
    return tuple(sorted([*kept, *swaps], key=lambda segment: segment.base_offset))


def _readable(
    files: PartitionFiles, segments: tuple[ListedSegment, ...], patience: WriterPatience | None
) -> tuple[tuple[ListedSegment, ...], SegmentTail | None, OSError | None]:
    """The segments up to the last one that can be read, where that ends, and why those behind it cannot be read."""
    failure: OSError | None = None
    while segments:
        try:
            return segments, read_tail(files, segments[-1], patience), failure
        except FileNotFoundError:
            raise
        except OSError as error:
            if len(segments) == 1:
                raise  # nothing of the partition can be read
            failure = failure or error
            segments = segments[:-1]
    return segments, None, failure


def _tail_note(
    files: PartitionFiles, segments: tuple[ListedSegment, ...], tail: SegmentTail | None
) -> tuple[Note, ...]:
    problem = tail.problem() if tail is not None else None
    if tail is None or problem is None:
        return ()
    where = (
        f"the log ends at position {tail.position}, offset {tail.next_offset}; {tail.unread_bytes} bytes are not read"
    )
    return (Note(str(files.path(segments[-1])), f"{problem}: {where}", tail.is_damaged),)
