"""Tasks to Arrow record batches, and these to tables, data frames and files: pyarrow's home in this layer.

| column | type |
|---|---|
| topic | string |
| partition | int32 |
| offset | int64 |
| timestamp | timestamp[ms, UTC]; −1 ms, the last of 1969, where a record has none |
| timestampType | string: CreateTime, LogAppendTime, NoTimestampType |
| key, value | binary |
| headers | list of struct: key string, value binary |

Only key, value and a header's value can be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from octavo.format.arrow import FIELDS, to_arrow
from octavo.scan.findings import Findings
from octavo.scan.plan import ReadTask
from octavo.scan.pool import ColumnPool
from octavo.scan.read import COLUMNS, Filling, TaskReader, wanted_columns

_CONSTANT = {
    "topic": pa.field("topic", pa.string(), nullable=False),
    "partition": pa.field("partition", pa.int32(), nullable=False),
    "timestampType": pa.field("timestampType", pa.string(), nullable=False),
}
ROW_GROUP_BYTES = 64 << 20
_LEAST_REPEATED = 32 << 10


def schema_of(columns: tuple[str, ...]) -> pa.Schema:
    """The schema of these columns, in their order."""
    return pa.schema([_CONSTANT.get(name) or FIELDS[COLUMNS[name]] for name in columns])


def read_tasks(tasks: Iterable[ReadTask], columns: tuple[str, ...], findings: Findings) -> Iterator[pa.RecordBatch]:
    """The record batches of tasks, of about 2 MB each. They are the caller's to keep."""
    pool = ColumnPool(wanted_columns(columns))
    reader = TaskReader(columns, findings, pool.take)
    builder = _Builder(columns, pool)
    for task in tasks:
        for filling in reader.fillings(task):
            yield builder.batch(task, filling)  # kept in no variable here: the pool would wait for it


def to_reader(tasks: Iterable[ReadTask], columns: tuple[str, ...], findings: Findings) -> pa.RecordBatchReader:
    """A reader of the tasks' record batches, one after the other."""
    return pa.RecordBatchReader.from_batches(schema_of(columns), read_tasks(tasks, columns, findings))


def limited(reader: pa.RecordBatchReader, rows: int | None) -> pa.RecordBatchReader:
    """The first rows of a reader; all without a limit."""
    if rows is None:
        return reader
    return pa.RecordBatchReader.from_batches(reader.schema, _first(reader, rows))


def _first(reader: pa.RecordBatchReader, rows: int) -> Iterator[pa.RecordBatch]:
    while rows > 0:
        try:
            batch = reader.read_next_batch().slice(0, rows)
        except StopIteration:
            return
        rows -= batch.num_rows
        yield batch


class _Builder:
    """Puts the decoded columns and those that are the same in a whole batch together."""

    def __init__(self, columns: tuple[str, ...], pool: ColumnPool) -> None:
        self._schema = schema_of(columns)
        self._wanted = wanted_columns(columns)
        self._pool = pool
        self._repeated: dict[tuple[str, object], pa.Array] = {}

    def batch(self, task: ReadTask, filling: Filling) -> pa.RecordBatch:
        rows = filling.stop - filling.start
        decoded = to_arrow(self._pool.lend(filling.columns), self._wanted).slice(filling.start, rows)
        same = {"topic": task.topic, "partition": task.partition, "timestampType": str(filling.timestamp_type)}
        arrays = [
            self._repeat(field, same[field.name], rows) if field.name in same else decoded.column(field.name)
            for field in self._schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _repeat(self, field: pa.Field, value: object, rows: int) -> pa.Array:
        """All batches share the memory of one long array."""
        known = self._repeated.get((field.name, value))
        if known is None or len(known) < rows:
            known = pa.repeat(pa.scalar(value, field.type), max(rows, _LEAST_REPEATED))
            self._repeated[field.name, value] = known
        return known.slice(0, rows)


def write_stream(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write an Arrow IPC stream."""
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def write_parquet(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write a Parquet file; a row group at a time is in memory."""
    with pq.ParquetWriter(sink, reader.schema, compression="zstd") as writer:
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size >= ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(batches))
                batches, size = [], 0
        if batches:
            writer.write_table(pa.Table.from_batches(batches))
