"""Rewrites partitions as v2, or with another codec: the same records at the same offsets.

A partition goes through these steps. A crash before the last one leaves its records as they were; after a crash during
the last one, loading finishes the swap, or undoes it if it was not decided yet.

1. If the active segment has something to change, it is rolled, because only closed segments are rewritten.
2. Each segment with something to change is rewritten next to the old one (one task per closed segment, for all
   partitions at once).
3. The new segments replace the old ones (all of a partition or none).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from octavo.errors import CorruptionError, OctavoError
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
from octavo.system.runner import Progress, Runner, TaskOutcome


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """A partition and the tasks for its segments; `error` says why there are none."""

    topic_partition: TopicPartition
    log: PartitionLog
    tasks: tuple[RewriteTask, ...] = ()
    error: CorruptionError | None = None


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The outcome for a partition; `error` says why its segments were not replaced."""

    plan: UpgradePlan
    segments: tuple[Rewritten, ...] = ()
    error: Exception | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return self.plan.topic_partition


def plan(logs: LogManager, codec: Codec | None) -> list[UpgradePlan]:
    """A plan for each partition, except the cluster's metadata log, which belongs to the controllers."""
    found = sorted(logs.logs.items())
    return [_plan(partition, log, codec) for partition, log in found if partition.topic != CLUSTER_METADATA_TOPIC]


def _plan(topic_partition: TopicPartition, log: PartitionLog, codec: Codec | None) -> UpgradePlan:
    """One task per closed segment that is not empty; the active one is closed first if it has to change."""
    active = log.segments.active
    path, filesystem = active.files.log.path, log.environment.filesystem
    recoder = Recoder(codec)
    try:
        has_changes = any(recoder.changes(chunk.table).any() for chunk in read_chunks(filesystem, path, active.size))
    except CorruptionError as error:
        return UpgradePlan(topic_partition, log, error=error)
    if has_changes:
        log.roll()
    closed = [segment for segment in log.segments if segment is not log.segments.active and segment.size]
    return UpgradePlan(topic_partition, log, tuple(_task(log, segment, codec) for segment in closed))


def upgrade(
    plans: Sequence[UpgradePlan],
    runner: Runner,
    progress: Progress | None = None,
    filesystem: FileSystem | None = None,
) -> Iterator[Upgraded]:
    """Run the tasks of all plans and commit each partition; one that fails does not stop the others."""
    tasks = [task for planned in plans for task in planned.tasks]
    outcomes = runner.run(partial(rewrite_segment, filesystem=filesystem), tasks, progress)
    for planned in plans:
        yield _commit(planned, [next(outcomes) for _ in planned.tasks], filesystem or LocalFileSystem())


def _commit(
    planned: UpgradePlan, outcomes: Sequence[TaskOutcome[RewriteTask, Rewritten]], filesystem: FileSystem
) -> Upgraded:
    """Replace a partition's segments with the new ones; if one of these failed, remove the others.

    Once the swap has begun nothing is removed: the `.cleaned` files tell loading how far it got.
    """
    if planned.error is not None:
        return Upgraded(planned, error=planned.error)
    log, results = planned.log, [outcome.result for outcome in outcomes if outcome.result is not None]
    new = [base_offset for result in results for base_offset in result.base_offsets]
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if error is not None:
        remove_cleaned(filesystem, log.folder, new)
        return Upgraded(planned, error=error)
    try:
        if new:
            swap_in(log, [result.segment for result in results if result.base_offsets], new, log.config)
    except OctavoError as failure:
        return Upgraded(planned, error=failure)
    return Upgraded(planned, tuple(results))


def _task(log: PartitionLog, segment: Segment, codec: Codec | None) -> RewriteTask:
    source = SourceSegment(segment.base_offset, segment.size, 0, 0, segment.files.log.mtime_ms, segment.base_offset)
    return RewriteTask(log.folder, log.config, source, tuple(segment.files.txn_index.aborted()), codec)
