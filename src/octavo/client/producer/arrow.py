"""Prepares Arrow data for producers: record batches of moderate size, their columns, and readers of Arrow and Parquet
files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from octavo.errors import EncodingError
from octavo.format.arrow import cast_column, from_arrow, milliseconds
from octavo.kernels.columns import RecordColumns

# The columns that are written. A scan's other columns are accepted too: `partition` says where a row goes, and the rest
# are ignored, because the log determines them.
TAKEN = ("timestamp", "key", "value", "headers")
KNOWN = ("topic", "partition", "offset", "timestampType", *TAKEN)
# How many rows are handled at a time, to keep their columns and encoded batches small.
ROWS_AT_ONCE = 1 << 16

NO_PARTITION = -1


def record_batches(data: Any) -> Iterator[pa.RecordBatch]:
    """The record batches of a table, a reader, an iterable of them, or anything that exports an Arrow stream, cut to at
    most ROWS_AT_ONCE rows."""
    for batch in _batches(data):
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(start, ROWS_AT_ONCE)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatch):
        yield data
    elif hasattr(data, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(data)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        for item in data:
            yield from _batches(item)
    else:
        expected = "expected a table (pyarrow.table), record batches or a reader of them"
        raise EncodingError(f"{type(data).__name__} is not Arrow data, {expected}")


def columns_of(batch: pa.RecordBatch, now_ms: int, first_row: int) -> RecordColumns:
    """The columns to encode; a timestamp that is missing, null or -1 becomes now. Row numbers in errors start at
    `first_row`."""
    unknown = set(batch.schema.names) - set(KNOWN)
    if unknown:
        raise EncodingError(f"column {min(unknown)!r} is not a column of records, expected some of {', '.join(KNOWN)}")
    taken = [name for name in TAKEN if name in batch.schema.names]
    chosen = batch.select(taken)
    if "timestamp" in taken and chosen.column("timestamp").null_count:
        slot = taken.index("timestamp")
        times = pc.fill_null(milliseconds(chosen.column(slot)), -1)
        chosen = chosen.set_column(slot, "timestamp", times)
    columns = from_arrow(chosen)
    columns.timestamp = columns.timestamp[: columns.rows]
    missing = columns.timestamp == -1
    if missing.any():
        columns.timestamp = np.where(missing, now_ms, columns.timestamp)
    negative = np.flatnonzero(columns.timestamp < 0)
    if len(negative):
        found = f"row {first_row + negative[0]}: timestamp {columns.timestamp[negative[0]]}"
        raise EncodingError(f"{found}, expected 0 or more")
    return columns


def named_partitions(batch: pa.RecordBatch) -> NDArray[np.int32] | None:
    """The partition that each row names, -1 if it names none; None if there is no such column."""
    if "partition" not in batch.schema.names:
        return None
    column = pc.fill_null(cast_column("partition", batch.column("partition"), pa.int32()), NO_PARTITION)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int32)


def without_partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same record batches without the column partition."""
    for batch in batches:
        names = batch.schema.names
        yield batch.drop_columns(["partition"]) if "partition" in names else batch


def read_arrow(source: BinaryIO) -> Iterator[pa.RecordBatch]:
    """The record batches of an Arrow stream or file; data from a pipe is read as a whole."""
    data = pa.BufferReader(source.read()) if not source.seekable() else source
    with _reading("Arrow data"):
        try:
            reader = pa.ipc.open_file(data)
        except pa.ArrowInvalid:
            data.seek(0)
            yield from pa.ipc.open_stream(data)
        else:
            for slot in range(reader.num_record_batches):
                yield reader.get_batch(slot)


def read_parquet(source: BinaryIO) -> Iterator[pa.RecordBatch]:
    """The record batches of a Parquet file; data from a pipe is read as a whole."""
    from pyarrow import parquet

    with _reading("a Parquet file"):
        yield from parquet.ParquetFile(source if source.seekable() else pa.BufferReader(source.read())).iter_batches()


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn pyarrow's errors into one that says what the bytes should be. Errors of the operating system, which have an
    errno, are raised as they are."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise EncodingError(f"not {what}, or damaged: {error}") from None


def in_order(batch: pa.RecordBatch, order: NDArray[np.int32]) -> pa.RecordBatch:
    """The record batch with its rows in this order."""
    return batch.take(pa.array(order))
