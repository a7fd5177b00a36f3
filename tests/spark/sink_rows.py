"""Rows for the sink's writers without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from pyspark.sql import types

from octavo.spark.sink.sink import batch_writer

SCHEMA = "key binary, value binary"
HEADER = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
TYPES = {
    "string": types.StringType(),
    "int": types.IntegerType(),
    "long": types.LongType(),
    "binary": types.BinaryType(),
    "timestamp": types.TimestampType(),
    "headers": types.ArrayType(HEADER),
}


def schema(text: str) -> types.StructType:
    """The schema of "name type, name type"."""
    columns = (column.split(" ", 1) for column in text.split(", "))
    return types.StructType([types.StructField(name, TYPES[kind]) for name, kind in columns])


def rows(**columns: list[Any]) -> Any:
    kinds = {
        "partition": pa.int32(),
        "topic": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
    return pa.record_batch({name: pa.array(some, kinds.get(name, pa.binary())) for name, some in columns.items()})


def write(root: Path, text: str, *batches: Any, **options: str) -> None:
    """Write rows as a batch query of one task does."""
    writer = batch_writer({"path": str(root), **options}, schema(text), False)
    writer.commit([writer.write(iter(batches))])
