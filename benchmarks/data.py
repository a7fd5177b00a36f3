"""The data sets, as Kafka's producer would write them, encoded by our own kernels into a cache folder.

d1  100 B random values, 16 B keys, 128 records per batch (16 KB)
d2  1 KB random values, 16 B keys, 15 records per batch (16 KB)
d3  JSON of about 90 B, 16 B keys, 535 records per batch (64 KB before compression), one file per codec
d4  60 B random values, 16 B keys, one record per batch (145 B)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from octavo import kernels
from octavo.format.batches.batch import frame_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import CODECS, Codec, compress
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import BATCH, Code

FOLDER = Path(".cache/bench")
EPOCH_MS = 1_700_000_000_000
ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class DataSet:
    name: str
    records: int
    value_bytes: int
    records_a_batch: int

    def path(self, scale: float) -> Path:
        """The file, created if it does not exist."""
        path = FOLDER / f"{self.name}-{scale:g}.log"
        if not path.exists():
            print(f"making {path}", file=sys.stderr)
            FOLDER.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                for first in range(0, self.rows(scale), ROWS_AT_ONCE):
                    rows = min(ROWS_AT_ONCE, self.rows(scale) - first)
                    file.write(encode(self.columns(first, rows), self.records_a_batch))
            partial.rename(path)
        return path

    def rows(self, scale: float) -> int:
        return int(self.records * scale)

    def columns(self, first: int, rows: int) -> RecordColumns:
        random = np.random.default_rng(first)
        values = random.integers(0, 256, rows * self.value_bytes, np.uint8)
        return columns_of(first, rows, BinaryColumn(_ends(rows, self.value_bytes), values))


D1 = DataSet("d1", 8_000_000, 100, 128)
D2 = DataSet("d2", 1_000_000, 1024, 15)
D4 = DataSet("d4", 1_000_000, 60, 1)
D3_RECORDS, D3_RECORDS_A_BATCH = 2_000_000, 535


def columns_of(first: int, rows: int, values: BinaryColumn) -> RecordColumns:
    offsets = np.arange(first, first + rows, dtype=np.int64)
    keys = np.frombuffer(b"".join(b"%016d" % offset for offset in range(first, first + rows)), np.uint8)
    return RecordColumns(offsets, offsets + EPOCH_MS, BinaryColumn(_ends(rows, 16), keys), values, rows=rows)


def _ends(rows: int, length: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.arange(rows + 1, dtype=np.int32) * np.int32(length)


def batch_table(columns: RecordColumns, records_a_batch: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Headers for batches with this many rows each."""
    starts = np.arange(0, columns.rows, records_a_batch)
    table = np.zeros(len(starts), BATCH)
    ends = np.append(starts[1:], columns.rows)
    table["count"] = ends - starts
    table["base_offset"] = columns.offset[starts]
    table["last_offset_delta"] = columns.offset[ends - 1] - columns.offset[starts]
    table["base_timestamp"] = columns.timestamp[starts]
    table["max_timestamp"] = np.maximum.reduceat(columns.timestamp[: columns.rows], starts)
    table["producer_id"] = table["producer_epoch"] = table["base_sequence"] = -1
    return table


def encode(columns: RecordColumns, records_a_batch: int) -> memoryview:
    assert columns.key is not None and columns.value is not None
    room = len(columns.key.data) + len(columns.value.data) + 100 * columns.rows
    out = bytearray(room)
    table = batch_table(columns, records_a_batch)
    code, done, end = kernels.encode_batches(columns, 0, table, out, 0)
    assert code == Code.DONE and done == len(table)
    return memoryview(out)[:end]


def json_path(codec: Codec, scale: float) -> Path:
    """The file of d3 with one codec."""
    path = FOLDER / f"d3_{CODECS[codec].name}-{scale:g}.log"
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            for first in range(0, int(D3_RECORDS * scale), D3_RECORDS_A_BATCH):
                file.write(_json_batch(codec, first))
        partial.rename(path)
    return path


def _json_batch(codec: Codec, first: int) -> bytes:
    documents = [_json_value(i) for i in range(first, first + D3_RECORDS_A_BATCH)]
    ends = np.cumsum([0, *map(len, documents)]).astype(np.int32)
    values = BinaryColumn(ends, np.frombuffer(b"".join(documents), np.uint8))
    columns = columns_of(first, len(documents), values)
    (row,) = batch_table(columns, len(documents))
    out = bytearray(1 << 17)
    code, end = kernels.encode_records(columns, 0, columns.rows, first, EPOCH_MS + first, out, 0)
    assert code == Code.DONE
    row["attributes"] = codec
    return frame_batch(BatchHeader.from_row(row), compress(codec, memoryview(out)[:end]))


def _json_value(i: int) -> bytes:
    country = (b"DE", b"FR", b"US", b"JP", b"BR")[i % 5]
    order = i * 2654435761 % 1000003, i * 40503 % 100000, i % 7 + 1, i % 400, i % 100, country
    return b'{"user":%d,"item":"sku-%05d","qty":%d,"price":%d.%02d,"country":"%s","event":"order_placed"}' % order
