"""A snapshot of one partition: its segments, the first readable offset, and where it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from octavo.errors import ScanError
from octavo.format.names import (
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    FileKind,
    SegmentFile,
    Transient,
)
from octavo.scanner.findings import Note
from octavo.scanner.partition.tail import LOOKS, SegmentTail, WriterPatience, read_tail
from octavo.scanner.places.files import ListedSegment, PartitionFiles, read_partition, read_segments
from octavo.scanner.places.location import UNKNOWN_SIZE, ReadableFile
from octavo.scanner.places.root import Root

if TYPE_CHECKING:
    from octavo.scanner.partition.transactions import PartitionTransactions

_COMMITS = 5  # after this many looks the result is used, even if a commit interrupted the last one too
_RETRY_SECONDS = 30.0

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """A partition at one moment. What a broker appends later begins at `log_end_offset`."""

    files: PartitionFiles
    segments: tuple[ListedSegment, ...]  # the segments that a broker would read, by base offset
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None  # from the checkpoint, limited by the two above; None if it has no entry
    tail: SegmentTail | None  # of the last segment; None if there are no segments
    notes: tuple[Note, ...] = ()
    failure: OSError | None = None  # why the last segment, which is not in `segments`, cannot be read
    transactions: PartitionTransactions | None = None  # only for read_committed

    @property
    def readable_end(self) -> int:
        """The log end offset; for read_committed, the last stable offset."""
        return self.log_end_offset if self.transactions is None else self.transactions.last_stable_offset

    def notes_up_to(self, end_offset: int) -> list[Note]:
        """The notes for a reader up to an offset: damage at the end of the log counts only if the reader gets that
        far."""
        reaches_end = end_offset >= self.log_end_offset
        notes = [note._replace(is_damage=note.is_damage and reaches_end) for note in self.notes]
        return notes if self.transactions is None else [*notes, *self.transactions.notes]

    def end_of(self, slot: int) -> int:
        """The offset at which the segment in this slot ends: the next one's base offset, or the end of the log."""
        if slot + 1 < len(self.segments):
            return min(self.segments[slot + 1].base_offset, self.log_end_offset)
        return self.log_end_offset

    def batches_end(self, slot: int, log: ReadableFile | None = None) -> int:
        """Where the batches of the segment in this slot end: in the last one at its tail, after which zeros may follow,
        in others at the end of the file, open or as it was listed."""
        if self.tail is not None and slot + 1 == len(self.segments):
            return self.tail.position
        return self.segments[slot].log.size if log is None else log.size()

    def slot_of(self, offset: int) -> int:
        """The slot of the segment that holds an offset; the first one if the offset lies before it."""
        return max(sum(segment.base_offset <= offset for segment in self.segments) - 1, 0)


def take_snapshot(files: PartitionFiles, patience: WriterPatience | None = None) -> PartitionSnapshot:
    """Look at a partition. If files disappeared since they were listed, it is listed again."""
    return retrying(files, partial(look_at, patience=patience))


