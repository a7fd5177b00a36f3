"""A task's records as Arrow batches for Spark: with exactly its types, and of about 1 MB each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from octavo.errors import CorruptRecordError, DataLossError, ScanError
from octavo.format.arrow import binary_array, fixed_array, to_arrow
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column
from octavo.scanner.reading.arrow import Repeated
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.pool import ColumnPool
from octavo.scanner.reading.read import Filling, TaskReader, wanted_columns
from octavo.spark.query.schema import schema_of
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.data_loss import DataLoss, SourceFindings
from octavo.spark.source.skipped import skipped_notes
from octavo.spark.source.tasks import SourcePartition
from octavo.spark.worker import settle

# Larger batches fall out of the CPU's cache between Python and the JVM, smaller ones cost more round trips (measured).
BATCH_BYTES = 1 << 20
_FIXED_BYTES = 32  # per row: offset, timestamp, partition, timestampType, the ends of key and value
_MICROSECONDS = 1000
_MOST_MILLISECONDS = np.iinfo(np.int64).max // _MICROSECONDS


def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    """The schema with which PySpark compares the first batch."""
    return to_arrow_schema(schema_of(columns), timezone="UTC")


def read_batches(partition: SourcePartition, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """The record batches of a task. Records that no longer exist are reported as lost."""
    settle()
    if partition.skipped:
        skipped_notes().add(partition.skipped)
    columns, findings = options.columns, SourceFindings(options)
    pool = ColumnPool(wanted_columns(columns))
    reader = TaskReader(columns, findings, pool.take)
    maker = _Maker(columns, pool)
    for task in partition.tasks:
        try:
            for filling in reader.fillings(task):
                yield from maker.batches(task, filling)
        except DataLossError:
            raise
        except ScanError as error:  # the folder disappeared
            DataLoss(options.fail_on_data_loss).report(f"{error}.")


class _Maker:
    """Makes batches over decoded columns without copying; timestamps are converted to microseconds in place."""

    def __init__(self, columns: tuple[str, ...], pool: ColumnPool) -> None:
        self._schema = arrow_schema(columns)
        self._fields = [(field.name, field.type) for field in self._schema]  # asking the schema each time takes longer
        self._with_timestamps = "timestamp" in columns
        self._pool = pool
        self._repeated = Repeated()

    def batches(self, task: ReadTask, filling: Filling) -> Iterator[pa.RecordBatch]:
        if self._with_timestamps:
            _to_microseconds(task, filling.columns.timestamp[filling.start : filling.stop])
        lent, rows = self._pool.lend(filling.columns), filling.stop - filling.start
        arrays = [self._column(task, filling, lent, name, kind) for name, kind in self._fields]
        whole = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        del lent, arrays
        number = max(round(rows * _row_bytes(filling.columns) / BATCH_BYTES), 1)
        step = -(-rows // number)
        for start in range(filling.start, filling.stop, step):
            yield whole.slice(start, min(step, filling.stop - start))

    def _column(self, task: ReadTask, filling: Filling, lent: RecordColumns, name: str, kind: pa.DataType) -> pa.Array:
        if name == "key":
            return binary_array(kind, lent.key, lent.rows)
        if name == "value":
            return binary_array(kind, lent.value, lent.rows)
        if name == "offset":
            return fixed_array(kind, lent.offset, lent.rows)
        if name == "timestamp":
            return fixed_array(kind, lent.timestamp, lent.rows)
        if name == "headers":
            return _headers(kind, to_arrow(lent, Column.HEADERS).column(0))
        if name == "topic":
            return self._repeated.column(kind, task.topic, lent.rows)
        number = task.partition if name == "partition" else filling.timestamp_type.value
        return self._repeated.column(kind, number, lent.rows)


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


def _headers(kind: pa.DataType, column: pa.Array) -> pa.Array:
    """The headers; null for a record without any, as in Spark's Kafka source."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    present = np.diff(offsets) > 0
    validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    values = column.values
    entries = pa.StructArray.from_arrays([values.field("key"), values.field("value")], fields=list(kind.value_type))
    return pa.Array.from_buffers(
        kind, len(column), [validity, pa.py_buffer(offsets)], null_count=int((~present).sum()), children=[entries]
    )
