"""Several places read as one: a cluster's disks. Of a partition found twice, the copy that reaches furthest is read."""

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

Place = str | os.PathLike[str] | Location


@dataclass(frozen=True, slots=True)
class LogDirs:
    """All partitions of the given places, sorted by topic and partition."""

    directories: tuple[Directory, ...]
    partitions: dict[TopicPartition, PartitionFiles]
    notes: tuple[Note, ...]

    def topics(self) -> set[str]:
        """All topics that are there, whether their partitions were wanted or not."""
        return {topic for directory in self.directories for topic in directory.topics}

    def unreadable(self) -> dict[TopicPartition, OSError]:
        """The partitions that are there, but cannot be listed in any of the places."""
        found = {
            topic_partition: error
            for directory in self.directories
            for topic_partition, error in directory.unreadable.items()
        }
        return {
            topic_partition: error for topic_partition, error in found.items() if topic_partition not in self.partitions
        }

    def given(self) -> set[TopicPartition]:
        """The partitions whose own folder or segment file was given as a place."""
        return {
            topic_partition
            for directory in self.directories
            if directory.single
            for topic_partition in directory.partitions
        }

    def shown(self) -> str:
        """The places, as a message names them."""
        return ", ".join(str(directory.place) for directory in self.directories)


def open_log_dirs(places: Place | Iterable[Place], wanted: Wanted | None = None) -> LogDirs:
    """List one or several log directories, partition folders or segment files."""
    given: Sequence[Place] = [places] if isinstance(places, str | os.PathLike | Location) else list(places)
    if not given:
        raise ScanError("no place to read from, expected at least one")
    return merge([read_directory(location, wanted) for location in distinct(given)])


def distinct(places: Iterable[Place]) -> list[Location]:
    """The places, each once, by the first of its names that was given."""
    found: dict[str, Location] = {}
    for location in map(locate, places):
        found.setdefault(_identity(location), location)
    return list(found.values())


def _identity(location: Location) -> str:
    """The same for all names of one place."""
    return os.path.realpath(location.path) if location.file_system == LOCAL else str(location)


def merge(directories: Sequence[Directory]) -> LogDirs:
    """The partitions of all directories; for one that several have, the furthest copy and a note that says so."""
    copies: dict[TopicPartition, list[PartitionFiles]] = {}
    for directory in directories:
        for topic_partition, files in directory.partitions.items():
            _add(copies.setdefault(topic_partition, []), files)
    notes = [note for directory in directories for note in (*directory.notes, *_not_there(directory))]
    chosen = {topic_partition: _furthest(copies[topic_partition], notes) for topic_partition in sorted(copies)}
    return LogDirs(tuple(directories), chosen, tuple(notes))


def _not_there(directory: Directory) -> list[Note]:
    """Who gives the wrong folder is to learn that it, or what is in it, is none of Kafka's, or a new one."""
    if directory.single:
        return []
    folders = [directory.place.child(name) for name in directory.unknown if not name.isascii()]
    notes = [Note(printable(str(folder)), "not read: no topic has such a name, expected ASCII") for folder in folders]
    return notes if directory.topics else [*notes, no_partition(directory.place)]


def no_partition(place: Location) -> Note:
    """What is said of a place that should be a log directory and has no partition."""
    return Note(str(place), "there is no partition, expected folders named <topic>-<partition>")


def _add(copies: list[PartitionFiles], files: PartitionFiles) -> None:
    """Add a copy; single segment files of one folder make one copy together."""
    for slot, known in enumerate(copies):
        if known.location == files.location and not known.whole and not files.whole:
            segments = {segment.base_offset: segment for segment in (*files.segments, *known.segments)}
            copies[slot] = replace(known, segments=tuple(segments[base] for base in sorted(segments)))
            return
    copies.append(files)


def _furthest(copies: list[PartitionFiles], notes: list[Note]) -> PartitionFiles:
    """The copy with the largest log end offset; of equal ones that which was given first."""
    if len(copies) == 1:
        return copies[0]
    ends = [_end_of(files) for files in copies]
    best = ends.index(max(ends))
    others = [f"{files.location} (to {ends[slot]})" for slot, files in enumerate(copies) if slot != best]
    sentence = f"read up to offset {ends[best]}; the partition is found again in {', '.join(others)}"
    notes.append(Note(str(copies[best].location), sentence))
    return copies[best]


def _end_of(files: PartitionFiles) -> int:
    try:
        return take_snapshot(files).log_end_offset
    except (ScanError, OSError):
        return -1  # it went away meanwhile, or nothing of it can be read