class ListingRetries:
    """Decides whether to list a folder again after its files disappeared before they could be read.

    A busy cleaner may rename and delete other files each time, so changing listings are followed up to a deadline. If
    the listings stay the same, the file cannot be opened at all, and a few tries are enough.
    """

    def __init__(self, seconds: float = _RETRY_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self.listings = 0
        self._now = now
        self._end = now() + seconds
        self._last: object = None
        self._same = 0

    def goes_on(self, listing: object) -> bool:
        """Whether to try again with a new listing."""
        self.listings += 1
        self._same = self._same + 1 if listing == self._last else 0
        self._last = listing
        return self._same < LOOKS and self._now() < self._end


def retrying(files: PartitionFiles, look: Callable[[PartitionFiles], _Value]) -> _Value:
    """The result of `look`, which is repeated with a new listing if a listed file is gone."""
    retries = ListingRetries()
    while True:
        try:
            return look(files)
        except FileNotFoundError as error:
            files = relisted(files)
            if not retries.goes_on((files.segments, files.others)):
                gone = (
                    f"{error.filename} disappeared while it was read, and {retries.listings} new listings did not help"
                )
                raise ScanError(f"{files.location}: {gone}") from error


def until_settled(look: Callable[[bool], tuple[_Value, Iterable[Root]]]) -> _Value:
    """The result of `look` over partitions of some roots, repeated while commits to several partitions interrupt it.

    After `_COMMITS` looks the result is used as it is. The argument of `look` says whether it is being repeated: then
    it must list again.
    """
    result, roots = look(False)
    for _ in range(_COMMITS - 1):
        moved = [root.has_committed() for root in {peer for root in roots for peer in root.node}]
        if not any(moved):
            break
        result, roots = look(True)
    return result


def relisted(files: PartitionFiles) -> PartitionFiles:
    """The same partition, listed again."""
    try:
        if files.whole:
            return read_partition(files.root, files.location, files.folder)
        names = [SegmentFile(segment.base_offset, FileKind.LOG, segment.transient) for segment in files.segments]
        return read_segments(files.root, files.location, files.folder, names)
    except (FileNotFoundError, NotADirectoryError):
        raise ScanError(f"{files.location}: deleted or renamed while it was read") from None


def look_at(
    files: PartitionFiles, patience: WriterPatience | None = None, *, is_committed: bool = False
) -> PartitionSnapshot:
    """A snapshot of these files, with transactions if `is_committed`; FileNotFoundError if one of them is gone."""
    listed = effective_segments(files)
    first = listed[0].base_offset if listed else 0
    checkpointed = files.root.offsets(LOG_START_OFFSET_CHECKPOINT).get(files.topic_partition, 0) if files.whole else 0
    log_start_offset = max(checkpointed, first)
    pending_start = files.root.pending_starts().get(files.topic_partition) if files.whole else None
    segments, tail, failure = _readable(files, listed, patience)
    # A log reaches at least to its last segment's base offset, even if that segment is unreadable. A log that ends
    # below its checkpointed start has nothing to read: a broker would start it again there.
    log_end_offset = max(tail.next_offset if tail else 0, listed[-1].base_offset if listed else 0, log_start_offset)
    if pending_start is not None:
        log_end_offset = max(min(log_end_offset, pending_start), log_start_offset)
    high_watermark = files.root.offsets(REPLICATION_OFFSET_CHECKPOINT).get(files.topic_partition)
    if high_watermark is not None:
        high_watermark = min(max(high_watermark, log_start_offset), log_end_offset)
    notes = _tail_note(files, segments, tail)
    found = PartitionSnapshot(files, segments, log_start_offset, log_end_offset, high_watermark, tail, notes, failure)
    if not is_committed:
        return found
    from octavo.scanner.partition.transactions import read_transactions  # it loads the decoder of markers

    return replace(found, transactions=read_transactions(found))


def effective_segments(files: PartitionFiles) -> tuple[ListedSegment, ...]:
    """The segments that a broker would have after its start: `.swap` files replace the segments in their range.

    A `.swap` file does not count if its offset is not below that of the first `.cleaned` file: its swap was not decided
    yet. A folder or FIFO with such a name is ignored.
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
    # An empty swap has no range, but it still replaces a plain segment of the same name.
    bases = {swap.base_offset for swap in swaps}
    kept = [segment for segment in kept if segment.base_offset not in bases]
    return tuple(sorted([*kept, *swaps], key=lambda segment: segment.base_offset))


def _readable(
    files: PartitionFiles, segments: tuple[ListedSegment, ...], patience: WriterPatience | None
) -> tuple[tuple[ListedSegment, ...], SegmentTail | None, OSError | None]:
    """The segments up to the last readable one, where that one ends, and why those after it cannot be read."""
    failure: OSError | None = None
    while segments:
        try:
            return segments, read_tail(files, segments[-1], patience), failure
        except FileNotFoundError:
            raise
        except OSError as error:
            if len(segments) == 1:
                raise  # nothing in the partition can be read
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
