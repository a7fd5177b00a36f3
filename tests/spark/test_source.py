"""`format("octavo")` in a session: golden archives in batch and stream, pushed filters, progress, restarts, errors."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import octavo.spark
from tests.golden.client_records import WITH_RECORDS, Partition, Row, expected, log_dirs, text
from tests.scanner.segments import write_segment
from tests.spark.orders import TEN, write_orders
from tests.spark.sessions import Run

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from pyspark.errors import PySparkException

from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# One of each kind. `make soak` takes all (OCTAVO_SPARK_ARCHIVES=all); test_golden_readers reads all without a session.
SAMPLE = ("v431-clean", "v431-two-dirs", "v431-killed", "v0821", "v282-compacted", "upgrade-mixed-compacted")
ARCHIVES = WITH_RECORDS if os.environ.get("OCTAVO_SPARK_ARCHIVES") == "all" else SAMPLE
KINDS = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
Read = dict[tuple[str, str, str, int], list[Row]]  # archive, isolation, topic, partition


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_orders(tmp_path / "logs")


def load(reader: Any, archive: str, isolation: str) -> DataFrame:
    """An archive's records in the form that is compared, whichever way they are read."""
    from pyspark.sql import functions

    topics = sorted({topic for level, topic, _ in expected(archive) if level == isolation})
    paths = [str(path) for path in log_dirs(archive)]
    reader = reader.format("octavo").option("subscribe", ",".join(topics)).option("includeHeaders", "true")
    reader = reader.option("kafka.isolation.level", isolation).option("startingOffsets", "earliest")
    frame: DataFrame = reader.option("paths", str(paths).replace("'", '"')).load()
    names = functions.lit(archive).alias("archive"), functions.lit(isolation).alias("isolation")
    return frame.select("*", functions.unix_millis("timestamp").alias("ms"), *names)


def collected(frame: DataFrame) -> Read:
    found: Read = defaultdict(list)
    for row in frame.collect():
        assert row.headers != [], "a record without headers has null, as in Spark's Kafka source"
        headers = [[header.key, text(header.value)] for header in row.headers or []]
        place = row.archive, row.isolation, row.topic, row.partition
        found[place].append((row.offset, row.ms, KINDS[row.timestampType], text(row.key), text(row.value), headers))
    return found


def wanted(archive: str, *isolations: str) -> dict[tuple[str, str, str, int], list[Row]]:
    table: dict[Partition, list[Row]] = expected(archive)
    return {(archive, *place): rows for place, rows in table.items() if place[0] in isolations}


def isolations(archive: str) -> list[str]:
    return sorted({isolation for isolation, _, _ in expected(archive)})


def test_a_batch_gives_what_a_real_client_read(spark: SparkSession) -> None:  # T6
    """All archives in one query, since planning and starting one costs more than reading them."""
    frames: list[DataFrame] = []
    rows: dict[tuple[str, str, str, int], list[Row]] = {}
    for archive in ARCHIVES:
        frames += [load(spark.read, archive, isolation) for isolation in isolations(archive)]
        rows |= wanted(archive, *isolations(archive))
    found = collected(reduce(lambda one, two: one.union(two), frames))
    assert found.keys() == rows.keys()
    assert [place for place in rows if found[place] != rows[place]] == []


@pytest.mark.parametrize("part", range(2))
def test_a_stream_gives_what_a_real_client_read(spark: SparkSession, part: int) -> None:  # T6
    frames: list[DataFrame] = []
    rows: dict[tuple[str, str, str, int], list[Row]] = {}
    for archive in ARCHIVES[part::2]:
        isolation = isolations(archive)[0]  # read_committed where there are transactions
        frames.append(load(spark.readStream, archive, isolation))
        rows |= wanted(archive, isolation)
    frame = reduce(lambda one, two: one.union(two), frames)
    run(frame.writeStream.format("memory").queryName(f"golden{part}"))
    found = collected(spark.table(f"golden{part}"))
    assert found.keys() == rows.keys()
    assert [place for place in rows if found[place] != rows[place]] == []


def read(spark: SparkSession, logs: Path, **options: str) -> DataFrame:
    return spark.read.format("octavo").options(**{"subscribe": "orders", **options}).load(str(logs))


def test_filters_are_pushed_down_where_the_conf_allows_and_right_everywhere(spark: SparkSession, logs: Path) -> None:
    where = "offset >= 12 and partition in (0, 7) and timestamp < timestamp_millis(3005) and topic = 'orders'"
    rows = {}
    for enabled in ("true", "false"):
        spark.conf.set(PUSHDOWN, enabled)
        frame = read(spark, logs).where(where).select("offset")
        rows[enabled] = [row.offset for row in frame.collect()]
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert ("Filter (" in plan) == (enabled == "false"), plan
    spark.conf.set(PUSHDOWN, "false")
    assert rows == {"true": list(range(12, 35)), "false": list(range(12, 35))}


def test_columns_and_limits_choose_what_is_read(spark: SparkSession, logs: Path) -> None:
    ends = '{"orders":{"0":42,"1":-1}}'
    frame = read(spark, logs, columns="offset,partition", endingOffsets=ends, startingTimestamp="3")
    assert frame.columns == ["offset", "partition"]
    rows = [*((offset, 0) for offset in range(3, 42)), *((offset, 1) for offset in range(3, 10))]
    assert sorted(map(tuple, frame.collect())) == sorted(rows)


