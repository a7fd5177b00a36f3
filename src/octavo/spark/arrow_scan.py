"""`octavo.spark.scan`: a batch by way of mapInArrow, which carries the same batches cheaper than a data source does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from octavo.spark.batch_reader import BatchReader
from octavo.spark.limits import batch_limits
from octavo.spark.options import warn_of
from octavo.spark.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def scan(spark: SparkSession, paths: str | os.PathLike[str] | Iterable[str], **options: object) -> DataFrame:
    """What `format("octavo")` reads with these options. It is planned here and now: each use reads the same offsets."""
    given = [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else list(paths)
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    texts["paths"] = json.dumps(given)
    checked = SourceOptions.of(texts)
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
