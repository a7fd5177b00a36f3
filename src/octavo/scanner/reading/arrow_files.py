"""Record batches into Arrow and Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

Sink: TypeAlias = "BinaryIO | pa.NativeFile"
ROW_GROUP_BYTES = 64 << 20
_ROWS_AT_ONCE = 8192  # that the writer takes through its levels, encoding and statistics: in the cache, and not few


def write_file(form: str, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a new file of a form and sync it; returns how many rows it has."""
    with pa.OSFile(str(path), "wb") as sink:  # a file of Python's would copy each page
        rows = WRITERS[form](schema, batches, sink)
    with path.open("rb") as written:
        os.fsync(written.fileno())
    return rows


def write_stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch], sink: Sink) -> int:
    """Write an Arrow IPC stream; returns how many rows it has."""
    rows = 0
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            rows += batch.num_rows
            writer.write_batch(batch)
            del batch  # its memory is wanted for the next
    return rows


def write_parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch], sink: Sink) -> int:
    """Write a Parquet file, a row group at a time in memory; returns how many rows it has.

    Dictionaries only for what repeats: to try one on keys and values takes as long as all the rest. Offsets and
    timestamps are stored as differences, which are next to nothing. Columns that come as dictionaries already need
    no hashing; readers get plain ones, since Arrow's schema is not stored: Parquet's own says it all.
    """
    names = set(schema.names)
    rows = 0
    with pq.ParquetWriter(
        sink,
        schema,
        compression="snappy",
        use_dictionary=sorted(names & {"topic", "partition", "timestampType"}),
        column_encoding=dict.fromkeys(sorted(names & {"offset", "timestamp"}), "DELTA_BINARY_PACKED"),
        write_statistics=sorted(names - {"key", "value", "headers"}),
        write_batch_size=_ROWS_AT_ONCE,
        store_schema=False,
    ) as writer:
        group: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            group.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            del batch
            if size >= ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group, schema))
                group, size = [], 0
        if group:
            writer.write_table(pa.Table.from_batches(group, schema))
    return rows


WRITERS = {"arrow": write_stream, "parquet": write_parquet}