def test_several_directories_are_one_source(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_segment(other / "orders-2", 0, *TEN[:2])
    rows = [*((0, offset) for offset in range(80)), *((1, offset) for offset in range(10))]
    rows += [(2, offset) for offset in range(20)]
    paths = [str(logs), f"file:{other}"]

    def places(frame: DataFrame) -> list[tuple[int, int]]:
        return sorted(map(tuple, frame.select("partition", "offset").collect()))

    reader = spark.read.format("octavo").option("subscribe", "orders")
    assert places(reader.load(paths)) == rows
    assert places(reader.option("paths", json.dumps(paths)).load()) == rows
    stream = spark.readStream.format("octavo").options(subscribe="orders", startingOffsets="earliest")
    run(stream.option("paths", json.dumps(paths)).load().writeStream.format("memory").queryName("several"))
    assert places(spark.table("several")) == rows


def test_patterns_of_paths_are_expanded_and_all_topics_are_read(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        write_segment(tmp_path / f"disk{number}" / f"orders-{number}", 0, *TEN[:2])
    write_segment(tmp_path / "disk[2]" / "payments-0", 0, *TEN[:1])
    write_segment(tmp_path / "disk1" / "__consumer_offsets-0", 0, *TEN[:1])
    assert spark.read.format("octavo").load(f"{tmp_path}/disk*").groupBy("topic").count().orderBy(
        "topic"
    ).collect() == [
        ("orders", 40),
        ("payments", 10),
    ]
    assert spark.read.format("octavo").load(f"file:{tmp_path}/disk[2]").count() == 10, "a name, not a pattern"
    with pytest.raises(PySparkException, match="no path matches this pattern"):
        spark.read.format("octavo").load(f"{tmp_path}/tape*").count()


def test_the_format_can_be_registered_by_hand(spark: SparkSession, logs: Path) -> None:
    session = spark.newSession()
    octavo.spark.register(session)
    manager = session._jsparkSession.sessionState().dataSourceManager()
    by_hand = manager.getClass().getDeclaredField("runtimeDataSourceBuilders")
    by_hand.setAccessible(True)
    assert by_hand.get(manager).containsKey("octavo"), "registered, not only discovered by Spark"
    assert read(session, logs).count() == 90


def test_an_empty_topic_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs" / "orders-0").mkdir(parents=True)
    (tmp_path / "logs" / "orders-0" / f"{0:020}.log").touch()
    assert read(spark, tmp_path / "logs").collect() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": "nothing"}, "there is no topic 'nothing'"),
        ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries"),
        ({"endingOffsets": '{"orders":{"0":42,"1":20}}'}, "failOnDataLoss to false. Reason: Could not read records"),
    ],
)
def test_an_error_says_what_was_wrong(spark: SparkSession, logs: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException, match=re.escape(message)):
        read(spark, logs, **options).collect()


def test_the_parent_of_log_directories_is_refused_in_a_few_lines(spark: SparkSession, logs: Path) -> None:
    with pytest.raises(PySparkException, match="no partitions here; log directory below it: logs") as refusal:
        read(spark, logs.parent).collect()
    assert len(str(refusal.value).splitlines()) <= 5  # Spark's own lines, one frame, the sentence


def test_a_query_goes_on_from_its_checkpoint_and_reports_how_far_the_log_goes(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    frame = (
        spark.readStream.format("octavo")
        .options(
            subscribePattern="ord",
            startingOffsets="earliest",
            maxOffsetsPerTrigger="45",
            columns="topic,partition,offset",
        )
        .load(str(logs))
    )
    writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    progress = run(writer).recentProgress
    assert [row["numInputRows"] for row in progress if row["numInputRows"]] == [45, 45]
    (source,) = progress[0]["sources"]
    assert json.loads(source["latestOffset"]) == {"orders": {"0": 80, "1": 10}}
    assert json.loads(source["endOffset"]) == {"orders": {"0": 40, "1": 5}}
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    write_segment(logs / "orders-2", 0, *TEN[:1])
    write_segment(logs / "ordinary-0", 0, *TEN[:1])
    run(writer)
    by_partition: dict[tuple[str, int], list[int]] = defaultdict(list)
    rows = spark.read.parquet(str(tmp_path / "rows")).select("topic", "partition", "offset").collect()
    for topic, partition, offset in sorted(map(tuple, rows)):
        by_partition[topic, partition].append(offset)
    assert by_partition == {
        ("orders", 0): list(range(100)),
        ("orders", 1): list(range(10)),
        ("orders", 2): list(range(10)),
        ("ordinary", 0): list(range(10)),
    }


def on_cluster(spark: SparkSession, logs: str) -> list[tuple[int, int]]:
    frame = spark.read.format("octavo").option("subscribe", "orders").option("maxRecordsPerPartition", "20").load(logs)
    assert frame.rdd.getNumPartitions() == 5
    return sorted((row.partition, row.offset) for row in frame.collect())


def stream_on_cluster(spark: SparkSession, logs: str) -> list[tuple[int, int]]:
    frame = spark.readStream.format("octavo").options(subscribe="orders", startingOffsets="earliest").load(logs)
    run(frame.writeStream.format("memory").queryName("orders"))
    return sorted((row.partition, row.offset) for row in spark.table("orders").collect())


def test_a_batch_and_a_stream_read_everything_on_a_cluster(cluster: Run, logs: Path) -> None:  # T6
    rows = [*((0, offset) for offset in range(80)), *((1, offset) for offset in range(10))]
    assert cluster(on_cluster, str(logs)) == rows
    assert cluster(stream_on_cluster, str(logs)) == rows
