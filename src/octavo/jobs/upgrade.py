"""Partitions written anew in v2, or with another codec: the same records at the same offsets.

A partition goes through these steps; a crash before the last leaves it as it was, or loading finishes the swap.

1. If its active segment holds something to change, it rolls: only closed segments are written anew.
2. Each segment is written beside the old one (a task a segment, of all partitions at once).
3. The new segments take the place of the old ones (`commit`, all of a partition or none).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from octavo.errors import OctavoError
from octavo.format.batches.recode import Recoder
from octavo.format.compression import Codec
from octavo.format.names import CLUSTER_METADATA_TOPIC, TopicPartition
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.rewriting.cleaned_segments import remove_cleaned, swap_in
from octavo.storage.rewriting.rewrite import RewriteTask, Rewritten, rewrite_segment
from octavo.storage.rewriting.source import SourceSegment, read_chunks
from octavo.storage.segment.segment import Segment
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.runner import Outcome, Progress, Runner


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """A partition and the tasks for its segments."""

    name: TopicPartition
    log: PartitionLog
    tasks: tuple[RewriteTask, ...]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What became of a partition; with an error nothing of it changed."""

    plan: UpgradePlan
    segments: tuple[Rewritten, ...] = ()
    error: Exception | None = None


def plan(logs: LogManager, codec: Codec | None) -> list[UpgradePlan]:
    """A plan for each partition, but for the log of the cluster's metadata, which is the controllers' own."""
    found = sorted(logs.logs.items())
    return [plan_partition(name, log, codec) for name, log in found if name.topic != CLUSTER_METADATA_TOPIC]


def plan_partition(name: TopicPartition, log: PartitionLog, codec: Codec | None) -> UpgradePlan:
    """A task for each segment that holds something; the active one is closed first if it has to change."""
    active = log.segments.active
    path, filesystem = active.files.log.path, log.environment.filesystem
    recoder = Recoder(codec)
    if any(recoder.changes(chunk.table).any() for chunk in read_chunks(filesystem, path, active.size)):
        log.roll()
    closed = [segment for segment in log.segments if segment is not log.segments.active and segment.size]
    return UpgradePlan(name, log, tuple(_task(log, segment, codec) for segment in closed))


def upgrade(
    plans: Sequence[UpgradePlan],
    runner: Runner,
    progress: Progress | None = None,
    filesystem: FileSystem | None = None,
) -> Iterator[Upgraded]:
    """Run all plans' tasks and commit each partition; one that fails loses no other."""
    tasks = [task for planned in plans for task in planned.tasks]
    outcomes = runner.run(partial(rewrite_segment, filesystem=filesystem), tasks, progress)
    for planned in plans:
        yield commit(planned, [next(outcomes) for _ in planned.tasks], filesystem or LocalFileSystem())


def commit(
    planned: UpgradePlan, outcomes: Iterable[Outcome[RewriteTask, Rewritten]], filesystem: FileSystem
) -> Upgraded:
    """Put a partition's new segments into the place of the old ones, if all are written; else remove them."""
    outcomes = list(outcomes)
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    try:
        results = [outcome.get() for outcome in outcomes]
        changed = [result for result in results if result.base_offsets]
        new = [base_offset for result in changed for base_offset in result.base_offsets]
        if changed:
            swap_in(planned.log, [result.segment for result in changed], new, planned.log.config)
    except OctavoError as error:
        for result in results:
            remove_cleaned(filesystem, planned.log.folder, result.base_offsets)
        return Upgraded(planned, error=error)
    return Upgraded(planned, tuple(results))


def _task(log: PartitionLog, segment: Segment, codec: Codec | None) -> RewriteTask:
    source = SourceSegment(segment.base_offset, segment.size, 0, 0, segment.files.log.mtime_ms, segment.base_offset)
    return RewriteTask(log.folder, log.config, source, tuple(segment.files.txn_index.aborted()), codec)
