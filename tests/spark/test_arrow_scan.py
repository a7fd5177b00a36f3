"""`octavo.spark.scan` and `scan_stream`: the rows of `format("octavo")`, by way of mapInArrow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import octavo.spark
from octavo.errors import ConfigError
from tests.scanner.segments import write_segment
from tests.spark.sessions import Run
from tests.storage.batches import batch

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from pyspark.errors import StreamingQueryException

from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

OPTIONS: dict[str, Any] = {"subscribe": "orders", "includeHeaders": True}
STREAM = {**OPTIONS, "startingOffsets": "earliest"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    write_segment(root / "orders-0", 0, *(batch(first, 10) for first in range(0, 80, 10)))
    write_segment(root / "orders-1", 0, batch(0, 10))
    return root


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_a_scan_gives_the_same_rows(spark: SparkSession, logs: Path) -> None:
    frame = octavo.spark.scan(spark, logs, **OPTIONS, minPartitions=3)
    same = spark.read.format("octavo").options(**OPTIONS).load(str(logs))
    assert frame.schema == same.schema
    assert frame.rdd.getNumPartitions() == 3
    assert rows_of(frame) == rows_of(same)


def test_a_scan_reads_what_was_there_when_it_was_called(spark: SparkSession, logs: Path) -> None:
    frame = octavo.spark.scan(spark, [logs], subscribe="orders", minPartitions=None)
    write_segment(logs / "orders-1", 10, batch(10, 10))
    assert frame.count() == 90
    assert octavo.spark.scan(spark, logs, subscribe="orders").count() == 100


def test_topics_and_isolation_level_may_be_given_as_to_the_scan_without_spark(spark: SparkSession, logs: Path) -> None:
    write_segment(logs / "others-0", 0, batch(0, 5))
    assert octavo.spark.scan(spark, logs).count() == 95
    assert octavo.spark.scan(spark, logs, "others").count() == 5
    assert octavo.spark.scan(spark, logs, topics="orders", isolation_level="read_committed").count() == 90
    frame = octavo.spark.scan(spark, logs, ["orders", "others"], columns=["key", "offset"])
    assert (frame.columns, frame.count()) == (["key", "offset"], 95)
    starts = {"orders": {"0": 75, "1": 5}}
    assert octavo.spark.scan(spark, logs, topics="orders", startingOffsets=starts).count() == 10
    stream = octavo.spark.scan_stream(spark, logs, "others", startingOffsets="earliest")
    run(stream.writeStream.format("memory").queryName("of_topics"))
    assert spark.table("of_topics").count() == 5


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topic": "orders"}, r"has no option 'topic' \(did you mean subscribe\?\)"),
        ({"from_offset": 5}, r"has no option 'from_offset' \(did you mean startingOffsets\?\)"),
        ({"on_damage": "skip"}, r"has no option 'on_damage' \(did you mean onDamage\?\)"),
        ({"checkpointLocation": "ck"}, "has no option 'checkpointLocation'"),
        ({"topics": "orders", "Subscribe": "orders"}, "topics and subscribe mean the same; give one of them"),
        (
            {"isolation_level": "read_committed", "isolationLevel": "read_committed"},
            "isolation_level and isolationLevel mean the same",
        ),
        ({"topics": re.compile("o.*")}, "topics is a pattern, expected names; give the pattern as subscribePattern"),
        ({"isolation_level": "committed"}, "Invalid value committed for configuration isolationLevel"),
        ({"startingOffsets": {("orders", 0): 5}}, "expected a dict of texts and numbers, such as"),
    ],
)
@pytest.mark.parametrize("function", ["scan", "scan_stream"])
def test_what_the_source_does_not_have_is_refused(
    spark: SparkSession, logs: Path, function: str, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        getattr(octavo.spark, function)(spark, logs, **options)


def test_option_names_are_case_insensitive(spark: SparkSession, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = '{"orders":{"0":5,"1":5}}'
    assert octavo.spark.scan(spark, logs, SUBSCRIBE="orders", endingoffsets=ends).count() == 10
    monkeypatch.chdir(logs)  # a relative path is this process's, not the JVM's
    stream = octavo.spark.scan_stream(spark, "../logs", subscribe="orders", startingoffsets=ends)
    run(stream.writeStream.format("memory").queryName("without_case"))
    assert spark.table("without_case").count() == 80


def test_a_stream_gives_the_same_rows_and_goes_on_from_the_same_checkpoint(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    ours = octavo.spark.scan_stream(spark, logs, **STREAM, maxOffsetsPerTrigger=45)
    other = spark.readStream.format("octavo").options(**STREAM).load(str(logs))
    assert ours.schema == other.schema

    def read_on(frame: DataFrame) -> StreamingQuery:
        writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        return run(writer.option("checkpointLocation", str(tmp_path / "checkpoint")))

    progress = [found for found in read_on(ours).recentProgress if found["numInputRows"]]
    ends = [json.loads(found["sources"][0]["endOffset"]) for found in progress]
    assert ends == [{"orders": {"0": 40, "1": 5}}, {"orders": {"0": 80, "1": 10}}]
    assert sum(found["numInputRows"] for found in progress) < 90, "Spark counts tasks, not records"
    for frame, first in ((other, 10), (ours, 20)):
        write_segment(logs / "orders-1", first, batch(first, 10))
        read_on(frame)
    written = spark.read.parquet(str(tmp_path / "rows")).select(*ours.columns)
    batched = spark.read.format("octavo").options(**OPTIONS).load(str(logs))
    assert batched.count() == 110
    assert rows_of(written) == rows_of(batched)


@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "maxoffsetspertrigger", "startingOffsets"])
def test_a_stream_refuses_bad_options_at_once(spark: SparkSession, logs: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="many"):
        octavo.spark.scan_stream(spark, logs, subscribe="orders", **{name: "many"})


def test_a_stream_fails_on_a_loss_unless_an_option_lets_it_continue(spark: SparkSession, logs: Path) -> None:
    write_segment(logs / "orders-2", 50, batch(50, 10))  # a partition whose first offsets are gone
    first = '{"orders":{"0":0,"1":0,"2":40}}'

    def read_all(name: str, **options: Any) -> int:
        stream = octavo.spark.scan_stream(spark, logs, subscribe="orders", startingOffsets=first, **options)
        run(stream.writeStream.format("memory").queryName(name))
        return spark.table(name).count()

    assert read_all("going_on", failOnDataLoss=False) == 100
    with pytest.raises(StreamingQueryException, match="failOnDataLoss"):
        read_all("failing")


def places_on_cluster(spark: SparkSession, logs: str) -> list[list[tuple[int, int]]]:
    stream = octavo.spark.scan_stream(spark, logs, **STREAM)
    run(stream.writeStream.format("memory").queryName("scanned"))
    frames = octavo.spark.scan(spark, logs, **OPTIONS), spark.table("scanned")
    return [sorted((row.partition, row.offset) for row in frame.collect()) for frame in frames]


def test_both_read_all_records_on_a_cluster(cluster: Run, logs: Path) -> None:  # T6
    places = [*((0, offset) for offset in range(80)), *((1, offset) for offset in range(10))]
    assert cluster(places_on_cluster, str(logs)) == [places, places]
