"""The peers that read a topic through a broker over the same bytes: Kafka's clients and Spark's Kafka source.

The broker and the Spark session start when the first peer that needs them runs. A broker's CPU time counts together
with its clients'.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tests.interop.broker import Broker

from benchmarks import clocks, kafka
from benchmarks.data import FOLDER, DataSet
from benchmarks.measure import Contender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def nothing() -> None:
    """A peer that does not run here."""


def tool(name: str, line: list[str] | None) -> Contender:
    """A peer that is a command."""
    return Contender(name, (lambda: kafka.run(line)) if line else nothing, clocks.children)


class Peers:
    """Owns the broker and the session; `close` stops what was started."""

    def __init__(self, scale: float, *sets: DataSet) -> None:
        self._scale = scale
        self._sets = sets
        self._stack = ExitStack()
        self._started: Broker | None = None
        self._session: SparkSession | None = None

    def close(self) -> None:
        self._stack.close()

    def java(self, data: DataSet) -> Contender:
        return self._client("Java consumer", data, kafka.consumer_performance, clocks.children)

    def confluent(self, data: DataSet) -> Contender:
        return self._client("confluent-kafka", data, kafka.confluent_consume, clocks.own)

    def get_offsets(self) -> Contender:
        def ask() -> None:
            place = "--bootstrap-server", self._broker().bootstrap_servers, "--topic", "d1"
            line = kafka.java_tool("GetOffsetShell", *place)
            assert line is not None
            kafka.run(line)

        return Contender("kafka-get-offsets", ask if kafka.is_here() else nothing, clocks.children)

    def spark_to_parquet(self, data: DataSet) -> Contender:
        """Spark's Kafka source into Spark's Parquet files, with the default columns and codec of both."""
        name = "Spark, Kafka to Parquet"
        if not kafka.is_here() or not _has_spark():
            return Contender(name, nothing)
        return Contender(name, partial(self._to_parquet, data), clocks.together(self._spark_cpu, self._broker_cpu))

    def _client(
        self, name: str, data: DataSet, consume: Callable[[Broker, DataSet, float], None], clock: clocks.Clock
    ) -> Contender:
        if not kafka.is_here():
            return Contender(name, nothing)
        both = clocks.together(clock, self._broker_cpu)
        return Contender(name, lambda: consume(self._broker(), data, self._scale), both)

    def _to_parquet(self, data: DataSet) -> None:
        options = {"kafka.bootstrap.servers": self._broker().bootstrap_servers, "subscribe": data.name}
        frame = self._spark().read.format("kafka").options(**options).load()
        frame.write.mode("overwrite").parquet(str((FOLDER / "spark-out").resolve()))

    def _broker(self) -> Broker:
        if self._started is None:
            self._started = self._stack.enter_context(kafka.broker_over(self._scale, *self._sets))
        assert self._started is not None
        return self._started

    def _broker_cpu(self) -> float:
        return clocks.of_process(self._broker().pid)

    def _spark(self) -> SparkSession:
        if self._session is None:
            from benchmarks.spark_session import session

            self._session = session()
            self._stack.callback(self._session.stop)
            self._stack.callback(shutil.rmtree, FOLDER / "spark-out", ignore_errors=True)
        return self._session

    def _spark_cpu(self) -> float:
        from benchmarks.spark_session import cpu_of

        return cpu_of(self._spark())()


def _has_spark() -> bool:
    if find_spec("pyspark") is None:
        return False
    from tests.spark.sessions import CONNECTOR

    return any(CONNECTOR.glob("*.jar"))
