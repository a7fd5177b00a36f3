"""The commands' jobs as functions of a Spark session: the same tasks as on this machine, so the same results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from octavo.config import Given
from octavo.jobs import count
from octavo.jobs import reindex as reindexing
from octavo.jobs.count import PartitionCount
from octavo.jobs.directories import directories
from octavo.jobs.reindex import ReindexResult
from octavo.jobs.verify.finding import Finding
from octavo.jobs.verify.job import Summary, Verification
from octavo.jobs.verify.plan import plan as plan_verification
from octavo.scan.location import Location
from octavo.scan.log_dirs import Place, open_log_dirs
from octavo.spark.runner import SparkRunner

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
    with directories(_places(paths), names, write=not dry_run) as found:
        tasks = [task for place in found for task in reindexing.plan(place, configs or {}, write=not dry_run)]
        outcomes = reindexing.commit(SparkRunner(spark).run(reindexing.run, tasks))
        return [outcome.get() for outcome in outcomes]


def _places(paths: Place | Sequence[Place]) -> Sequence[Place]:
    return [paths] if isinstance(paths, str | PathLike | Location) else paths
