"""A task's records as Arrow batches for Spark: with exactly Spark's types, and of about 1 MB at most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from octavo.errors import CorruptRecordError, DataLossError, ScanError
from octavo.kernels.columns import RecordColumns
from octavo.scanner.reading.arrow import BatchBuilder, Converters
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.pool import ColumnPool
from octavo.scanner.reading.read import TaskReader, wanted_columns
from octavo.spark.query.schema import schema_of
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.skipped import skipped_notes
from octavo.spark.source.tasks import SourcePartition
from octavo.spark.worker import settle

# Larger batches fall out of the CPU's cache between Python and the JVM, smaller ones cost more round trips (measured).
BATCH_BYTES = 1 << 20
_FIXED_BYTES = 32  # per row: offset, timestamp, partition, timestampType, the ends of key and value
_MICROSECONDS = 1000
_MOST_MILLISECONDS = np.iinfo(np.int64).max // _MICROSECONDS


def read_batches(partition: SourcePartition, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """The record batches of a task. Records that no longer exist are reported as lost."""
    settle()
    if partition.skipped:
        skipped_notes().add(partition.skipped)
    columns, findings = options.columns, SourceFindings(options)
    pool = ColumnPool(wanted_columns(columns))
    reader = TaskReader(columns, findings, pool.take)
    # PySpark compares the first batch with this schema.
    builder = BatchBuilder(to_arrow_schema(schema_of(columns), timezone="UTC"), pool, _CONVERTERS)
    for task in partition.tasks:
        try:
            for filling in reader.fillings(task):
                if "timestamp" in columns:
                    _to_microseconds(task, filling.columns.timestamp[filling.start : filling.stop])
                yield from _pieces(builder.batch(task, filling), _row_bytes(filling.columns))
        except DataLossError:
            raise
        except ScanError as error:  # the folder disappeared, or its files did again and again
            findings.lost(f"{error}.")


def _pieces(batch: pa.RecordBatch, row_bytes: float) -> Iterator[pa.RecordBatch]:
    """A batch, cut into equal parts of about `BATCH_BYTES`."""
    rows = batch.num_rows
    step = -(-rows // max(round(rows * row_bytes / BATCH_BYTES), 1))
    for start in range(0, rows, step):
        yield batch.slice(start, step)


def _row_bytes(columns: RecordColumns) -> float:
    """The average size of a row."""
    data = sum(int(column.offsets[columns.rows]) for column in (columns.key, columns.value) if column is not None)
    if columns.header_key is not None and columns.header_value is not None:
        headers = columns.header_rows
        data += int(columns.header_key.offsets[headers]) + int(columns.header_value.offsets[headers])
    return _FIXED_BYTES + data / columns.rows


def _to_microseconds(task: ReadTask, milliseconds: NDArray[np.int64]) -> None:
    """Convert in place, because fresh memory would cost more than the multiplication."""
    largest, smallest = int(np.maximum.reduce(milliseconds)), int(np.minimum.reduce(milliseconds))
    if largest > _MOST_MILLISECONDS or smallest < -_MOST_MILLISECONDS:
        found = largest if largest > _MOST_MILLISECONDS else smallest
        raise CorruptRecordError(
            f"topic {task.topic} partition {task.partition}: a record between offsets {task.start_offset} and"
            f" {task.end_offset} has timestamp value {found} that overflows when converting to Spark's"
            " microsecond-precision TimestampType; expected milliseconds since 1970"
        )
    np.multiply(milliseconds, _MICROSECONDS, out=milliseconds)


def _headers(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The headers; null for a record without any, as in Spark's Kafka source."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    present = np.diff(offsets) > 0
    validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    values = column.values
    entries = pa.StructArray.from_arrays([values.field("key"), values.field("value")], fields=list(kind.value_type))
    return pa.Array.from_buffers(
        kind, len(column), [validity, pa.py_buffer(offsets)], null_count=int((~present).sum()), children=[entries]
    )


_CONVERTERS: Converters = {"timestamp": pa.Array.view, "headers": _headers}  # timestamps are microseconds by then
