"""Jobs on Spark: the same results as on this machine's threads, on both kinds of session."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.parquet
import pytest

import octavo
from octavo.errors import CorruptionError, OctavoError, OffsetOutOfRangeError
from octavo.format.compression import Codec
from octavo.jobs import count, upgrade
from octavo.jobs.compact import Compaction, CompactRequest
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.scanner.api import scan
from octavo.spark import jobs
from octavo.spark.runner import SparkRunner
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from octavo.system.runner import ThreadRunner
from octavo.system.scheduler import EndScheduler
from tests.golden.archives import unpack
from tests.spark.sessions import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
        "offset 3 is out of range: the log starts at 0 and ends before 2",
        "five, position 5: odd",
    ]
    assert sum(told) == 100


def test_without_tasks_there_are_no_outcomes(spark: SparkSession) -> None:
    assert list(SparkRunner(spark).run(half, [])) == []


@pytest.mark.parametrize("archive", ["v431-clean", "v431-torn", "upgrade-mixed"])
def test_verify_finds_the_same(spark: SparkSession, archive: str) -> None:
    here = Verification(plan([unpack(archive)]), ThreadRunner())
    findings = list(here.findings())
    assert jobs.verify(spark, unpack(archive)) == jobs.VerifyReport(findings, here.summary)


def test_topics_and_verify_find_the_same_on_a_cluster(cluster: Run) -> None:
    root = unpack("v431-clean")
    verification = Verification(plan([root]), ThreadRunner())
    findings = list(verification.findings())
    assert cluster(jobs.verify, root) == jobs.VerifyReport(findings, verification.summary)
    here = list(count.TopicCounts(root).rows(ThreadRunner()))
    assert cluster(jobs.topics, root).counts == here
    assert len(here) > 20


def test_reindex_leaves_the_same_files(run_on: Run, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-killed-recovered"), root)
    topic = next(path.name for path in sorted(root.glob("*-0")) if not path.name.startswith("__"))
    indexes = sorted(root.glob("*-0/*.index"))
    before = {path: path.read_bytes() for path in indexes if not path.parent.name.startswith("__")}
    for path in before:
        path.unlink()
    results = run_on(jobs.reindex, str(root))
    assert {path: path.read_bytes() for path in before} == before
    assert sum(bool(result.changed) for result in results) >= len(before) > 5
    dry_run = partial(jobs.reindex, dry_run=True)
    assert not any(result.changed for result in run_on(dry_run, root, [topic.rpartition("-")[0]]))


def test_upgrade_gives_the_same_bytes(run_on: Run, tmp_path: Path) -> None:
    here, there = (Path(shutil.copytree(unpack("upgrade-mixed"), tmp_path / name)) for name in ("here", "there"))
    with LogManager(here, background=False) as logs:
        assert not any(done.error for done in upgrade.upgrade(upgrade.plan(logs, Codec.LZ4), ThreadRunner()))
    assert run_on(upgraded_on, there) == []
    compared = 0
    for path in sorted(there.rglob("*.log")) + sorted(there.rglob("*.*index")):
        assert path.read_bytes() == (here / path.relative_to(there)).read_bytes(), path
        compared += path.stat().st_size
    assert compared > 10000


def upgraded_on(session: SparkSession, root: Path) -> list[str]:
    return [str(done.error) for done in jobs.upgrade(session, root, compression_type="lz4") if done.error]


def test_export_writes_what_a_scan_reads(run_on: Run, tmp_path: Path) -> None:
    root, output = unpack("v431-clean"), tmp_path / "records"
    results = run_on(partial(jobs.export, output=output, isolation_level="read_committed", split_bytes=20000), root)
    assert len(results) > 20 and not list(output.glob(".*"))
    found = pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in sorted(output.iterdir()))
    expected = scan(root, isolation_level="read_committed").to_table()
    assert sum(result.rows for result in results) == found.num_rows == expected.num_rows
    order = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    assert found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()


def test_compaction_gives_the_same_bytes(run_on: Run, tmp_path: Path) -> None:
    here, there = (Path(shutil.copytree(unpack("v431-clean"), tmp_path / name)) for name in ("here", "there"))
    environment = Environment(EndScheduler(), ManualClock(NOW_MS))
    with LogManager(here, background=False, environment=environment) as logs:
        rows = list(Compaction(CompactRequest(force=True), logs).rows(ThreadRunner()))
        cleaned = sum(row.cleaned is not None for row in rows)
    assert run_on(compacted_on, there) == cleaned > 5
    compared = 0
    for path in sorted(here.rglob("*.log")) + sorted(here.rglob("*.*index")):
        assert (there / path.relative_to(here)).read_bytes() == path.read_bytes(), path
        compared += path.stat().st_size
    assert compared > 100_000


def compacted_on(session: SparkSession, root: Path) -> int:
    results = jobs.compact(session, root, force=True, now_ms=NOW_MS)
    assert not any(done.error for done in results)
    return sum(done.cleaned is not None for done in results)


def test_workers_run_the_package_that_is_tested(spark: SparkSession) -> None:
    (found,) = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("octavo").__file__).collect()
    assert found == octavo.__file__


def test_a_topic_that_is_not_there_is_refused_as_by_the_commands(spark: SparkSession, tmp_path: Path) -> None:
    root = shutil.copytree(unpack("v431-clean"), tmp_path / "logs")
    for job in (
        lambda: jobs.topics(spark, root, "nosuch"),
        lambda: jobs.upgrade(spark, root, ["nosuch"]),
        lambda: jobs.compact(spark, root, topics=["nosuch"]),
        lambda: jobs.reindex(spark, root, ["nosuch"]),
    ):
        with pytest.raises(OctavoError, match="there is no topic 'nosuch'"):
            job()


def test_what_could_not_be_counted_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    root = Path(shutil.copytree(unpack("v431-clean"), tmp_path / "logs"))
    log = max(root.rglob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    whole, report = jobs.topics(spark, unpack("v431-clean")), jobs.topics(spark, root)
    assert whole.damage_count == 0
    assert report.damage_count == 1
    assert [note for note in report.notes if str(log) in note.path]
    names = {row.topic_partition for row in whole.counts}
    assert {row.topic_partition for row in report.counts} == names


def test_a_compaction_reports_each_partition_and_a_dry_run_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    root = Path(shutil.copytree(unpack("v431-clean"), tmp_path / "logs"))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    configs = {"min.compaction.lag.ms": NOW_MS, "log.cleaner.dedupe.buffer.size": 2 << 20}
    rows = jobs.compact(spark, root, now_ms=NOW_MS, force=True, dry_run=True, configs=configs)
    assert {row.explanation.is_compacted for row in rows} == {True}
    assert all(row.explanation.verdict for row in rows)
    assert not any(row.cleaned for row in rows), "min.compaction.lag.ms holds everything back"
    assert any(row.cleaned for row in jobs.compact(spark, root, now_ms=NOW_MS, force=True, dry_run=True))
    assert any(done.segments for done in jobs.upgrade(spark, root, compression_type="zstd", dry_run=True))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_an_export_names_its_files_and_reports_damage(spark: SparkSession, tmp_path: Path) -> None:
    root = Path(shutil.copytree(unpack("v431-clean"), tmp_path / "logs"))
    log = max(root.rglob("[0-9]*.log"), key=lambda path: path.stat().st_size if "__" not in str(path) else 0)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    results = jobs.export(spark, f"file:{root}", output=f"file:{tmp_path}/records", text=True)
    assert sorted(result.path for result in results) == sorted((tmp_path / "records").iterdir())
    assert sum(result.damage_count for result in results) == 1
    assert [note for result in results for note in result.notes if str(log) in note.path]
    assert {pyarrow.parquet.read_schema(result.path).field("value").type for result in results} == {pyarrow.string()}
    data[len(data) // 2] ^= 1
    data[-1] ^= 1  # the last batch: the planning finds that the log ends before it
    log.write_bytes(data)
    first, *others = jobs.export(spark, root, output=tmp_path / "without-end")
    assert first.damage_count == 1 and not sum(result.damage_count for result in others)
    assert [note for note in first.notes if str(log) in note.path]
