"""Lists several places as one, such as a cluster's disks. If several have the same partition, the copy that reaches
furthest counts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note
from octavo.scanner.partition.snapshot import take_snapshot
from octavo.scanner.places.directory import Directory, Wanted, read_directory
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import LOCAL, Location, locate, printable
from octavo.scanner.places.root import make_one_node
from octavo.scanner.places.wrong_place import check_log_dir

Place = str | os.PathLike[str] | Location


@dataclass(frozen=True, slots=True)
class LogDirs:
    """The given places. `partitions` are those that were wanted, or were given themselves, and can be listed; sorted by
    topic and partition."""

    directories: tuple[Directory, ...]
    partitions: dict[TopicPartition, PartitionFiles]
    notes: tuple[Note, ...]

    def topic_partitions(self) -> set[TopicPartition]:
        """All current partitions, wanted or not, readable or not."""
        return {topic_partition for directory in self.directories for topic_partition in directory.topic_partitions}

    def topics(self) -> set[str]:
        return {topic_partition.topic for topic_partition in self.topic_partitions()}

    def unreadable(self) -> dict[TopicPartition, OSError]:
        """The wanted partitions that cannot be listed in any of the places."""
        return {
            topic_partition: error
            for directory in self.directories
            for topic_partition, error in directory.unreadable.items()
            if topic_partition not in self.partitions
        }

    def given(self) -> set[TopicPartition]:
        """The partitions whose folder or segment file was itself given as a place."""
        return {
            topic_partition
            for directory in self.directories
            if directory.single
            for topic_partition in directory.partitions
        }

    def root_notes(self) -> list[Note]:
        """The notes on files in the roots of the log directories, as far as they have been read."""
        return [note for directory in self.directories for note in directory.root.notes]

    def shown(self) -> str:
        """The places, as shown in messages."""
        return ", ".join(str(directory.place) for directory in self.directories)


def open_log_dirs(places: Place | Iterable[Place], wanted: Wanted | None = None) -> LogDirs:
    """List one or several log directories, partition folders or segment files; any other place is an error."""
    given: Sequence[Place] = [places] if isinstance(places, str | os.PathLike | Location) else list(places)
    if not given:
        raise ScanError("no place to read from: give at least one log directory")
    directories = [read_directory(location, wanted) for location in distinct(given)]
    for directory in directories:
        check_log_dir(directory)
    make_one_node([directory.root for directory in directories])
    return merge(directories)


def distinct(places: Iterable[Place]) -> list[Location]:
    """Each place once, by the first of its names."""
    locations: dict[str | Location, Location] = {}
    for location in map(locate, places):
        is_local = location.file_system == LOCAL
        locations.setdefault(os.path.realpath(location.path) if is_local else location, location)
    return list(locations.values())


def merge(directories: Sequence[Directory]) -> LogDirs:
    """The partitions of all directories; if several have the same one, the copy that reaches furthest, with a note."""
    copies: dict[TopicPartition, list[PartitionFiles]] = {}
    for directory in directories:
        for topic_partition, files in directory.partitions.items():
            _add(copies.setdefault(topic_partition, []), files)
    notes = [note for directory in directories for note in (*directory.notes, *_notes_on(directory))]
    chosen = {topic_partition: _furthest(copies[topic_partition], notes) for topic_partition in sorted(copies)}
    return LogDirs(tuple(directories), chosen, tuple(notes))


def _notes_on(directory: Directory) -> list[Note]:
    """Notes on a log directory that has no partition yet, and on folders whose names are not ASCII."""
    if directory.single:
        return []
    folders = [directory.place.child(name) for name in directory.unknown if not name.isascii()]
    notes = [Note(printable(str(folder)), "not read: topic names must be ASCII") for folder in folders]
    return notes if directory.topic_partitions else [*notes, no_partition(directory.place)]


def no_partition(place: Location) -> Note:
    """The note on a log directory that has no partition."""
    return Note(str(place), "a log directory without partitions")


def _add(copies: list[PartitionFiles], files: PartitionFiles) -> None:
    """Add a copy; single segment files from one folder together form one copy."""
    for slot, known in enumerate(copies):
        if known.location == files.location and not known.whole and not files.whole:
            segments = {segment.base_offset: segment for segment in (*files.segments, *known.segments)}
            copies[slot] = replace(known, segments=tuple(segments[base] for base in sorted(segments)))
            return
    copies.append(files)


def _furthest(copies: list[PartitionFiles], notes: list[Note]) -> PartitionFiles:
    """The copy with the largest log end offset; if several have it, the first one given."""
    if len(copies) == 1:
        return copies[0]
    ends = [_end_of(files) for files in copies]
    best = ends.index(max(ends))
    others = [f"{files.location} (to {ends[slot]})" for slot, files in enumerate(copies) if slot != best]
    sentence = f"read up to offset {ends[best]}; the partition is also in {', '.join(others)}"
    notes.append(Note(str(copies[best].location), sentence))
    return copies[best]


def _end_of(files: PartitionFiles) -> int:
    try:
        return take_snapshot(files).log_end_offset
    except (ScanError, OSError):
        return -1  # it disappeared, or nothing of it can be read
