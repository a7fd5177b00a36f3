"""The sink in sessions: batch and stream, commits killed at each named step, restarts, forced retries, a cluster."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from octavo.storage.staging.commit import CommitStep
from tests.spark.sessions import Run
from tests.spark.sink_runs import ROWS, copy_stream, numbers, produce, staged, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_a_stream_copies_a_topic_in_small_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    produce(spark, tmp_path / "in", 0)
    assert values(tmp_path / "in", "input") == numbers(ROWS)
    query = copy_stream(spark, tmp_path, most=30)
    query.awaitTermination()
    assert len(query.recentProgress) >= 10
    assert values(tmp_path / "out") == numbers(ROWS)
    assert staged(tmp_path) == []
    logs = list((tmp_path / "out").rglob("*.log"))
    assert len(logs) == 3, "one segment per partition, not per micro-batch"


def test_two_queries_write_to_one_directory(spark: SparkSession, tmp_path: Path) -> None:
    produce(spark, tmp_path / "in", 0)
    queries = [copy_stream(spark, tmp_path, most=60, checkpoint=checkpoint) for checkpoint in ("one", "two")]
    for query in queries:
        query.awaitTermination()
    assert values(tmp_path / "out") == numbers(ROWS) + numbers(ROWS)
    assert staged(tmp_path) == []


def test_the_commit_is_killed_at_each_named_step_and_the_query_restarted(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    spark.dataSource.register(killed_source(str(tmp_path)))
    produce(spark, tmp_path / "in", 0)
    marks = [tmp_path / f"die-{batch_id}-{step}" for batch_id, step in enumerate(CommitStep)]
    for mark in marks:
        mark.touch()
    most = ROWS // len(marks)
    for mark in marks:
        query = copy_stream(spark, tmp_path, sink="octavo_killed", most=most)
        with pytest.raises(StreamingQueryException):
            query.awaitTermination()
        assert not mark.exists(), "the commit was not killed"
    copy_stream(spark, tmp_path, sink="octavo_killed", most=most).awaitTermination()
    assert values(tmp_path / "out") == numbers(ROWS)
    assert staged(tmp_path) == []


def killed_source(folder: str) -> type:
    """A data source whose commit dies where a file in the folder says; local, since workers cannot import tests."""
    from octavo.spark.data_source import OctavoDataSource
    from octavo.spark.sink.sink import OctavoStreamWriter, commit, staged_parts
    from octavo.storage.staging.commit import CommitRequest

    class KilledWriter(OctavoStreamWriter):
        def commit(self, messages: Any, batchId: int | None = None) -> None:
            def die(step: str) -> None:
                mark = Path(folder) / f"die-{batchId}-{step}"
                if mark.exists():
                    mark.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)

            commit(self.sink, CommitRequest(self.writer, batchId, staged_parts(messages)), die)

    class KilledSource(OctavoDataSource):
        @classmethod
        def name(cls) -> str:
            return "octavo_killed"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:
            return KilledWriter(self.options, schema)

    return KilledSource


def test_complete_mode_appends_the_whole_result_as_sparks_sink_does(spark: SparkSession, tmp_path: Path) -> None:
    for start in (0, 5):
        produce(spark, tmp_path / "in", start, 5)
        reader = spark.readStream.format("octavo").option("subscribe", "input").option("startingOffsets", "earliest")
        counts = reader.load(str(tmp_path / "in")).groupBy().count().selectExpr("cast(count as string) value")
        writer = counts.writeStream.format("octavo").outputMode("complete").option("topic", "output")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start(str(tmp_path / "out")).awaitTermination()
    assert values(tmp_path / "out") == Counter([b"5", b"10"])


def test_a_stream_without_a_name_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    produce(spark, tmp_path / "in", 0, 5)
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "checkpoints"))
    try:
        rows = spark.readStream.format("octavo").option("subscribe", "input").load(str(tmp_path / "in")).select("value")
        query = rows.writeStream.format("octavo").option("topic", "output").start(str(tmp_path / "out"))
        produce(spark, tmp_path / "in", 5, 5)
        with pytest.raises(Exception, match="needs option 'checkpointLocation' on the writer, or 'txnAppId'"):
            query.processAllAvailable()
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("mode", ["overwrite", "error", "ignore"])
def test_other_save_modes_are_refused(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    frame = spark.range(3).selectExpr("cast(id as string) value")
    with pytest.raises(Exception, match=r"(?i)mode"):
        frame.write.format("octavo").option("topic", "t").mode(mode).save(str(tmp_path / "logs"))
    assert not (tmp_path / "logs").exists()


def test_tasks_that_fail_are_run_again_on_a_cluster(cluster: Run, tmp_path: Path) -> None:
    cluster(write_with_dying_tasks, str(tmp_path))
    assert sorted(path.name for path in tmp_path.glob("died-*")) == ["died-0", "died-1", "died-2"]
    assert values(tmp_path / "out") == numbers(3 * 10_000)
    assert staged(tmp_path) == []
    assert values(tmp_path / "copied" / "out") == numbers(ROWS)


def write_with_dying_tasks(session: SparkSession, folder: str) -> None:
    """A batch whose tasks each fail once, in the middle; then a stream."""

    def die_once(batches: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        mark = Path(folder) / f"died-{context.partitionId()}"
        for slot, batch in enumerate(batches):
            if slot == 2 and not mark.exists():
                mark.touch()
                raise RuntimeError("this attempt dies")
            yield batch

    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    frame: DataFrame = session.range(0, 30_000, numPartitions=3).selectExpr(
        "cast(id as string) key", "cast(id as string) value"
    )
    frame = frame.mapInArrow(die_once, frame.schema)
    frame.write.format("octavo").option("topic", "output").option("partitions", 2).mode("append").save(f"{folder}/out")
    produce(session, Path(folder) / "copied" / "in", 0)
    copy_stream(session, Path(folder) / "copied", most=150).awaitTermination()
