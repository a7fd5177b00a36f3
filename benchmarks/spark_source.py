"""The Spark source compared with the transport alone and Spark's own Kafka source: `python -m benchmarks.spark_source`.

The transport is a Python data source that returns the same record batch again and again: the least that any source in
Python costs. CPU seconds are those of the JVM, of the Python processes it started and, for the Kafka source, of the
broker.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.interop.broker import Broker
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

from benchmarks import clocks
from benchmarks.data import D1, D2, D3_RECORDS, DataSet, json_path
from benchmarks.directory import log_directory
from benchmarks.kafka import broker_over
from benchmarks.measure import Contender, measure
from benchmarks.options import parse
from benchmarks.results import Result, keep
from benchmarks.spark_session import cpu_of, session
from octavo.format.compression import Codec

SEVEN = "key,value,topic,partition,offset,timestamp,timestampType"
TWO = "value,offset"


class Json(DataSet):
    """d3 compressed with zstd."""

    def path(self, scale: float) -> Path:
        return json_path(Codec.ZSTD, scale)


D3 = Json("d3_zstd", D3_RECORDS, 0, 0)


@dataclass(frozen=True)
class Query:
    """A query to compare, and the lowest acceptable ratios to the transport and to Spark's Kafka source, by CPU
    time."""

    name: str
    data: DataSet
    columns: str = SEVEN
    of_transport: float = 0.0
    of_kafka: float = 0.0
    stream: bool = False


QUERIES = (
    Query("read d1, 7 columns", D1, of_transport=0.8, of_kafka=2.1),
    Query("read d1, value + offset", D1, TWO, of_kafka=4.5),
    Query("read d2, 7 columns", D2, of_transport=0.7, of_kafka=1.9),
    Query("read d3 (JSON, zstd), 7 columns", D3, of_kafka=2.4),
    Query("stream d1, availableNow", D1, of_transport=0.85, of_kafka=1.5, stream=True),
)


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def noop_stream(frame: DataFrame) -> None:
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


class Comparison:
    """Runs queries in one session over one directory, and over a broker that has the same bytes."""

    def __init__(self, spark: SparkSession, root: Path, broker: Broker | None, scale: float) -> None:
        self._spark = spark
        self._root = str(root.resolve())
        self._broker = broker
        self._scale = scale

    def run(self, query: Query, rounds: int, as_json: bool) -> None:
        contenders = {name: Contender(name, *job) for name, job in self._jobs(query).items()}
        measure(list(contenders.values()), rounds)
        rows = query.data.rows(self._scale)
        gates = {"transport": query.of_transport, "kafka": query.of_kafka}
        if peer := contenders.get("kafka"):
            ours = contenders["octavo"].best_cpu
            keep(Result(query.name, ours, "Spark's Kafka source", peer.best_cpu, "cpu", False, self._scale))
        for name, contender in contenders.items():
            peers = [peer for peer in gates if peer in contenders and name not in gates]
            figure = {
                "query": query.name,
                "contender": name,
                "m_rows_a_cpu_s": round(rows / contender.best_cpu / 1e6, 3),
                "cpu_s": round(contender.best_cpu, 2),
                "wall_s": round(contender.best_wall, 2),
                "times": {peer: round(contenders[peer].best_cpu / contender.best_cpu, 3) for peer in peers},
                "gates": {peer: gates[peer] for peer in peers if gates[peer]},
            }
            print(json.dumps(figure) if as_json else _line(figure), flush=True)

    def warm_up(self, query: Query) -> None:
        """Run a query uncounted: what the JVM compiles for a session's first queries serves all later ones."""
        for job, _ in self._jobs(query).values():
            job()

    def _jobs(self, query: Query) -> dict[str, tuple[Callable[[], None], clocks.Clock]]:
        from octavo.spark import scan, scan_stream

        spark, data = self._spark, query.data
        act, clock = noop_stream if query.stream else noop, cpu_of(spark)

        def load(name: str, **given: str) -> DataFrame:
            reader: Any = spark.readStream if query.stream else spark.read
            return reader.format(name).options(**given).load()  # type: ignore[no-any-return]

        options = {"subscribe": data.name, "startingOffsets": "earliest"}
        ours = {**options, "columns": query.columns, "path": self._root}
        rows = str(data.rows(self._scale))
        jobs = {
            "octavo": (lambda: act(load("octavo", **ours)), clock),
            "transport": (lambda: act(load("transport", **ours, rows=rows)), clock),
        }
        by_arrow = scan_stream if query.stream else scan
        given = {**options, "columns": query.columns}
        jobs[f"octavo.spark.{by_arrow.__name__}"] = (lambda: act(by_arrow(spark, self._root, **given)), clock)
        if self._broker is not None:
            servers, broker = {"kafka.bootstrap.servers": self._broker.bootstrap_servers}, self._broker.pid
            chosen = query.columns.split(",")
            jobs["kafka"] = (
                lambda: act(load("kafka", **options, **servers).select(*chosen)),
                clocks.together(clock, lambda: clocks.of_process(broker)),
            )
        return jobs


def _line(figure: dict[str, Any]) -> str:
    speed = f"{figure['m_rows_a_cpu_s']:6.2f} M rows per CPU s, {figure['cpu_s']:5.2f} CPU s, {figure['wall_s']:5.2f} s"
    parts = [f"{figure['query']:32} {figure['contender']:24} {speed}"]
    for peer, times in figure["times"].items():
        gate = figure["gates"].get(peer)
        told = "" if gate is None else f" (gate {gate:g} {'met' if times >= gate else 'MISSED'})"
        parts.append(f"{times:.2f} x {peer}{told}")
    return "; ".join(parts)


def plan_many(folder: Path, partitions: int) -> None:
    """Print how much time and memory it takes to plan a query over a directory with many partitions."""
    from octavo.spark.query.source_options import SourceOptions
    from octavo.spark.source.batch_reader import batch_reader

    content = batch(0, 3)
    for number in range(partitions):
        if not (folder / f"many-{number}").is_dir():
            write_segment(folder / f"many-{number}", 0, content)
    options = {"path": str(folder), "subscribe": "many"}
    reader = batch_reader(options, SourceOptions.of(options).schema())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    tasks = reader.partitions()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"plan {partitions} partitions: {wall:.2f} s, {cpu:.2f} CPU s, {grown >> 10} MB more, {len(tasks)} tasks")


def main() -> None:
    options = parse(
        "benchmarks.spark_source",
        __doc__,
        scale=0.5,
        of="share of the full data sets (1.0: up to 1 GB each)",
        rounds=3,
        what="queries",
    )
    if options.only in "plan":
        plan_many(Path(".cache/bench/many"), 10_000)
    chosen = [query for query in QUERIES if options.only in query.name]
    sets = list(dict.fromkeys(query.data for query in chosen))
    if not sets:
        return
    root = log_directory(options.scale, *sets)
    with broker_over(options.scale, *sets) as broker:
        spark = session()
        comparison = Comparison(spark, root, broker, options.scale)
        comparison.warm_up(chosen[0])
        for query in chosen:
            comparison.run(query, options.rounds, options.json)
        spark.stop()


if __name__ == "__main__":
    main()
