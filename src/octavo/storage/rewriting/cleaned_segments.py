"""Segments that compaction or an upgrade writes as `.cleaned` files, and how they are swapped into their log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from octavo.config import LogConfig
from octavo.errors import CleaningAborted
from octavo.format.names import FileKind, SegmentFile, Transient
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.source import SourceSegment
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segment_files import KINDS
from octavo.system.clock import SystemClock
from octavo.system.filesystem import FileSystem


def create_cleaned(filesystem: FileSystem, folder: Path, base_offset: int, config: LogConfig) -> Segment:
    """Create a segment with the suffix `.cleaned`, after removing what an earlier run may have left."""
    remove_cleaned(filesystem, folder, [base_offset])
    return Segment(folder, base_offset, config, filesystem, SystemClock(), transient=Transient.CLEANED, create=True)


def finish_cleaned(segment: Segment, filesystem: FileSystem, mtime_ms: int) -> None:
    """Write the closing time index entry, trim, sync and close.

    The log file, the offset index and the time index get the modification time.
    """
    segment.close_out()
    segment.files.flush()
    for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        filesystem.set_mtime_ms(segment.files.path(kind), mtime_ms)
    segment.files.release()


def remove_cleaned(filesystem: FileSystem, folder: Path, base_offsets: Iterable[int]) -> None:
    """Remove the `.cleaned` files with these base offsets, if there are any."""
    for base_offset in base_offsets:
        for kind in KINDS:
            filesystem.unlink(folder / SegmentFile(base_offset, kind, Transient.CLEANED).name)


def swap_in(log: PartitionLog, old: Iterable[SourceSegment], base_offsets: Sequence[int], config: LogConfig) -> None:
    """Replace the old segments with the `.cleaned` ones, all or none (`swap` has the steps), under the log's lock.

    If an old segment has changed since it was read, the new ones are removed and CleaningAborted is raised.
    """
    filesystem = log.environment.filesystem
    with log.lock:
        log.make_certain("swap segments")
        known = {segment.base_offset: segment for segment in log.segments}
        replaced: list[Segment] = []
        for source in old:
            segment = known.get(source.base_offset)
            if segment is None or segment.size != source.size or segment is log.segments.active:
                remove_cleaned(filesystem, log.folder, base_offsets)
                problem = f"the segment at offset {source.base_offset} has changed meanwhile"
                raise CleaningAborted(f"{log.folder} was not rewritten: {problem}")
            replaced.append(segment)
        try:
            new = [
                Segment(log.folder, base, config, filesystem, SystemClock(), transient=Transient.CLEANED)
                for base in base_offsets
            ]
        except FileNotFoundError:
            raise CleaningAborted(f"{log.folder} was not rewritten: it was loaded again meanwhile") from None
        log.replace_segments(replaced, new)
