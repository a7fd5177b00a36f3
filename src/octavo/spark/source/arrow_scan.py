"""`octavo.spark.scan` and `scan_stream`: what `format("octavo")` reads, through mapInArrow.

Spark makes an extra copy of each row of a data source, but not of the rows of mapInArrow.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, InputPartition

from octavo.errors import ConfigError
from octavo.spark.query.limits import batch_limits
from octavo.spark.query.options import refuse_unknown, warn_of
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions, warn_of_stream
from octavo.spark.source.batch_reader import BatchReader
from octavo.spark.source.skipped import collect_skipped
from octavo.spark.source.stream_reader import StreamReader
from octavo.spark.worker import use_this_python

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSourceStreamReader
    from pyspark.sql.types import StructType

    from octavo.storage.directory.log_roots import Paths

_with_tasks: WeakSet[SparkSession] = WeakSet()  # the sessions in which TaskSource is registered


def scan(
    spark: SparkSession,
    paths: Paths,
    topics: str | Sequence[str] = (),
    *,
    isolation_level: str | None = None,
    **options: object,
) -> DataFrame:
    """What `format("octavo")` reads with these options.

    The scan is planned by the call, so each use of the result reads the same offsets.

    Args:
        spark: the session.
        paths: one or several log directories, partition folders, segment files, or URLs of them.
        topics: one or several names, the same as the option `subscribe`; none: all except Kafka's internal topics,
            unless `subscribePattern` or `assign` is given.
        isolation_level: "read_uncommitted" or "read_committed", the same as the option `isolationLevel`.
        options: the other options of the source, by their names there, such as `startingOffsets`. Lists may be given
            instead of texts with commas, and dicts instead of JSON. None leaves an option out.

    Raises:
        ConfigError: an option is unknown or wrong.
        UnknownTopicOrPartitionError: a topic does not exist.
    """
    texts = _texts("octavo.spark.scan", paths, {**options, **_named(topics, isolation_level, options)})
    checked = SourceOptions.of(texts)
    use_this_python(spark)
    collect_skipped(spark)
    warn_of(texts, "batch")
    reader = BatchReader(checked, *batch_limits(texts))
    planned = reader.partitions()
    shared = spark.sparkContext.broadcast(planned)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from reader.read(shared.value[number])

    frame = spark.range(len(planned), numPartitions=len(planned))
    return frame.mapInArrow(read, checked.schema())


def scan_stream(
    spark: SparkSession,
    paths: Paths,
    topics: str | Sequence[str] = (),
    *,
    isolation_level: str | None = None,
    **options: object,
) -> DataFrame:
    """What `readStream.format("octavo")` reads with these options; each can continue from the other's checkpoints.

    The arguments are those of `scan`. The stream's source yields tasks, so a query's progress counts tasks as input
    rows.
    """
    texts = _texts("octavo.spark.scan_stream", paths, {**options, **_named(topics, isolation_level, options)})
    checked = SourceOptions.of(texts)
    use_this_python(spark)
    collect_skipped(spark)
    reader = StreamReader(checked, StreamOptions.of(texts))
    warn_of_stream(texts)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.column("task").to_pylist():
                yield from reader.read(pickle.loads(row))

    if spark not in _with_tasks:  # Spark warns if a source is registered twice
        spark.dataSource.register(TaskSource)
        _with_tasks.add(spark)
    given = {name: text for name, text in texts.items() if name != "path"}
    given["paths"] = json.dumps(checked.paths)  # absolute, because the query's processes may run in another folder
    tasks = spark.readStream.format(TaskSource.name()).options(**given).load()
    return tasks.mapInArrow(read, checked.schema())


def _named(
    topics: str | Sequence[str], isolation_level: str | None, options: Mapping[str, object]
) -> dict[str, object]:
    """The options that `topics` and `isolation_level` stand for."""
    if isinstance(topics, re.Pattern):
        raise ConfigError("topics is a pattern, expected names; give the pattern as subscribePattern")
    given = {name.lower() for name, value in options.items() if value is not None}
    named: dict[str, object] = {}
    for argument, option, value in (
        ("topics", "subscribe", topics or None),
        ("isolation_level", "isolationLevel", isolation_level),
    ):
        if value is not None and option.lower() in given:
            raise ConfigError(f"{argument} and {option} mean the same; give one of them")
        if value is not None:
            named[option] = value
    return named


def _texts(function: str, paths: Paths, options: Mapping[str, object]) -> Mapping[str, str]:
    """The options as Spark passes them to readers: texts with case-insensitive names. None leaves an option out."""
    refuse_unknown(options, function)
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    texts = {"paths": json.dumps([os.fspath(path) for path in given])}
    for name, value in options.items():
        if value is not None:
            texts[name] = _text(name, value)
    return CaseInsensitiveDict(texts)


def _text(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        try:
            return json.dumps(value)
        except TypeError:
            expected = "texts and numbers, such as {'orders': {'0': 5}}"
            raise ConfigError(f"{name} is {value!r}, expected a dict of {expected}") from None
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


class TaskSource(DataSource):
    """A stream whose rows are the tasks that `readStream.format("octavo")` would read. It has the same options."""

    @classmethod
    def name(cls) -> str:
        return "octavo_tasks"

    def schema(self) -> str:
        return "task binary"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _TaskStream(SourceOptions.of(self.options), StreamOptions.of(self.options))


class _TaskStream(StreamReader):
    """Plans like StreamReader; its rows are the tasks."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield (pickle.dumps(partition),)
