"""Lists a log directory, a partition's folder or a segment file: its partitions and their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from octavo.errors import CorruptionError, ScanError
from octavo.format.names import (
    REMOTE_LOG_INDEX_CACHE,
    FileKind,
    FolderState,
    PartitionFolder,
    SegmentFile,
    TopicPartition,
)
from octavo.scanner.findings import Note
from octavo.scanner.places.files import FileStat, PartitionFiles, from_entries, read_partition, read_segments
from octavo.scanner.places.location import UNKNOWN_SIZE, Entry, Location, printable
from octavo.scanner.places.root import Root
from octavo.system.os_errors import described

Wanted = Callable[[TopicPartition], bool]


@dataclass(frozen=True, slots=True)
class Directory:
    """One listing of a place, with the files of the partitions that were wanted, or given as the place."""

    place: Location  # as the caller gave it
    root: Root
    partitions: dict[TopicPartition, PartitionFiles]
    not_current: list[PartitionFiles] = field(default_factory=list)  # -delete, -future and -stray folders
    files: dict[str, FileStat] = field(default_factory=dict)  # in the root
    single: bool = False  # the place is a partition's folder, or a segment file
    topic_partitions: set[TopicPartition] = field(default_factory=set)  # all current ones, wanted or not
    unknown: list[str] = field(default_factory=list)  # folders in the root that do not belong to a partition
    notes: list[Note] = field(default_factory=list)
    unreadable: dict[TopicPartition, OSError] = field(default_factory=dict)  # current partitions; notes name them too

    @property
    def topics(self) -> set[str]:
        return {topic_partition.topic for topic_partition in self.topic_partitions}


def read_directory(location: Location, wanted: Wanted | None = None) -> Directory:
    """List a log directory (folders `<topic>-<partition>`), one partition's folder, or one segment file.

    In a log directory only the folders of wanted partitions are listed; one that vanishes meanwhile is left out.
    """
    try:
        entry = location.entry()
        entries = location.list() if entry.is_folder else []
    except (FileNotFoundError, NotADirectoryError):
        expected = "expected a log directory, a partition's folder or a segment file"
        raise ScanError(f"{location}: no such file or directory; {expected}") from None
    if entry.is_folder and not _is_partition(location.name, entries):
        return _log_directory(location, entries, wanted)
    place = location if entry.is_folder else location.parent
    directory = Directory(location, Root(place.parent), {}, single=True)
    folder = _folder(place, directory.notes)
    if entry.is_folder:
        files = from_entries(directory.root, place, folder, entries)
    else:
        files = read_segments(directory.root, place, folder, [_segment_name(location)])
    directory.partitions[files.topic_partition] = files
    directory.topic_partitions.add(folder.topic_partition)
    return directory


def _is_partition(name: str, entries: list[Entry]) -> bool:
    """Whether a folder is a partition's. A log directory may also be called `logs-1`, so the name decides only if the
    folder is empty."""
    if any(not entry.is_folder and SegmentFile.parse(entry.name) for entry in entries):
        return True
    return not entries and partition_folder(name) is not None


def _log_directory(location: Location, entries: list[Entry], wanted: Wanted | None) -> Directory:
    directory = Directory(location, Root(location), {})
    for entry in sorted(entries):
        folder = partition_folder(entry.name)
        if not entry.is_folder and (folder is None or entry.size != UNKNOWN_SIZE):
            directory.files[entry.name] = FileStat(entry.size, entry.mtime_ms)
        elif folder is not None:
            if folder.state is FolderState.CURRENT:
                directory.topic_partitions.add(folder.topic_partition)
            if wanted is None or wanted(folder.topic_partition):
                _add_partition(directory, location.child(entry.name), folder)
        elif entry.name != REMOTE_LOG_INDEX_CACHE:
            directory.unknown.append(entry.name)
    return directory


def _add_partition(directory: Directory, location: Location, folder: PartitionFolder) -> None:
    is_current = folder.state is FolderState.CURRENT
    try:
        files = read_partition(directory.root, location, folder)
    except (FileNotFoundError, NotADirectoryError):
        return  # deleted, or renamed for deletion, since the root was listed
    except OSError as error:
        directory.notes.append(
            Note(str(location), f"not read: {described(OSError(error.errno, error.strerror))}", is_damage=True)
        )
        if is_current:
            directory.unreadable[folder.topic_partition] = error
        return
    known = directory.partitions.get(folder.topic_partition)
    if not is_current:
        directory.not_current.append(files)
    elif known is not None:
        sentence = f"not read: {known.location.name} names the same partition"
        directory.notes.append(Note(str(files.location), sentence))
    else:
        directory.partitions[folder.topic_partition] = files


def partition_folder(name: str) -> PartitionFolder | None:
    """The partition that a folder's name stands for; None if it does not name a partition."""
    if not name.isascii():
        return None  # a topic's name is ASCII
    try:
        return PartitionFolder.parse(name)
    except CorruptionError:
        return None


def _folder(location: Location, notes: list[Note]) -> PartitionFolder:
    """Which partition a folder holds. Files that were copied elsewhere are read too, under the folder's name."""
    folder = partition_folder(location.name)
    if folder is None:
        folder = PartitionFolder(printable(location.name), 0)
        notes.append(Note(str(location), f"not a partition's name; read as partition 0 of a topic '{folder.topic}'"))
    return folder


def _segment_name(location: Location) -> SegmentFile:
    file = SegmentFile.parse(location.name)
    if file is None or file.kind is not FileKind.LOG:
        problem = "not a segment's log file, whose name is <20 digits>.log; `octavo explain` shows other files"
        raise ScanError(f"{location}: {problem}")
    return file
