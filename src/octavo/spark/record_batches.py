"""A task's records as the Arrow batches that Spark takes: of exactly its types, and of about 1 MB each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from octavo.errors import CorruptRecordError, DataLossError, ScanError
from octavo.format.record import TimestampType
from octavo.scan.arrow import read_tasks, repeated
from octavo.scan.plan import ReadTask
from octavo.spark.data_loss import DataLoss, ReadFindings
from octavo.spark.schema import schema_of

# Larger batches leave the CPU's cache between Python and the JVM, smaller ones cost a round each (measured).
BATCH_BYTES = 1 << 20
_TYPE_IDS = {str(kind): kind.value for kind in TimestampType}
_MICROSECONDS = 1000
_MOST_MILLISECONDS = np.iinfo(np.int64).max // _MICROSECONDS


def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    """What PySpark compares the first batch with."""
    return to_arrow_schema(schema_of(columns), timezone="UTC")


def read_batches(tasks: Iterable[ReadTask], columns: tuple[str, ...], loss: DataLoss) -> Iterator[pa.RecordBatch]:
    """The record batches of tasks. Records that are gone by now are a loss, which is reported."""
    make = _Maker(columns)
    for task in tasks:
        try:
            for batch in read_tasks([task], columns, ReadFindings(loss)):
                yield from make.batches(task, batch)
        except DataLossError:
            raise
        except ScanError as error:  # the folder went away
            loss.report(f"{error}.")


class _Maker:
    """Casts batches of a scan; what they hold is not copied, but for timestamps."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._schema = arrow_schema(columns)
        self._types: dict[str, pa.Array] = {}

    def batches(self, task: ReadTask, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        whole = pa.RecordBatch.from_arrays(
            [self._column(task, field, batch.column(field.name)) for field in self._schema], schema=self._schema
        )
        number = max(round(whole.nbytes / BATCH_BYTES), 1)
        rows = -(-whole.num_rows // number)
        for start in range(0, whole.num_rows, rows):
            yield whole.slice(start, rows)

    def _column(self, task: ReadTask, field: pa.Field, column: pa.Array) -> pa.Array:
        if field.name == "timestamp":
            return _microseconds(task, field.type, column)
        if field.name == "timestampType":
            return self._type_ids(column)
        if field.name == "headers":
            return _headers(field.type, column)
        return column

    def _type_ids(self, column: pa.Array) -> pa.Array:
        """The same in a whole batch; all batches share the memory of one long array."""
        name = column[0].as_py()
        known = self._types.get(name)
        if known is None or len(known) < len(column):
            known = self._types[name] = repeated(pa.int32(), _TYPE_IDS[name], len(column))
        return known.slice(0, len(column))


def _microseconds(task: ReadTask, kind: pa.DataType, column: pa.Array) -> pa.Array:
    milliseconds = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)]
    largest, smallest = int(milliseconds.max()), int(milliseconds.min())
    if largest > _MOST_MILLISECONDS or smallest < -_MOST_MILLISECONDS:
        found = largest if largest > _MOST_MILLISECONDS else smallest
        raise CorruptRecordError(
            f"topic {task.topic} partition {task.partition}: a record between offsets {task.start_offset} and"
            f" {task.end_offset} has timestamp value {found} that overflows when converting to Spark's"
            " microsecond-precision TimestampType; expected milliseconds since 1970"
        )
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(milliseconds * _MICROSECONDS)])


def _headers(kind: pa.DataType, column: pa.Array) -> pa.Array:
    """Null, as in Spark's Kafka source, where a record has no headers."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    present = np.diff(offsets) > 0
    validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    values = column.values
    entries = pa.StructArray.from_arrays([values.field("key"), values.field("value")], fields=list(kind.value_type))
    return pa.Array.from_buffers(
        kind, len(column), [validity, pa.py_buffer(offsets)], null_count=int((~present).sum()), children=[entries]
    )
