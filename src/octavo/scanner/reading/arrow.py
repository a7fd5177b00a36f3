"""Reads tasks into Arrow record batches; `arrow_files` writes them to files.

| column | type |
|---|---|
| topic | string |
| partition | int32 |
| offset | int64 |
| timestamp | timestamp[ms, UTC]; −1 ms, the end of 1969, if a record has none |
| timestampType | string: CreateTime, LogAppendTime, NoTimestampType |
| key, value | binary |
| headers | list of struct: key string, value binary |

With `text`, keys, values and header values are strings.

Only key, value and a header's value can be null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from octavo.format.arrow import FIELDS, to_array
from octavo.scanner.findings import ScanFindings
from octavo.scanner.reading.arrow_text import as_text, text_schema
from octavo.scanner.reading.plan import ReadTask, RecordFilter
from octavo.scanner.reading.pool import ColumnPool
from octavo.scanner.reading.read import Filling, TaskReader, wanted_columns

_CONSTANT = {
    "topic": pa.field("topic", pa.string(), nullable=False),
    "partition": pa.field("partition", pa.int32(), nullable=False),
    "timestampType": pa.field("timestampType", pa.string(), nullable=False),
}
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_LEAST_REPEATED = 32 << 10

Converters = dict[str, Callable[[pa.Array, pa.DataType], pa.Array]]


def schema_of(columns: tuple[str, ...], *, dictionaries: bool = False, text: bool = False) -> pa.Schema:
    """The schema of these columns, in their order; with `dictionaries`, repeating strings are dictionaries.

    With `text`, keys, values and header values are strings.
    """
    fields = [_CONSTANT.get(name) or FIELDS[name] for name in columns]
    if dictionaries:
        fields = [field.with_type(_DICTIONARY) if pa.types.is_string(field.type) else field for field in fields]
    return text_schema(pa.schema(fields)) if text else pa.schema(fields)


def read_tasks(
    tasks: Iterable[ReadTask],
    columns: tuple[str, ...],
    findings: ScanFindings,
    *,
    dictionaries: bool = False,
    text: bool = False,
    pool: ColumnPool | None = None,
) -> Iterator[pa.RecordBatch]:
    """The record batches of a scan's tasks, which the caller may keep. Few are larger than about 2 MB.

    Args:
        tasks: some tasks of `Scan.plan`, or all.
        columns: the names of the columns, as in `Scan.columns`.
        findings: collects what is unexpected, and decides whether damage is raised or skipped.
        dictionaries: make repeating strings, such as the topic, dictionaries.
        text: make keys, values and header values strings instead of bytes.
        pool: memory to read into, for these columns; an earlier call may have used it.
    """
    pool = pool or ColumnPool(wanted_columns(columns))
    reader = TaskReader(columns, findings, pool.take)
    builder = BatchBuilder(schema_of(columns, dictionaries=dictionaries), pool)
    shown = schema_of(columns, dictionaries=dictionaries, text=True) if text else None
    for task in tasks:
        for filling in reader.fillings(task):
            # Batches are not kept in a variable, so that the pool can reuse their memory.
            if task.where is None and shown is None:
                yield builder.batch(task, filling)
            elif wanted := _wanted(builder.batch(task, filling), filling, task.where):
                yield wanted if shown is None else as_text(wanted, shown)


def _wanted(batch: pa.RecordBatch, filling: Filling, where: RecordFilter | None) -> pa.RecordBatch | None:
    """The rows of a filling's batch that a filter wants; None if there are none."""
    if where is None:
        return batch
    from octavo.scanner.reading.matching import wanted_rows  # pyarrow.compute takes a while to import

    rows = wanted_rows(filling, where)
    bits = pa.py_buffer(np.packbits(rows, bitorder="little"))
    return batch.filter(pa.Array.from_buffers(pa.bool_(), len(rows), [None, bits])) if rows.any() else None


def to_reader(
    tasks: Iterable[ReadTask],
    columns: tuple[str, ...],
    findings: ScanFindings,
    limit: int | None = None,
    *,
    text: bool = False,
) -> pa.RecordBatchReader:
    """A reader of the tasks' record batches, one after the other, up to a number of records."""
    batches = first_rows(read_tasks(tasks, columns, findings, text=text), limit)
    return pa.RecordBatchReader.from_batches(schema_of(columns, text=text), batches)


def first_rows(batches: Iterable[pa.RecordBatch], rows: int | None) -> Iterator[pa.RecordBatch]:
    """The first rows of record batches, or all of them without a limit."""
    left = rows
    for batch in batches if left is None or left > 0 else ():
        kept = batch if left is None else batch.slice(0, left)
        del batch
        left = None if left is None else left - kept.num_rows
        yield kept
        del kept
        if left == 0:
            return


class BatchBuilder:
    """Makes record batches over decoded columns, without copying them; topic, partition and timestampType are repeated.

    `converters` turn a column that is decoded to another type into an array of the schema's type.
    """

    def __init__(self, schema: pa.Schema, pool: ColumnPool, converters: Converters | None = None) -> None:
        self._schema = schema
        self._fields = [(field.name, field.type) for field in schema]  # asking the schema each time takes longer
        self._with_type_ids = ("timestampType", pa.int32()) in self._fields
        self._pool = pool
        self._converters = converters or {}
        self._repeated: dict[str | int, pa.Array] = {}

    def batch(self, task: ReadTask, filling: Filling) -> pa.RecordBatch:
        lent, timestamp_type = self._pool.lend(filling.columns), filling.timestamp_type
        same: dict[str, str | int] = {
            "topic": task.topic,
            "partition": task.partition,
            "timestampType": int(timestamp_type) if self._with_type_ids else str(timestamp_type),
        }
        arrays = []
        for name, kind in self._fields:
            if name in same:
                arrays.append(self._repeat(kind, same[name], lent.rows))
            elif name in self._converters:
                arrays.append(self._converters[name](to_array(lent, name), kind))
            else:
                arrays.append(to_array(lent, name))
        whole = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return whole.slice(filling.start, filling.stop - filling.start)

    def _repeat(self, kind: pa.DataType, value: str | int, rows: int) -> pa.Array:
        """A column with a single value. All batches share the memory of one long array.

        Columns with the same value share it too: all texts have one type, and so do all numbers.
        """
        known = self._repeated.get(value)
        if known is None or len(known) < rows:
            known = self._repeated[value] = _repeated(kind, value, max(rows, _LEAST_REPEATED))
        return known.slice(0, rows)


def _repeated(kind: pa.DataType, value: str | int, rows: int) -> pa.Array:
    """The same value in all rows. `pa.repeat` is not used because its scalar imports pandas."""
    if isinstance(value, int):
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(np.full(rows, value, np.int32))])
    if pa.types.is_dictionary(kind):
        indices, values = _repeated(kind.index_type, 0, rows), _repeated(kind.value_type, value, 1)
        return pa.DictionaryArray.from_arrays(indices, values, safe=False)
    text = value.encode()
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(len(text))
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(offsets), pa.py_buffer(text * rows)])
