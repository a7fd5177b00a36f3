"""The files of one partition, by name, size and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from octavo.errors import CorruptionError
from octavo.format.names import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    FileKind,
    PartitionFolder,
    SegmentFile,
    TopicPartition,
    Transient,
)
from octavo.format.small_files import leader_epochs, partition_metadata
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.scanner.findings import Note
from octavo.scanner.places.location import UNKNOWN_SIZE, Entry, Location
from octavo.scanner.places.root import Root, read_small


class FileStat(NamedTuple):
    """A file's size and time in a listing; what is not a regular file has `UNKNOWN_SIZE`."""

    size: int
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class ListedSegment:
    """A segment's log file, and those of its index files that exist. With `transient`, all names have that suffix."""

    base_offset: int
    log: FileStat
    offset_index: FileStat | None = None
    time_index: FileStat | None = None
    txn_index: FileStat | None = None
    transient: Transient = Transient.NONE

    def name(self, kind: FileKind = FileKind.LOG) -> str:
        return SegmentFile(self.base_offset, kind, self.transient).name


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """A partition's folder as listed once; a broker may roll, rename and delete files at any time."""

    root: Root
    location: Location
    folder: PartitionFolder
    segments: tuple[ListedSegment, ...]  # by base offset
    snapshots: dict[int, FileStat]  # producer snapshots by ascending offset
    others: dict[str, FileStat]  # all else: small files, .deleted, .cleaned, .swap, unknown names
    whole: bool = True  # False: single segment files were given, not the partition

    @property
    def topic_partition(self) -> TopicPartition:
        return self.folder.topic_partition

    def path(self, segment: ListedSegment, kind: FileKind = FileKind.LOG) -> Location:
        """Where a segment's file is."""
        return self.location.child(segment.name(kind))

    def transient_segments(self, transient: Transient) -> tuple[ListedSegment, ...]:
        """The segments with this suffix, which are being added or removed."""
        parsed = ((SegmentFile.parse(name), stat) for name, stat in self.others.items())
        return _segments((file, stat) for file, stat in parsed if file is not None and file.transient is transient)

    def topic_id(self) -> bytes | None:
        """The topic id from partition.metadata; None without that file (before 2.8). Raises if it is damaged."""
        data = read_small(self.location.child(PARTITION_METADATA), partition_metadata.decode)
        return data.topic_id if data is not None else None

    def topic_id_or_note(self, notes: list[Note], consequence: str = "") -> bytes | None:
        """`topic_id`, but instead of the error a note, which ends with the consequence."""
        try:
            return self.topic_id()
        except CorruptionError as error:
            notes.append(Note(error.path or "", f"not read: {error.problem}{consequence}"))
            return None

    def leader_epochs(self) -> list[EpochEntry]:
        """The entries of leader-epoch-checkpoint; empty without that file. Raises if it is damaged."""
        return read_small(self.location.child(LEADER_EPOCH_CHECKPOINT), leader_epochs.decode) or []


def snapshot_path(folder: Location, offset: int) -> Location:
    """Where the snapshot of the producers' state as of an offset is."""
    return folder.child(SegmentFile(offset, FileKind.PRODUCER_SNAPSHOT).name)


def read_partition(root: Root, location: Location, folder: PartitionFolder) -> PartitionFiles:
    return from_entries(root, location, folder, location.list())


def from_entries(root: Root, location: Location, folder: PartitionFolder, entries: Iterable[Entry]) -> PartitionFiles:
    """The partition whose folder holds these entries."""
    current: list[tuple[SegmentFile, FileStat]] = []
    snapshots: dict[int, FileStat] = {}
    others: dict[str, FileStat] = {}
    for entry in entries:
        file = SegmentFile.parse(entry.name)
        stat = FileStat(UNKNOWN_SIZE if entry.is_folder else entry.size, entry.mtime_ms)
        if file is None or file.transient:
            others[entry.name] = stat
        elif file.kind is FileKind.PRODUCER_SNAPSHOT:
            snapshots[file.base_offset] = stat
        else:
            current.append((file, stat))
    segments = _segments(current)
    known = {segment.base_offset for segment in segments}
    others.update((file.name, stat) for file, stat in current if file.base_offset not in known)
    return PartitionFiles(root, location, folder, segments, dict(sorted(snapshots.items())), others)


def read_segments(
    root: Root, location: Location, folder: PartitionFolder, names: Sequence[SegmentFile]
) -> PartitionFiles:
    """A partition of which single segment files were given, perhaps with a transient suffix."""
    files = read_partition(root, location, folder)
    listed = {Transient.NONE: files.segments}
    wanted = []
    for name in names:
        if name.transient not in listed:
            listed[name.transient] = files.transient_segments(name.transient)
        wanted += [segment for segment in listed[name.transient] if segment.base_offset == name.base_offset]
    return replace(files, segments=tuple(wanted), whole=False)


def _segments(files: Iterable[tuple[SegmentFile, FileStat]]) -> tuple[ListedSegment, ...]:
    """The segments that have a log file; an index without one is not a segment."""
    by_base: dict[int, dict[FileKind, FileStat]] = {}
    transient = Transient.NONE
    for file, stat in files:
        by_base.setdefault(file.base_offset, {})[file.kind] = stat
        transient = file.transient
    return tuple(
        ListedSegment(
            base_offset,
            kinds[FileKind.LOG],
            kinds.get(FileKind.OFFSET_INDEX),
            kinds.get(FileKind.TIME_INDEX),
            kinds.get(FileKind.TXN_INDEX),
            transient,
        )
        for base_offset, kinds in sorted(by_base.items())
        if FileKind.LOG in kinds
    )
