"""Reads the batches of a task, chunk by chunk, wherever its files are by now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from octavo.errors import CorruptRecordError, ScanError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import broken
from octavo.format.batches.walker import STOP_TEXTS
from octavo.format.names import PartitionFolder
from octavo.kernels.layout import BROKEN, Stop
from octavo.scanner.damage.resync import next_sound_position
from octavo.scanner.damage.salvage import walk_into
from octavo.scanner.findings import ScanFindings
from octavo.scanner.partition.index_files import hint_for, sound_position_after
from octavo.scanner.partition.snapshot import ListingRetries, effective_segments
from octavo.scanner.places.files import ListedSegment, PartitionFiles, read_partition
from octavo.scanner.places.location import ReadableFile
from octavo.scanner.places.root import Root
from octavo.scanner.places.segment_log import first_offset_at, follow
from octavo.scanner.reading.plan import ReadTask, SegmentRange


class Source:
    """Reads a task's ranges in order; `next_offset` is the next offset to read.

    A file that was renamed for deletion is read under its new name. If a file is gone, or is not the planned one
    (compaction replaces files), reading continues by offset in a new listing. A task without ranges is read by offset
    from the start.
    """

    def __init__(self, task: ReadTask, findings: ScanFindings) -> None:
        self.task = task
        self.next_offset = task.start_offset
        self._passed_offset = 0  # after the last sound batch read from the open file, or where its range begins
        self._findings = findings

    def __iter__(self) -> Iterator[Chunk]:
        for part in self.task.ranges:
            if self.next_offset >= part.end_offset:
                continue
            location = self.task.folder.child(part.name)
            try:
                log = follow(location)
            except FileNotFoundError:
                yield from self._relocated(part.end_offset)
                continue
            except OSError as error:
                self._findings.unreadable(location, error)
                continue
            with log:
                yield from self._walk(log, part if _is_planned(log, part) else self._replanned(log, part))
        if not self.task.ranges:
            yield from self._relocated(self.task.end_offset)

    def _walk(self, log: ReadableFile, part: SegmentRange) -> Iterator[Chunk]:
        location, self._passed_offset = self.task.folder.child(part.name), part.first_offset
        while True:
            stop, stop_position, read_to = Stop.END, part.end, part.start
            try:
                for chunk in walk_into(log, part.start, part.end, self._passed_offset, str(location)):
                    yield chunk
                    self._pass(chunk)
                    if self.next_offset >= part.end_offset:
                        return
                    read_to = chunk.stop_position
                    if chunk.stop is not None:
                        stop, stop_position = chunk.stop, chunk.stop_position
            except OSError as error:
                self._findings.unreadable(location, error, read_to)
                resumed = self._sound_after(log, part, read_to)
            else:
                size = log.size()
                if stop is Stop.END and size == part.size:
                    return  # after compaction, there may be no batch for the last offsets of a range
                if size > part.end and stop is not Stop.SIZE_TOO_SMALL:
                    resumed, part = stop_position, replace(part, end=size, size=size)  # another file, or it has grown
                elif size < part.size:
                    self._findings.loss(location, f"truncated while it was read, at offset {self.next_offset}")
                    return
                else:
                    resumed = self._resumed(log, part, stop, stop_position)
            if resumed is None:
                return
            part = replace(part, start=resumed)

    def _pass(self, chunk: Chunk) -> None:
        summary, last_offset = chunk.summary, chunk.summary.last_offset
        if summary.flaws & BROKEN or not summary.ascending:
            sound = chunk.table[~broken(chunk.table)]
            last_offset = int(last_offsets(sound).max()) if len(sound) else -1
        self._passed_offset = max(self._passed_offset, last_offset + 1)
        self.next_offset = max(self.next_offset, last_offset + 1)

    def _resumed(self, log: ReadableFile, part: SegmentRange, stop: Stop, position: int) -> int | None:
        """Where a sound batch begins after the damage that ended a walk. Damage among wanted batches is reported."""
        try:
            resumed = next_sound_position(log, position + 1, part.end, self._passed_offset)
        except OSError:
            resumed = self._sound_after(log, part, position)
        first_offset = None if resumed is None else first_offset_at(log, resumed, part.end)
        if first_offset is None or first_offset > self.task.start_offset:
            problem = f"{STOP_TEXTS.get(stop, 'the end of the file')} after offset {self.next_offset - 1}"
            expected = f"expected batches up to offset {part.end_offset - 1}"
            path = str(self.task.folder.child(part.name))
            self._findings.damage(CorruptRecordError(f"{problem}, {expected}", position=position, path=path))
        return resumed

    def _sound_after(self, log: ReadableFile, part: SegmentRange, position: int) -> int | None:
        files, segment = self._listed(part.name)
        return None if segment is None else sound_position_after(files, segment, log, position)

    def _replanned(self, log: ReadableFile, part: SegmentRange) -> SegmentRange:
        """Where the offsets of a range may be in a file that is not the planned one."""
        files, segment = self._listed(part.name)
        start = 0 if segment is None else hint_for(files, segment, log, self.next_offset)
        size = log.size()
        return replace(part, start=start, end=size, size=size, first_offset=0)

    def _listed(self, name: str) -> tuple[PartitionFiles, ListedSegment | None]:
        files = self._listing()
        return files, next((segment for segment in files.segments if segment.name() == name), None)

    def _listing(self) -> PartitionFiles:
        folder = self.task.folder
        try:
            return read_partition(Root(folder.parent), folder, PartitionFolder(self.task.topic, self.task.partition))
        except (FileNotFoundError, NotADirectoryError):
            raise ScanError(f"{folder}: deleted or renamed while it was read") from None

    def _relocated(self, end_offset: int) -> Iterator[Chunk]:
        """The batches up to an offset, from the segments that exist now."""
        retries = ListingRetries()
        while retries.goes_on(((files := self._listing()).segments, files.others, self.next_offset)):
            try:
                yield from self._from_listing(files, end_offset)
                return
            except FileNotFoundError:
                continue
        gone = f"files disappeared while they were read, and {retries.listings} new listings did not help"
        raise ScanError(f"{self.task.folder}: {gone}")

    def _from_listing(self, files: PartitionFiles, end_offset: int) -> Iterator[Chunk]:
        segments = effective_segments(files)
        first = segments[0].base_offset if segments else end_offset
        if first > self.next_offset:
            lost = f"offsets {self.next_offset} to {min(first, end_offset) - 1} were deleted while they were read"
            self._findings.loss(self.task.folder, lost)
            self.next_offset = first
        for slot, segment in enumerate(segments):
            following = segments[slot + 1].base_offset if slot + 1 < len(segments) else end_offset
            if following <= self.next_offset or segment.base_offset >= end_offset:
                continue
            with files.path(segment).open() as log:
                start, size = hint_for(files, segment, log, self.next_offset), log.size()
                end = min(following, end_offset)
                yield from self._walk(log, SegmentRange(segment.name(), start, size, size, segment.base_offset, end))


def _is_planned(log: ReadableFile, part: SegmentRange) -> bool:
    """Whether the file can be the planned one: it is not shorter, and the range begins with the same batch (unchecked
    at the start of the file)."""
    size = log.size()
    return size >= part.size and (part.start == 0 or first_offset_at(log, part.start, size) == part.first_offset)
