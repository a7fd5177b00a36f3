"""Jobs on Spark: the same results as on this machine's threads, on both kinds of session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.parquet
import pytest

from octavo.clock import ManualClock
from octavo.errors import CorruptionError, OffsetOutOfRangeError
from octavo.format.compression import Codec
from octavo.jobs import compact, count, upgrade
from octavo.jobs.choose_compaction import judge
from octavo.jobs.runner import ThreadRunner
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.scan.api import scan
from octavo.scan.log_dirs import open_log_dirs
from octavo.scheduler import EndScheduler
from octavo.spark import jobs
from octavo.spark.runner import SparkRunner
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.environment import Environment
from octavo.storage.log_dir import LogDir
from tests.golden.archives import unpack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Cluster = Callable[..., Any]
NOW_MS = 1_800_000_000_000


@dataclass(frozen=True)
class Task:
    number: int
    size: int = 1


def half(task: Task) -> int:
    if task.number == 3:
        raise OffsetOutOfRangeError(3, 0, 2)
    if task.number == 5:
        raise CorruptionError("odd", position=5, path="five")
    return task.number // 2


def test_outcomes_keep_order_and_errors(spark: SparkSession) -> None:
    told: list[int] = []
    outcomes = list(SparkRunner(spark).run(half, [Task(number) for number in range(100)], told.append))
    assert [outcome.task.number for outcome in outcomes] == list(range(100))
    assert [outcome.result for outcome in outcomes if outcome.error is None] == [
        number // 2 for number in range(100) if number not in (3, 5)
    ]
    assert [str(outcome.error) for outcome in outcomes if outcome.error] == [
        "offset 3, expected 0 to 2",
        "five, position 5: odd",
    ]
    assert sum(told) == 100


def test_no_task_is_no_job(spark: SparkSession) -> None:
    assert list(SparkRunner(spark).run(half, [])) == []


@pytest.mark.parametrize("archive", ["v431-clean", "v431-torn", "upgrade-mixed"])
def test_verify_finds_the_same(spark: SparkSession, archive: str) -> None:
    here = Verification(plan([unpack(archive)]), ThreadRunner())
    findings = list(here.findings())
    assert jobs.verify(spark, unpack(archive)) == jobs.VerifyReport(findings, here.summary)


def test_topics_count_the_same_on_a_cluster(cluster: Cluster) -> None:
    root = unpack("v431-clean")
    here = list(count.count(count.plan(open_log_dirs(root).partitions.values()), ThreadRunner()))
    assert cluster(jobs.topics, root) == here
    assert len(here) > 20


def test_reindex_leaves_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-killed-recovered"), root)
    topic = next(path.name for path in sorted(root.glob("*-0")) if not path.name.startswith("__"))
    indexes = sorted(root.glob("*-0/*.index"))
    before = {path: path.read_bytes() for path in indexes if not path.parent.name.startswith("__")}
    for path in before:
        path.unlink()
    results = jobs.reindex(spark, str(root))
    assert {path: path.read_bytes() for path in before} == before
    assert sum(bool(result.changed) for result in results) >= len(before) > 5
    assert not any(result.changed for result in jobs.reindex(spark, root, [topic.rpartition("-")[0]], dry_run=True))


def test_upgrade_gives_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    here, there = (Path(shutil.copytree(unpack("upgrade-mixed"), tmp_path / name)) for name in ("here", "there"))
    with LogDir(here, background=False) as logs:
        assert not any(done.error for done in upgrade.upgrade(upgrade.plan(logs, Codec.LZ4), ThreadRunner()))
    assert not any(done.error for done in jobs.upgrade(spark, there, compression_type="lz4"))
    compared = 0
    for path in sorted(there.rglob("*.log")) + sorted(there.rglob("*.*index")):
        assert path.read_bytes() == (here / path.relative_to(there)).read_bytes(), path
        compared += path.stat().st_size
    assert compared > 10000


def test_export_writes_what_a_scan_reads(spark: SparkSession, tmp_path: Path) -> None:
    root, output = unpack("v431-clean"), tmp_path / "records"
    results = jobs.export(spark, root, output, isolation_level="read_committed", split_bytes=20000)
    assert len(results) > 20 and not list(output.glob(".*"))
    found = pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in sorted(output.iterdir()))
    expected = scan(root, isolation_level="read_committed").to_table()
    assert sum(result.rows for result in results) == found.num_rows == expected.num_rows
    order = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    assert found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()


def test_compaction_gives_the_same_bytes_on_both_kinds_of_session(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    here, local, far = (
        Path(shutil.copytree(unpack("v431-clean"), tmp_path / name)) for name in ("here", "local", "far")
    )
    environment = Environment(EndScheduler(), ManualClock(NOW_MS))
    with LogDir(here, background=False, environment=environment) as logs:
        judged = judge(logs, MapLimits.of(logs.broker_config, bytes(16)), force=True)
        candidates = [each.candidate for each in judged if each.candidate is not None]
        assert sum(done.cleaned is not None for done in compact.compact(candidates, ThreadRunner())) > 5
    assert not any(done.error for done in jobs.compact(spark, local, force=True, now_ms=NOW_MS))
    assert cluster(compacted_on, far) > 5
    compared = 0
    for path in sorted(here.rglob("*.log")) + sorted(here.rglob("*.*index")):
        for other in (local, far):
            assert (other / path.relative_to(here)).read_bytes() == path.read_bytes(), path
        compared += path.stat().st_size
    assert compared > 100_000


def compacted_on(session: SparkSession, root: Path) -> int:
    return sum(done.cleaned is not None for done in jobs.compact(session, root, force=True, now_ms=NOW_MS))
