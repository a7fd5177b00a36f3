"""A Spark session to measure in, the CPU seconds of all its processes, and the transport cost of any Python source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType
from tests.spark.sessions import CONNECTOR

from benchmarks import clocks


def session() -> SparkSession:
    """A session on local[2], with Spark's Kafka source if `make kafka` has fetched it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.jars", ",".join(map(str, CONNECTOR.glob("*.jar"))))
    # The setting that docs/spark-guide.md recommends: batches need not go through TCP.
    builder = builder.config("spark.python.unix.domain.socket.enabled", "true")
    spark: SparkSession = builder.config("spark.log.level", "ERROR").getOrCreate()
    spark.dataSource.register(Transport)
    return spark


def cpu_of(spark: SparkSession) -> clocks.Clock:
    """The CPU seconds of the JVM and everything it started, running or finished."""
    jvm: Any = spark.sparkContext._jvm
    return _tree(int(jvm.java.lang.ProcessHandle.current().pid()))


@cache
def _tree(pid: int) -> clocks.Clock:
    return clocks.Tree(pid)


class Transport(DataSource):
    """A source that hardly reads: each task repeats its first record batch up to its share of the rows."""

    @classmethod
    def name(cls) -> str:
        return "transport"

    def schema(self) -> StructType:
        from octavo.spark.query.source_options import SourceOptions

        return SourceOptions.of(self.options).schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return TransportReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return TransportStream(TransportReader(dict(self.options), schema))


class TransportReader(DataSourceReader):
    """The tasks of Octavo's source, each with an equal share of the `rows`."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._rows = int(options.pop("rows"))
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        tasks = self._source().partitions()
        return [Share(task, -(-self._rows // len(tasks))) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Share)
        batch = next(self._source().read(partition.task))
        rows = partition.rows
        while rows > 0:
            yield batch.slice(0, rows)
            rows -= batch.num_rows

    def _source(self) -> Any:
        from octavo.spark.source.batch_reader import batch_reader

        return batch_reader(self._options, self._schema)


class TransportStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """All rows in one micro-batch."""

    def __init__(self, rows: TransportReader) -> None:
        self._rows = rows

    def initialOffset(self) -> dict[str, int]:
        return {"micro-batch": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """Do nothing: there is only one micro-batch anyway."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"micro-batch": 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return self._rows.partitions() if start != end else []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._rows.read(partition)


@dataclass(frozen=True)
class Share(InputPartition):
    """A task of Octavo's source, and the number of rows to return for it."""

    task: InputPartition
    rows: int
