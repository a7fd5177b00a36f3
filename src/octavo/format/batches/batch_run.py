"""Columns of records to a run of v2 batches behind one another, cut as a producer cuts them: by batch.size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import EncodingError
from octavo.format.batches.batch import frame_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec, compress
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code

# What a record takes beside its key, value and headers: its own length, attributes, two deltas, two lengths, a count.
_RECORD_OVERHEAD = 5 + 1 + 10 + 5 + 5 + 5 + 5
_HEADER_OVERHEAD = 5 + 5
_LATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What batches are, without a look into them."""

    size: int = 0  # bytes
    records: int = 0
    largest_batch: int = 0  # bytes
    min_timestamp: int = _LATEST
    max_timestamp: int = layout.NO_TIMESTAMP
    codec: int = Codec.NONE
    has_null_keys: bool = False

    def __add__(self, other: RunFacts) -> RunFacts:
        """Those of both runs behind one another, which have one codec."""
        return RunFacts(
            self.size + other.size,
            self.records + other.records,
            max(self.largest_batch, other.largest_batch),
            min(self.min_timestamp, other.min_timestamp),
            max(self.max_timestamp, other.max_timestamp),
            other.codec,
            self.has_null_keys or other.has_null_keys,
        )


class BatchSettings(NamedTuple):
    """How records become batches."""

    batch_size: int = 16384
    codec: Codec = Codec.NONE
    level: int | None = None


class RunEncoder:
    """Makes runs of batches in a buffer that is reused; not thread-safe."""

    def __init__(self, settings: BatchSettings) -> None:
        self._settings = settings
        self._room = bytearray()

    def encode(self, columns: RecordColumns) -> tuple[memoryview, RunFacts]:
        """All rows as one run, in their order."""
        runs = self.encode_runs(columns, np.arange(columns.rows, dtype=np.int32), np.full(1, columns.rows))
        return runs[0]

    def encode_runs(
        self, columns: RecordColumns, order: NDArray[np.int32], ends: NDArray[np.int64]
    ) -> list[tuple[memoryview, RunFacts]]:
        """Runs of batches of about batch.size bytes before compression; a larger record has a batch of its own.

        Run i has the rows order[ends[i - 1]:ends[i]], no row is there twice. Offsets count from 0 in each batch:
        whoever appends them to a log says what they begin with. The bytes are good until the next call.
        """
        settings, size = self._settings, _payload(columns) + len(order) * _RECORD_OVERHEAD
        # No batch and the next one of its run could be one.
        batches = min(2 * size // max(settings.batch_size - BATCH_OVERHEAD, 1) + 2 * len(ends), len(order))
        self._reserve(size + batches * BATCH_OVERHEAD)
        table, stops = _headers(batches, settings.codec), ends.astype(np.int64)
        is_plain = settings.codec is Codec.NONE
        code, count, end = kernels.encode_runs(columns, order, stops, table, self._room, settings.batch_size, is_plain)
        if code != Code.DONE:
            raise EncodingError(f"records that a batch of at most {layout.MAX_FILE_BYTES} bytes cannot hold")
        # That of all runs: they go to one topic, whose limits hold for each record.
        earliest = int(columns.timestamp[: columns.rows].min(initial=_LATEST))
        table, has_null_keys = table[:count], columns.key is None or columns.key.nulls > 0
        runs, first, start = [], 0, 0
        for stop, records in zip(stops.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            rows = table[first:stop]
            at = int(table["position"][stop]) if stop < count else end
            run, largest = memoryview(self._room)[start:at], int(rows["size"].max(initial=0))
            if not is_plain:
                packed = self._compressed(rows)
                run, largest = memoryview(b"".join(packed)), max(map(len, packed), default=0)
            latest = int(rows["max_timestamp"].max(initial=layout.NO_TIMESTAMP))
            keyless = has_null_keys and records > 0
            runs.append((run, RunFacts(len(run), records, largest, earliest, latest, settings.codec, keyless)))
            first, start = stop, at
        return runs

    def _compressed(self, table: NDArray[np.void]) -> list[bytes]:
        settings, room, batches = self._settings, memoryview(self._room), []
        for row in table:
            start = int(row["position"])
            records = room[start + BATCH_OVERHEAD : start + int(row["size"])]
            packed = compress(settings.codec, records, level=settings.level)
            batches.append(frame_batch(BatchHeader.from_row(row), packed))
        return batches

    def _reserve(self, size: int) -> None:
        if len(self._room) < size:
            self._room = bytearray(size)  # fresh memory costs three times as much as what is in the cache


def _payload(columns: RecordColumns) -> int:
    """The bytes of all rows' keys, values and headers."""
    rows, size = columns.rows, 0
    for column in (columns.key, columns.value):
        if column is not None:
            size += int(column.offsets[rows]) - int(column.offsets[0])
    if columns.header_offsets is not None and columns.header_key is not None and columns.header_value is not None:
        first, last = int(columns.header_offsets[0]), int(columns.header_offsets[rows])
        size += (last - first) * _HEADER_OVERHEAD
        for column in (columns.header_key, columns.header_value):
            size += int(column.offsets[last]) - int(column.offsets[first])
    return size


def payload_ends(columns: RecordColumns) -> NDArray[np.int64]:
    """Where each row's keys, values and headers end, behind one another: ends[i + 1] is that of row i, ends[0] is 0."""
    rows = columns.rows
    ends = np.zeros(rows + 1, np.int64)
    for column in (columns.key, columns.value):
        if column is not None:
            ends += column.offsets[: rows + 1] - column.offsets[0]
    if columns.header_offsets is not None and columns.header_key is not None and columns.header_value is not None:
        starts = columns.header_offsets[: rows + 1]
        ends += (starts - starts[0]).astype(np.int64) * _HEADER_OVERHEAD
        for column in (columns.header_key, columns.header_value):
            bytes_before = column.offsets[starts]
            ends += bytes_before - bytes_before[0]
    return ends


def _headers(batches: int, codec: Codec) -> NDArray[np.void]:
    """What the headers of batches have in common."""
    table = np.zeros(batches, BATCH)
    table["attributes"] = int(codec)
    table["partition_leader_epoch"] = layout.NO_LEADER_EPOCH
    table["producer_id"] = layout.NO_PRODUCER_ID
    table["producer_epoch"] = layout.NO_PRODUCER_EPOCH
    table["base_sequence"] = layout.NO_SEQUENCE
    return table
