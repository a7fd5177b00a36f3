"""Turns offset ranges into Spark tasks: file ranges of about partitionBytes, with small ones combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql.datasource import InputPartition

from octavo.scanner.findings import Note
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import ReadTask, grouped, plan_partition
from octavo.spark.query.source_options import SourceOptions, Splitting
from octavo.spark.source.log_view import Snapshots
from octavo.spark.source.offset_ranges import PartitionRange, divide
from octavo.spark.source.skipped import skipped_notes

# Starting a task takes as long as reading some megabytes, so small ranges share one: up to this many bytes, or more if
# a query would otherwise have more than MANY_TASKS.
SHARED_BYTES = 1 << 20
MANY_TASKS = 200


@dataclass(frozen=True)
class SourcePartition(InputPartition):
    """What one Spark task reads, in this order."""

    tasks: tuple[ReadTask, ...]
    skipped: frozenset[Note] = frozenset()  # what the planning skipped: only a task can report it to the driver


def plan_tasks(
    ranges: Iterable[PartitionRange], partitions: Snapshots, options: SourceOptions
) -> list[SourcePartition]:
    """The Spark tasks for offset ranges."""
    splitting = options.splitting
    divided = divide(ranges, splitting.min_partitions, splitting.max_records_per_partition)
    tasks = [task for part in divided for task in _plan_range(part, partitions[part.topic_partition], options)]
    return [SourcePartition(group) for group in shared(tasks, splitting)]


def _plan_range(part: PartitionRange, snapshot: PartitionSnapshot, options: SourceOptions) -> list[ReadTask]:
    def plan(files: PartitionFiles) -> list[ReadTask]:
        found = snapshot if files is snapshot.files else replace(look_at(files), transactions=snapshot.transactions)
        offsets = OffsetRange(part.start, part.end)
        return plan_partition(found, offsets, options.splitting.partition_bytes, options.max_unpacked_bytes)

    return retrying(snapshot.files, plan)


def reporting(planned: list[SourcePartition]) -> list[InputPartition]:
    """The same tasks, the first of which reports what this process, the planner, has skipped."""
    return [replace(planned[0], skipped=skipped_notes().value), *planned[1:]] if planned else []


def shared(tasks: list[ReadTask], splitting: Splitting) -> list[tuple[ReadTask, ...]]:
    """Combine neighbours while they are small; with minPartitions, into no fewer groups, if there are as many tasks."""
    if splitting.max_records_per_partition is not None or len(tasks) <= (splitting.min_partitions or 1):
        return [(task,) for task in tasks]
    total = sum(task.size for task in tasks)
    group_bytes = min(max(SHARED_BYTES, -(-total // MANY_TASKS)), splitting.partition_bytes)
    if splitting.min_partitions is not None:
        group_bytes = min(group_bytes, total // splitting.min_partitions)
    groups = grouped(tasks, lambda task: task.size, group_bytes, splitting.min_partitions or 1)
    return [tuple(group) for group in groups]
