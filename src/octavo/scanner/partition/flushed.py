"""Whether a log still has what was flushed to it: a log cut at the end of a batch looks whole, but a checkpoint may say
that it reached further.

A broker flushes a log before it writes the recovery point, and writes a lower one after a truncation. So a log that
ends below its recovery point has lost records, unless it changed while the two were read: hence the second look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

from octavo.errors import ScanError
from octavo.format.names import RECOVERY_POINT_CHECKPOINT, FolderState
from octavo.scanner.findings import Note
from octavo.scanner.partition.snapshot import PartitionSnapshot, relisted, take_snapshot
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.root import Root


class MissingEnd(NamedTuple):
    """Offsets that were flushed and are gone: from the end of the log up to its recovery point."""

    end_offset: int
    recovery_point: int

    @classmethod
    def of(cls, end_offset: int, recovery_point: int | None) -> Self | None:
        """What is missing from a log that ends at an offset; None if nothing is, or the recovery point is unknown."""
        return None if recovery_point is None or recovery_point <= end_offset else cls(end_offset, recovery_point)

    @property
    def last_offset(self) -> int:
        return self.recovery_point - 1

    def __str__(self) -> str:
        one = self.end_offset == self.last_offset
        offsets = f"offset {self.end_offset} is" if one else f"offsets {self.end_offset} to {self.last_offset} are"
        return f"ends at offset {self.end_offset}, but was flushed up to {self.recovery_point}: {offsets} missing"


def missing_end(snapshot: PartitionSnapshot, patience: WriterPatience | None = None) -> MissingEnd | None:
    """What is missing at a log's end according to its recovery point, also on a second look; None if nothing is."""
    files, tail = snapshot.files, snapshot.tail
    if not files.whole or files.folder.state is not FolderState.CURRENT or snapshot.failure is not None:
        return None  # single segments, a log that is not in use, or one whose end cannot be read, which is reported
    point = files.root.offsets(RECOVERY_POINT_CHECKPOINT).get(files.topic_partition)
    end_offset = max(tail.next_offset if tail is not None else 0, snapshot.log_start_offset)
    missing = MissingEnd.of(end_offset, point)
    if missing is None:
        return None

    def point_now() -> int | None:
        return Root(files.root.location).offsets(RECOVERY_POINT_CHECKPOINT).get(files.topic_partition)

    return missing if stays_below(files, missing.recovery_point, point_now, patience) else None


def missing_end_note(snapshot: PartitionSnapshot, missing: MissingEnd) -> Note:
    """The note on what is missing; it is not damage if a note on the log's end already is."""
    is_known = any(note.is_damage for note in snapshot.notes)
    return Note(str(snapshot.files.location), str(missing), is_damage=not is_known)


def stays_below(
    files: PartitionFiles, offset: int, claimed_now: Callable[[], int | None], patience: WriterPatience | None = None
) -> bool:
    """Whether a log still ends below an offset that a file claims it has reached.

    False if the file no longer says so (it describes a later state), the log has reached it, or the partition is gone.
    `claimed_now` reads the file again, always before the log is listed, since a log is written first. A truncation
    shortens the log before its checkpoint: if the log was changed recently, its writer gets some time.
    """
    patience = patience or WriterPatience()
    for _ in range(LOOKS):
        if claimed_now() != offset:
            return False
        try:
            snapshot = take_snapshot(relisted(files))
            tail = snapshot.tail
            if tail is not None and tail.next_offset >= offset:
                return False
            if not tail or not patience.is_recent(snapshot.files.path(snapshot.segments[-1]).entry()):
                return True
        except (ScanError, FileNotFoundError):
            return False
        patience.pause()
    return True
