"""Writes record batches to Arrow and Parquet files."""

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
_ROWS_AT_ONCE = 8192  # per step of the writer: few enough to stay in the CPU's cache


def write_file(form: str, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write and sync a new file; returns its number of rows."""
    with pa.OSFile(str(path), "wb") as sink:  # a Python file would copy each page
        rows = WRITERS[form](schema, batches, sink)
    with path.open("rb") as written:
        os.fsync(written.fileno())
    return rows


def write_stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch], sink: Sink) -> int:
    """Write an Arrow IPC stream; returns its number of rows."""
    rows = 0
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            rows += batch.num_rows
            writer.write_batch(batch)
            del batch  # its memory is reused for the next batch
    return rows


def write_parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch], sink: Sink) -> int:
    """Write a Parquet file with one row group at a time in memory; returns its number of rows.

    Only repeating columns get dictionaries: trying one on keys and values takes as long as all the rest. Offsets and
    timestamps are stored as differences, which take almost no space. Columns that arrive as dictionaries need no
    hashing; readers still get plain columns, because Arrow's schema is not stored and Parquet's own is enough.
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
