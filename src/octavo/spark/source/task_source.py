"""A stream of the tasks that `readStream.format("octavo")` would read, as rows: who gets one reads it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, InputPartition

from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions
from octavo.spark.source.stream_reader import StreamReader
from octavo.spark.source.tasks import SourcePartition

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader
    from pyspark.sql.types import StructType


class TaskSource(DataSource):
    """Takes the options of `format("octavo")`."""

    @classmethod
    def name(cls) -> str:
        return "octavo_tasks"

    def schema(self) -> str:
        return "task binary"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _TaskStream(SourceOptions.of(self.options), StreamOptions.of(self.options))


class _TaskStream(StreamReader):
    """Plans as StreamReader does, and reads nothing but its plan."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield (pickle.dumps(partition),)


def task_of(row: bytes) -> SourcePartition:
    """The task in a row."""
    task = pickle.loads(row)
    assert isinstance(task, SourcePartition)
    return task
