"""The commands' jobs on a Spark session: the same tasks as on one machine, and therefore the same results.

Arguments are the session, one or several paths and, except in `verify`, topics (none: all). The rest are given by name.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.config import Given
from octavo.format.compression.codec import codec_named
from octavo.jobs import export as exporting
from octavo.jobs import reindex as reindexing
from octavo.jobs import upgrade as upgrading
from octavo.jobs.compact import CompactedPartition, Compaction, CompactRequest
from octavo.jobs.count import PartitionCount, TopicCounts
from octavo.jobs.directories import check_topics, directories
from octavo.jobs.export import ExportForm, ExportRequest, ExportResult
from octavo.jobs.owner import Ownership, owned_as
from octavo.jobs.reindex import ReindexResult
from octavo.jobs.upgrade import Upgraded
from octavo.jobs.verify.finding import Finding
from octavo.jobs.verify.job import Verification, VerifySummary
from octavo.jobs.verify.plan import plan as plan_verification
from octavo.scanner.api import scan
from octavo.scanner.findings import Note
from octavo.scanner.log_dirs import Place
from octavo.scanner.places.location import Location
from octavo.spark.query.source_options import writable_path
from octavo.spark.runner import SparkRunner
from octavo.storage.log_manager import LogManager
from octavo.system.runner import Runner, ThreadRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Places = Place | Sequence[Place]
Names = str | Sequence[str]

_log = logging.getLogger("octavo.spark")


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `octavo verify` prints: its findings, and the counts of its summary."""

    findings: list[Finding]
    summary: VerifySummary


@dataclass(frozen=True, slots=True)
class TopicsReport:
    """What `octavo topics` prints: its rows, and notes about what could not be counted completely."""

    counts: list[PartitionCount]
    notes: list[Note]
    damage_count: int


def verify(spark: SparkSession, paths: Places) -> VerifyReport:
    """Check everything in log directories, whatever its topic."""
    verification = Verification(plan_verification(_places(paths)), SparkRunner(spark))
    findings = list(verification.findings())
    return VerifyReport(findings, verification.summary)


def topics(spark: SparkSession, paths: Places, topics: Names = ()) -> TopicsReport:
    """Count exactly what a client can read from each partition of the topics."""
    counting = TopicCounts(_places(paths), _names(topics))
    counts = list(counting.rows(SparkRunner(spark)))
    return TopicsReport(counts, [*counting.planned, *counting.counted], counting.damage_count)


def reindex(
    spark: SparkSession,
    paths: Places,
    topics: Names = (),
    *,
    configs: Mapping[str, Given] | None = None,
    dry_run: bool = False,
) -> list[ReindexResult]:
    """Rebuild the indexes of the topics' segments from their logs; one result per segment."""
    runner = SparkRunner(spark, in_place=not dry_run)
    with directories(_places(paths), _names(topics), write=not dry_run) as found:
        tasks = [task for place in found for task in reindexing.plan(place, configs or {}, write=not dry_run)]
        outcomes = reindexing.commit(runner.run(reindexing.run, tasks))
        return [outcome.get() for outcome in outcomes]


def export(
    spark: SparkSession,
    paths: Places,
    topics: Names = (),
    *,
    output: str | PathLike[str],
    form: ExportForm = "parquet",
    text: bool = False,
    **selection: Any,
) -> list[ExportResult]:
    """Write the records that `octavo.scan` selects with the same arguments into a folder; one file and result per task.

    The tasks write Parquet or Arrow themselves, on their machines; nothing goes through Spark's rows. A damaged batch
    is skipped, as by `octavo cat`; the result reports it in `damage_count` and `notes`. What was found before any task
    ran is in the first result or, if there is nothing to write, logged.
    """
    records = scan(_places(paths), topics=_names(topics) or None, on_damage="skip", **selection)
    (folder,) = _local([output])
    request = ExportRequest(Path(folder).absolute(), True, form, records.columns, text=text)
    exporting.prepare(request)
    tasks = exporting.plan(records.plan(), request)
    results = exporting.commit(tasks, SparkRunner(spark).run(exporting.run, tasks))
    if not results:
        for note in records.notes:
            _log.warning("%s", note)
        return []
    first, damage_count = results[0], records.damage_count + results[0].damage_count
    return [replace(first, notes=(*records.notes, *first.notes), damage_count=damage_count), *results[1:]]


def upgrade(
    spark: SparkSession,
    paths: Places,
    topics: Names = (),
    *,
    compression_type: str | None = None,
    dry_run: bool = False,
) -> list[Upgraded]:
    """Rewrite the topics' old formats as v2; with a codec, rewrite all batches with it. One result per partition.

    A dry run stays on the driver: it writes to a temporary folder there, which the workers do not have.
    """
    codec, logdirs = None if compression_type is None else codec_named(compression_type), _local(_places(paths))
    names = _names(topics)
    check_topics(logdirs, names)
    runner = _runner_in_place(spark, dry_run)
    with owned_as(LogManager, logdirs, Ownership(only=names or None, dry_run=dry_run)) as logs:
        filesystem = logs.environment.filesystem if dry_run else None
        return list(upgrading.upgrade(upgrading.plan(logs, codec), runner, None, filesystem))


def compact(
    spark: SparkSession,
    paths: Places,
    topics: Names = (),
    *,
    configs: Mapping[str, Given] | None = None,
    force: bool = False,
    roll: bool = False,
    now_ms: int | None = None,
    dry_run: bool = False,
) -> list[CompactedPartition]:
    """Run one cleaner round on those partitions of the topics that are due; one result per partition. Without `topics`,
    only compacted topics are included.

    A result says why the partition was cleaned or left alone, and what changed. With `force` the dirty ratio does not
    matter; with `roll` active segments are closed first. A dry run stays on the driver.
    """
    request = CompactRequest(
        topics=_names(topics), configs=configs or {}, now_ms=now_ms, force=force, roll=roll, dry_run=dry_run
    )
    logdirs, runner = _local(_places(paths)), _runner_in_place(spark, dry_run)
    with owned_as(LogManager, logdirs, request.ownership(logdirs)) as logs:
        return list(Compaction(request, logs).rows(runner))


def _runner_in_place(spark: SparkSession, dry_run: bool) -> Runner:
    return ThreadRunner() if dry_run else SparkRunner(spark, in_place=True)


def _names(topics: Names) -> Sequence[str]:
    return [topics] if isinstance(topics, str) else topics


def _places(paths: Places) -> Sequence[Place]:
    return [paths] if isinstance(paths, str | PathLike | Location) else paths


def _local(places: Sequence[Place]) -> list[str]:
    return [writable_path(str(place)) for place in places]
