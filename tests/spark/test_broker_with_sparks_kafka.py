"""Spark's own `format("kafka")` against an `octavo.Broker`: batch and stream, source and sink.

Its source assigns partitions to its consumers and lists offsets with an admin client; it joins no group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import octavo
from tests.spark.sessions import CONNECTOR

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS = 3000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[octavo.Broker]:
    if not any(CONNECTOR.glob("*.jar")):
        pytest.skip(f"Spark's Kafka source is not in {CONNECTOR}: `make kafka` fetches it")
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        logs.create_topic("orders", partitions=3)
        logs.create_topic("copies", partitions=2)
        with logs.producer(compression_type="zstd") as producer:
            for number in range(RECORDS):
                producer.send("orders", key=str(number), value=str(number * 2), headers=[("n", b"1")])
        with octavo.Broker(logs) as running:
            yield running


def texts(frame: DataFrame) -> dict[str, str]:
    rows = frame.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value").collect()
    assert len({row.key for row in rows}) == len(rows), "no record comes twice"
    return {row.key: row.value for row in rows}


EXPECTED = {str(number): str(number * 2) for number in range(RECORDS)}


def test_sparks_kafka_source_and_sink_work_with_a_broker(
    spark: SparkSession, broker: octavo.Broker, tmp_path: Path
) -> None:
    address = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    batch = spark.read.format("kafka").options(**address, subscribe="orders", includeHeaders="true").load()
    assert texts(batch) == EXPECTED
    assert batch.selectExpr("headers[0].key AS h").distinct().collect() == [("n",)]
    ours = spark.read.format("octavo").option("subscribe", "orders").load(str(tmp_path / "logs"))
    columns = ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value"]
    assert batch.select(columns).exceptAll(ours.select(columns)).count() == 0, "the same rows as from the files"

    to_copies = {**address, "topic": "copies"}
    batch.select("key", "value").write.format("kafka").options(**to_copies).save()
    copies = spark.read.format("kafka").options(**address, subscribe="copies").load()
    assert texts(copies) == EXPECTED

    stream = spark.readStream.format("kafka").options(
        **address, subscribe="orders", startingOffsets="earliest", maxOffsetsPerTrigger="1000"
    )
    writer = stream.load().select("key", "value").writeStream.format("kafka").options(**address, topic="streamed")
    query = run(writer.option("checkpointLocation", str(tmp_path / "checkpoint")))
    assert sum(row["numInputRows"] for row in query.recentProgress) == RECORDS
    streamed = spark.read.format("octavo").option("subscribe", "streamed").load(str(tmp_path / "logs"))
    assert texts(streamed) == EXPECTED, "a topic that the broker made for the sink"
