"""The commands' jobs as functions of a Spark session: the same tasks as on this machine, so the same results."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.config import Given
from octavo.errors import ConfigError
from octavo.format.compression.codec import codec_named
from octavo.jobs import compact as compacting
from octavo.jobs import count
from octavo.jobs import export as exporting
from octavo.jobs import reindex as reindexing
from octavo.jobs import upgrade as upgrading
from octavo.jobs.choose_compaction import judge
from octavo.jobs.compact import Compacted
from octavo.jobs.count import PartitionCount
from octavo.jobs.directories import directories
from octavo.jobs.export import ExportRequest, ExportResult, Form
from octavo.jobs.owner import Terms, owned_as
from octavo.jobs.reindex import ReindexResult
from octavo.jobs.upgrade import Upgraded
from octavo.jobs.verify.finding import Finding
from octavo.jobs.verify.job import Summary, Verification
from octavo.jobs.verify.plan import plan as plan_verification
from octavo.scan.api import scan
from octavo.scan.location import Location
from octavo.scan.log_dirs import Place, open_log_dirs
from octavo.spark.runner import SparkRunner
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.log_dir import LogDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `octavo verify` prints: its lines, and the counts of its summary."""

    findings: list[Finding]
    summary: Summary


def verify(spark: SparkSession, paths: Place | Sequence[Place]) -> VerifyReport:
    """Check everything in log directories."""
    verification = Verification(plan_verification(_places(paths)), SparkRunner(spark))
    findings = list(verification.findings())
    return VerifyReport(findings, verification.summary)


def topics(
    spark: SparkSession, paths: Place | Sequence[Place], names: Iterable[str] | None = None
) -> list[PartitionCount]:
    """Exact counts of what a client can read of each partition of the named topics, or of all."""
    wanted = None if names is None else frozenset(names)
    log_dirs = open_log_dirs(_places(paths), None if wanted is None else lambda name: name.topic in wanted)
    rows = count.count(count.plan(log_dirs.partitions.values()), SparkRunner(spark))
    return [row for row in rows if isinstance(row, PartitionCount)]


def reindex(
    spark: SparkSession,
    paths: Place | Sequence[Place],
    names: Sequence[str] = (),
    configs: Mapping[str, Given] | None = None,
    *,
    dry_run: bool = False,
) -> list[ReindexResult]:
    """Write the indexes of the named topics' segments, or of all, anew from their logs."""
    runner = SparkRunner(spark) if dry_run else _runner_in_place(spark)
    with directories(_places(paths), names, write=not dry_run) as found:
        tasks = [task for place in found for task in reindexing.plan(place, configs or {}, write=not dry_run)]
        outcomes = reindexing.commit(runner.run(reindexing.run, tasks))
        return [outcome.get() for outcome in outcomes]


def export(
    spark: SparkSession,
    paths: Place | Sequence[Place],
    output: str | PathLike[str],
    form: Form = "parquet",
    **selection: Any,
) -> list[ExportResult]:
    """Write records into a folder, a file a task: what `octavo.scan` selects with the same arguments.

    The tasks write Parquet or Arrow themselves, on their machines; nothing goes through Spark's rows.
    """
    records = scan(_places(paths), on_damage="skip", **selection)
    request = ExportRequest(Path(output).absolute(), True, form, records.columns)
    exporting.prepare(request)
    tasks = exporting.plan(records.plan(), request)
    return exporting.commit(tasks, SparkRunner(spark).run(exporting.run, tasks))


def upgrade(
    spark: SparkSession,
    paths: Place | Sequence[Place],
    names: Sequence[str] = (),
    compression_type: str | None = None,
) -> list[Upgraded]:
    """Write old formats of the named topics, or of all, anew as v2; with a codec, all batches with that."""
    codec = None if compression_type is None else codec_named(compression_type)
    runner = _runner_in_place(spark)
    with owned_as(LogDir, _paths(paths), Terms(only=names or None)) as logs:
        return list(upgrading.upgrade(upgrading.plan(logs, codec), runner))


def compact(
    spark: SparkSession,
    paths: Place | Sequence[Place],
    names: Sequence[str] = (),
    configs: Mapping[str, Given] | None = None,
    *,
    force: bool = False,
    now_ms: int | None = None,
) -> list[Compacted]:
    """One cleaner round on the named topics' partitions that are due, or on all; `configs` are a broker's.

    With `force` the dirty ratio does not count. `now_ms` is the time to judge by, if not the present.
    """
    runner, terms = _runner_in_place(spark), Terms(only=names or None, configs=configs or {}, now_ms=now_ms)
    with owned_as(LogDir, _paths(paths), terms) as logs:
        limits = MapLimits.of(logs.broker_config, secrets.token_bytes(16))
        judged = judge(logs, limits, force=force)
        candidates = [each.candidate for each in judged if each.candidate is not None]
        return list(compacting.compact(candidates, runner))


def _runner_in_place(spark: SparkSession) -> SparkRunner:
    """For tasks that write beside a log, under names that two attempts of a task would share."""
    if spark.sparkContext.getConf().get("spark.speculation", "false") == "true":
        found = "spark.speculation is true, so two attempts of a task may run at once"
        raise ConfigError(f"{found}, expected false: both would write to the same files beside the log")
    return SparkRunner(spark)


def _places(paths: Place | Sequence[Place]) -> Sequence[Place]:
    return [paths] if isinstance(paths, str | PathLike | Location) else paths


def _paths(paths: Place | Sequence[Place]) -> list[Path]:
    return [Path(str(place)) for place in _places(paths)]
