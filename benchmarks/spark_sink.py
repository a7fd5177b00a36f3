"""The Spark sink compared with the transport alone and Spark's own Kafka sink: `python -m benchmarks.spark_sink`.

The transport is an Arrow writer in Python that drops what it gets: the least that any sink in Python costs. CPU seconds
are those of the JVM, of the Python processes it started and, for the Kafka sink, of the broker.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from benchmarks import clocks
from benchmarks.kafka import new_broker
from benchmarks.measure import Contender, measure
from benchmarks.options import parse
from benchmarks.results import Result, keep
from benchmarks.spark_session import cpu_of, session

ROWS = 8_000_000
PARTITIONS = 4
TOPIC = "written"
OF_KAFKA = 3.0  # the gate, by CPU time
KAFKA = "Kafka sink"
COMPARED = "octavo, no codec"  # like the Kafka sink by default


class Dropped(DataSource):
    """A sink that drops its rows."""

    @classmethod
    def name(cls) -> str:
        return "dropped"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return DroppingWriter()


class DroppingWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


def rows_of_116_bytes(spark: SparkSession, rows: int) -> DataFrame:
    """Keys of 16 bytes and values of 100, kept in memory."""
    frame = spark.range(0, rows, numPartitions=2).selectExpr(
        "cast(lpad(cast(id as string), 16, '0') as binary) key",
        "cast(rpad(sha2(cast(id as string), 256), 100, 'x') as binary) value",
    )
    frame = frame.cache()
    frame.count()
    return frame


def compare(spark: SparkSession, servers: str | None, broker: clocks.Clock, terms: argparse.Namespace) -> None:
    """Run all sinks in turns, in one session; Octavo's into new directories, Kafka's into the same topic each time."""
    rows, clock = int(ROWS * terms.scale), cpu_of(spark)
    frame = rows_of_116_bytes(spark, rows)
    folder = Path(tempfile.mkdtemp(prefix="octavo-sink-"))

    def save(format_name: str, **more: str) -> Callable[[], None]:
        def run() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            writer = frame.write.format(format_name).mode("append").option("topic", TOPIC).options(**more)
            writer.option("partitions", PARTITIONS).save(str(folder))

        return run

    contenders = [
        Contender("transport", save("dropped"), clock),
        Contender(COMPARED, save("octavo"), clock),
        Contender("octavo, zstd", save("octavo", **{"kafka.compression.type": "zstd"}), clock),
    ]
    contenders = [each for each in contenders if each.name == "transport" or terms.only in each.name]
    if servers is not None:
        peer = frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", TOPIC)
        contenders.append(Contender(KAFKA, peer.save, clocks.together(clock, broker)))
    try:
        measure(contenders, terms.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    cpu = {contender.name: contender.best_cpu for contender in contenders}
    if KAFKA in cpu and COMPARED in cpu:
        keep(Result("sink, 116 B rows", cpu[COMPARED], KAFKA, cpu[KAFKA], "cpu", False, terms.scale))
    report(contenders, rows, terms.json)


def report(contenders: list[Contender], rows: int, as_json: bool) -> None:
    cpu = {contender.name: contender.best_cpu for contender in contenders}
    for contender in contenders:
        if as_json:
            figure = {"rows": rows, "cpu_s": contender.best_cpu, "wall_s": contender.best_wall}
            gate = OF_KAFKA if contender.name == COMPARED else 0.0
            ratio = {"times_the_kafka_sink": cpu[KAFKA] / contender.best_cpu, "gate": gate} if KAFKA in cpu else {}
            print(json.dumps({"sink": contender.name, **figure, **ratio}), flush=True)
            continue
        told = f"{cpu['transport'] / contender.best_cpu:5.2f} of the transport"
        if KAFKA in cpu and contender.name != KAFKA:
            ratio = cpu[KAFKA] / contender.best_cpu
            told += f"  {ratio:5.2f} x the Kafka sink"
            if contender.name == COMPARED:
                told += f", gate {OF_KAFKA:.1f} {'met' if ratio >= OF_KAFKA else 'MISSED'}"
        speed = f"{rows / contender.best_cpu / 1e6:6.2f} M rows per CPU s  {contender.best_wall:6.2f} s"
        print(f"sink, 116 B rows  {contender.name:16} {speed}  {told}", flush=True)


def main() -> None:
    options = parse(
        "benchmarks.spark_sink", __doc__, scale=0.5, of="share of 8 million rows", rounds=3, what="our sinks"
    )
    with new_broker(TOPIC, PARTITIONS) as broker:
        spark = session()
        spark.dataSource.register(Dropped)
        servers = None if broker is None else broker.bootstrap_servers
        used = (lambda: 0.0) if broker is None else (lambda: clocks.of_process(broker.pid))
        compare(spark, servers, used, options)
        spark.stop()


if __name__ == "__main__":
    main()
