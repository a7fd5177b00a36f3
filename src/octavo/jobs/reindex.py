"""Rebuilds the offset and time indexes of segments from their logs, where the files are missing or differ.

A segment goes through these steps. A crash after any of them leaves each index either unchanged or rebuilt, never a
mixture.

1. `run` builds the indexes from the log in memory, and compares them with the files.
2. It writes those that differ to `<name>.tmp`, and syncs them. A broker ignores such files.
3. `commit` renames them into place, the offset index first.
4. It syncs the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from octavo.config import Given
from octavo.format.indexes import offset_index, time_index
from octavo.format.names import TEMPORARY_SUFFIX, FileKind, SegmentFile, TopicPartition
from octavo.scanner.places.directory import Directory
from octavo.storage.files.overlay import OverlayFileSystem
from octavo.storage.segment.build_index import IndexLimits, build_indexes
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.runner import TaskOutcome


@dataclass(frozen=True, slots=True)
class ReindexTask:
    """Rebuild the indexes of one segment. Picklable."""

    topic_partition: TopicPartition
    folder: Path
    base_offset: int
    size: int
    limits: IndexLimits
    write: bool  # False: only report what would change

    def path(self, kind: FileKind) -> Path:
        return self.folder / SegmentFile(self.base_offset, kind).name


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """The rebuilt indexes of a segment; `changed` names the files that differed or were missing."""

    offset_entries: int
    time_entries: int
    changed: tuple[str, ...]
    stop_position: int
    problem: str | None  # why the indexes stop at that position, before the log's end


def plan(directory: Directory, configs: Mapping[str, Given], *, write: bool) -> list[ReindexTask]:
    """One task per segment; `configs` override the topics' own."""
    known = TopicConfigs(explicit={files.folder.topic: configs for files in directory.partitions.values()})
    known.read(LocalFileSystem(), Path(directory.root.location.path))
    tasks = []
    for files in directory.partitions.values():
        config = known.of(files.folder.topic)
        limits = IndexLimits(config.index_interval_bytes, config.segment_index_bytes)
        folder = Path(files.location.path)
        for segment in files.segments:
            if not segment.transient:
                task = ReindexTask(files.topic_partition, folder, segment.base_offset, segment.log.size, limits, write)
                tasks.append(task)
    return tasks


def run(task: ReindexTask, filesystem: FileSystem | None = None) -> ReindexResult:
    """Build the indexes of a segment, and write those that differ to temporary files next to the old ones."""
    # An overlay opens files for reading only, which is all that a dry run may need.
    filesystem = filesystem or (LocalFileSystem() if task.write else OverlayFileSystem(task.folder))
    built = build_indexes(filesystem, task.path(FileKind.LOG), task.base_offset, task.limits)
    changed = []
    for kind, content in ((FileKind.OFFSET_INDEX, built.offset_index), (FileKind.TIME_INDEX, built.time_index)):
        path = task.path(kind)
        if filesystem.exists(path) and filesystem.read_bytes(path) == content:
            continue
        changed.append(path.name)
        if task.write:
            temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
            filesystem.truncate(temporary, 0)
            file = filesystem.open(temporary)
            file.pwrite(content, 0)
            file.fsync()
    return ReindexResult(
        len(built.offset_index) // offset_index.ENTRY.size,
        len(built.time_index) // time_index.ENTRY.size,
        tuple(changed),
        built.stop_position,
        built.problem,
    )


def commit(
    outcomes: Iterable[TaskOutcome[ReindexTask, ReindexResult]], filesystem: FileSystem | None = None
) -> Iterator[TaskOutcome[ReindexTask, ReindexResult]]:
    """Rename the temporary files into place, segment by segment; passes the outcomes on."""
    filesystem = filesystem or LocalFileSystem()
    for outcome in outcomes:
        task, result = outcome.task, outcome.result
        if task.write and result is not None and result.changed:
            for name in result.changed:
                filesystem.rename(task.folder / f"{name}{TEMPORARY_SUFFIX}", task.folder / name)
            filesystem.fsync_folder(task.folder)
        yield outcome
