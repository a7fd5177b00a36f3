"""The Spark sink beside the transport alone: `python -m benchmarks.spark_sink`.

The transport: an Arrow writer in Python that drops what it gets. What it takes is what any sink in Python takes at
least. CPU seconds are those of the JVM and of the Python processes that it started, also of those that have ended.
Spark's Kafka sink, with its broker's CPU counted: 0.40 M rows a CPU second where the transport does 1.6.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from benchmarks.measure import Contender, measure

PARTITIONS = 4
_SAMPLE_SECONDS = 0.05


class Dropped(DataSource):
    """Rows into nothing."""

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


def session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate()


class TreeClock:
    """The CPU seconds of a process and of all that it starts, sampled: what a process used counts on when it has ended.

    (Spark's Python workers come and go, and their parent does not wait for them, so the system's sums lose them.)
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used: dict[tuple[int, str], int] = {}  # ticks by process id and start time
        threading.Thread(target=self._sample_on, daemon=True).start()

    def __call__(self) -> float:
        self._sample()
        return sum(self._used.values()) / os.sysconf("SC_CLK_TCK")

    def _sample_on(self) -> None:
        while True:
            self._sample()
            time.sleep(_SAMPLE_SECONDS)

    def _sample(self) -> None:
        todo = [self._pid]
        while todo:
            each = todo.pop()
            try:
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                self._used[each, fields[19]] = int(fields[11]) + int(fields[12])
                for task in Path(f"/proc/{each}/task").iterdir():
                    todo += map(int, (task / "children").read_text().split())
            except OSError:
                continue


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.spark_sink", description=__doc__)
    words.add_argument("--rows", type=int, default=2_000_000)
    words.add_argument("--rounds", type=int, default=3)
    options = words.parse_args()
    spark = session()
    spark.dataSource.register(Dropped)
    folder = Path(tempfile.mkdtemp(prefix="octavo-sink-"))
    # 116 B a row: a key of 16 bytes, a value of 100.
    rows = spark.range(0, options.rows, numPartitions=2).selectExpr(
        "cast(lpad(cast(id as string), 16, '0') as binary) key",
        "cast(rpad(sha2(cast(id as string), 256), 100, 'x') as binary) value",
    )
    rows = rows.cache()
    rows.count()
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]

    def save(format_name: str, **more: str) -> Callable[[], None]:
        def run() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            writer = rows.write.format(format_name).mode("append").option("topic", "t").options(**more)
            writer.option("partitions", PARTITIONS).save(str(folder))

        return run

    runs = {
        "transport": save("dropped"),
        "octavo": save("octavo"),
        "octavo, zstd": save("octavo", **{"kafka.compression.type": "zstd"}),
    }
    clock = TreeClock(pid)
    contenders = [Contender(name, run, clock) for name, run in runs.items()]
    try:
        measure(contenders, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    limit = contenders[0]
    for contender in contenders:
        print(
            f"sink, 116 B rows  {contender.name:14} {options.rows / contender.best_cpu / 1e6:6.2f} M rows a CPU s"
            f"  {contender.best_wall:6.2f} s  {limit.best_cpu / contender.best_cpu:5.2f} of the transport",
            flush=True,
        )


if __name__ == "__main__":
    main()
