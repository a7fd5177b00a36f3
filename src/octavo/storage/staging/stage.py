"""Stages finished batches in files: in the partition's folder or, before it exists, in a log directory's root."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.format.batches.batch_run import RunFacts
from octavo.format.names import StagedFile, TopicPartition
from octavo.system.filesystem import File, FileSystem

if TYPE_CHECKING:
    from typing_extensions import Buffer


# A task may write to more partitions than it may have files open; beyond this number, further files are reopened for
# each append.
_MOST_OPEN_FILES = 128


def writer_key(writer: str) -> str:
    """The part of a staged file's name that identifies its writer."""
    return hashlib.sha256(writer.encode("utf-8")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class StagedPart:
    """A staged file, and what a commit must know about its batches. Picklable: tasks send it to the committer."""

    topic: str
    partition: int
    name: str
    facts: RunFacts
    partitions: int | None = None  # of the topic, if it has to be created first

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class StagingPlace:
    """Where a partition's batches are staged: in its folder or, before it exists, in the log directory's root."""

    topic_partition: TopicPartition
    folder: Path
    segment_bytes: int
    partitions: int | None = None  # of the topic, if it has to be created first


@dataclass(slots=True)
class _Open:
    """The file that currently receives a partition's batches."""

    place: StagingPlace
    name: str
    facts: RunFacts = field(default_factory=RunFacts)
    file: File | None = None

    @property
    def path(self) -> Path:
        return self.place.folder / self.name


class Stage:
    """The files of one attempt at a task; not thread-safe. Attempts share no files, so any of them may die.

    1. `append` writes batches to new files with unique names. 2. `finish` syncs the files, then their folders. Nothing
    else knows the files until a commit names them; after a crash the sweep removes them.
    """

    def __init__(self, filesystem: FileSystem, writer: str, attempt: str) -> None:
        self._filesystem = filesystem
        self._writer = writer_key(writer)
        self._attempt = attempt
        self._count = 0
        self._open: dict[TopicPartition, _Open] = {}
        self._full: list[_Open] = []

    def append(self, place: StagingPlace, data: Buffer, facts: RunFacts) -> None:
        """Append batches for a partition, to a new file if the current one would grow larger than a segment may be."""
        current = self._open.get(place.topic_partition)
        if current is not None and current.facts.size + facts.size > place.segment_bytes:
            current.file = None
            self._full.append(self._open.pop(place.topic_partition))
            current = None
        if current is None:
            name = StagedFile(self._writer, self._attempt, self._count).name
            current = self._open[place.topic_partition] = _Open(place, name)
            self._count += 1
        file = current.file or self._filesystem.open(current.path, create=True)
        file.pwrite(data, current.facts.size)
        current.facts = current.facts + facts
        if len(self._open) <= _MOST_OPEN_FILES:
            current.file = file

    def finish(self) -> list[StagedPart]:
        """Sync everything; returns the files, each partition's in the order of their batches."""
        staged = [*self._full, *self._open.values()]
        for file in staged:
            (file.file or self._filesystem.open(file.path)).fsync()
        for folder in sorted({file.place.folder for file in staged}):
            self._filesystem.fsync_folder(folder)
        return [
            StagedPart(*file.place.topic_partition, file.name, replace(file.facts), file.place.partitions)
            for file in staged
        ]

    def abandon(self) -> None:
        """Remove the files of a failed attempt."""
        for file in (*self._full, *self._open.values()):
            self._filesystem.unlink(file.path)
