"""One cleaner round on each of many partitions: a plan each, tasks for the keys and for groups, a commit each.

A partition goes through these steps; a crash before the last leaves it as it was, or loading finishes the swap.

1. The dirty part's keys are read into an offset map (a task a partition).
2. Each group of segments is written anew, beside the old ones (a task a group, of all partitions at once).
3. The new segments take the place of the old ones (`commit`, all of a partition or none).
4. The cleaner checkpoint notes how far the partition is clean. Without it the same work is done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from octavo.errors import OctavoError
from octavo.format.names import TopicPartition
from octavo.storage.cleaner.clean import Cleaned, commit
from octavo.storage.cleaner.clean_group import CleanedGroup, clean_group
from octavo.storage.cleaner.plan import CleanPlan
from octavo.storage.cleaner.tasks import GroupTask, MappedLog, map_keys
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.cleaned_segments import remove_cleaned
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.runner import Outcome, Progress, Runner, ThreadRunner

# A run's offset map for tasks of other processes. Kafka passes over files that do not begin with a digit.
MAP_FILE = "octavo-offset-map"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition that is to be cleaned."""

    name: TopicPartition
    log: PartitionLog
    root: LogRoot
    plan: CleanPlan


@dataclass(frozen=True, slots=True)
class MapTask:
    """The keys of one partition. Picklable."""

    plan: CleanPlan
    spill_to: Path | None  # where tasks of other processes find the map

    @property
    def size(self) -> int:
        return self.plan.size


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of a partition: it was cleaned, or nothing of it changed."""

    candidate: Candidate
    cleaned: Cleaned | None
    error: Exception | None = None


def compact(
    candidates: Sequence[Candidate],
    runner: Runner,
    progress: Progress | None = None,
    filesystem: FileSystem | None = None,
) -> Iterator[Compacted]:
    """Clean all candidates; one that fails loses no other."""
    for wave in _waves(candidates):
        yield from _compact_wave(wave, runner, progress, filesystem)


def run_map(task: MapTask, filesystem: FileSystem | None = None) -> MappedLog:
    """Read a partition's dirty keys."""
    mapped = map_keys(task.plan, filesystem)
    if task.spill_to is None or not mapped.groups:
        return mapped
    shared = mapped.groups[0].offset_map.spill(task.spill_to)
    return replace(mapped, groups=tuple(replace(group, offset_map=shared) for group in mapped.groups))


def _compact_wave(
    wave: Sequence[Candidate], runner: Runner, progress: Progress | None, filesystem: FileSystem | None
) -> Iterator[Compacted]:
    spills = not isinstance(runner, ThreadRunner)
    tasks = [MapTask(each.plan, each.plan.folder / MAP_FILE if spills else None) for each in wave]
    try:
        mapped = list(runner.run(partial(run_map, filesystem=filesystem), tasks, progress))
        groups = [group for outcome in mapped if outcome.result is not None for group in outcome.result.groups]
        done = iter(list(runner.run(partial(clean_group, filesystem=filesystem), groups, progress)))
        for candidate, outcome in zip(wave, mapped, strict=True):
            yield _finish(candidate, outcome, done, filesystem or LocalFileSystem())
    finally:
        for task in tasks:
            if task.spill_to is not None:
                task.spill_to.unlink(missing_ok=True)


def _finish(
    candidate: Candidate,
    mapped: Outcome[MapTask, MappedLog],
    done: Iterator[Outcome[GroupTask, CleanedGroup]],
    filesystem: FileSystem,
) -> Compacted:
    """Commit a partition whose groups are all written; else remove those that are."""
    if mapped.result is None:
        return Compacted(candidate, None, mapped.error)
    outcomes = [next(done) for _ in mapped.result.groups]
    groups = [outcome.result for outcome in outcomes if outcome.result is not None]
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    try:
        if error is not None:
            raise error
        commit(candidate.log, candidate.plan, groups)
        candidate.root.checkpoints.write_cleaner_offset(candidate.name, mapped.result.end_offset)
    except OctavoError as problem:
        remove_cleaned(filesystem, candidate.plan.folder, (group.base_offset for group in groups))
        return Compacted(candidate, None, problem)
    return Compacted(candidate, Cleaned.of(mapped.result, groups))


def _waves(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """As many partitions at once as their maps fit into the memory for one: a map is about as large as its keys."""
    wave: list[Candidate] = []
    size = 0
    for candidate in candidates:
        if wave and size + candidate.plan.size > candidate.plan.limits.memory_bytes:
            yield wave
            wave, size = [], 0
        wave.append(candidate)
        size += candidate.plan.size
    if wave:
        yield wave
