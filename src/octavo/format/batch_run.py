"""Columns of records to a run of v2 batches behind one another, cut as a producer cuts them: by batch.size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import EncodingError
from octavo.format.batch import frame_batch
from octavo.format.compression import Codec, compress
from octavo.format.header import BatchHeader
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code

# What a record takes beside its key, value and headers: its own length, attributes, two deltas, two lengths, a count.
_RECORD_OVERHEAD = 5 + 1 + 10 + 5 + 5 + 5 + 5
_USUAL_RECORD_OVERHEAD = 18  # no record below 1 MiB in a batch of one minute takes more
_HEADER_OVERHEAD = 5 + 5


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What batches are, without a look into them."""

    size: int = 0  # bytes
    records: int = 0
    largest_batch: int = 0  # bytes
    max_timestamp: int = layout.NO_TIMESTAMP
    codec: int = Codec.NONE
    has_null_keys: bool = False

    def __add__(self, other: RunFacts) -> RunFacts:
        """Those of both runs behind one another, which have one codec."""
        return RunFacts(
            self.size + other.size,
            self.records + other.records,
            max(self.largest_batch, other.largest_batch),
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
        """All rows as batches of about batch.size bytes before compression; a larger record has a batch of its own.

        Offsets count from 0 in each batch: whoever appends them to a log says what they begin with. The bytes are good
        until the next call.
        """
        settings, ends = self._settings, payload_ends(columns)
        usual = ends + np.arange(len(ends)) * _USUAL_RECORD_OVERHEAD
        table = _headers(columns, cut(usual, settings.batch_size - BATCH_OVERHEAD), settings.codec)
        self._reserve(int(ends[-1]) + columns.rows * _RECORD_OVERHEAD + len(table) * BATCH_OVERHEAD)
        if settings.codec is Codec.NONE:
            code, _, end = kernels.encode_batches(columns, 0, table, self._room, 0)
            _check(code)
            run, largest = memoryview(self._room)[:end], int(table["size"].max(initial=0))
        else:
            batches = self._compressed(columns, table)
            run, largest = memoryview(b"".join(batches)), max(map(len, batches), default=0)
        latest = int(table["max_timestamp"].max(initial=layout.NO_TIMESTAMP))
        null_keys = columns.rows > 0 if columns.key is None else columns.key.nulls > 0
        return run, RunFacts(len(run), columns.rows, largest, latest, settings.codec, null_keys)

    def _compressed(self, columns: RecordColumns, table: NDArray[np.void]) -> list[bytes]:
        settings, room, batches, first = self._settings, self._room, [], 0
        for row in table:
            header = BatchHeader.from_row(row)
            end = first + header.count
            code, length = kernels.encode_records(columns, first, end, 0, header.base_timestamp, room, 0)
            _check(code)
            batches.append(
                frame_batch(header, compress(settings.codec, memoryview(room)[:length], level=settings.level))
            )
            first = end
        return batches

    def _reserve(self, size: int) -> None:
        if len(self._room) < size:
            self._room = bytearray(size)  # fresh memory costs three times as much as what is in the cache


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


def cut(ends: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The row that each batch ends before: as many rows as fit into the limit, at least one."""
    cuts, first, rows = [], 0, len(ends) - 1
    while first < rows:
        first = max(int(ends.searchsorted(ends[first] + limit, side="right")) - 1, first + 1)
        cuts.append(first)
    return np.array(cuts, np.int64)


def _headers(columns: RecordColumns, ends: NDArray[np.int64], codec: Codec) -> NDArray[np.void]:
    """The headers of the batches; the columns' offsets become those in each batch."""
    table = np.zeros(len(ends), BATCH)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(ends) else ends
    table["count"] = ends - starts
    table["last_offset_delta"] = table["count"] - 1
    table["attributes"] = int(codec)
    table["partition_leader_epoch"] = layout.NO_LEADER_EPOCH
    table["producer_id"] = layout.NO_PRODUCER_ID
    table["producer_epoch"] = layout.NO_PRODUCER_EPOCH
    table["base_sequence"] = layout.NO_SEQUENCE
    if len(ends):
        timestamps = columns.timestamp[: columns.rows]
        table["base_timestamp"] = timestamps[starts]
        table["max_timestamp"] = np.maximum.reduceat(timestamps, starts)
        columns.offset = np.arange(columns.rows, dtype=np.int64) - np.repeat(starts, table["count"])
    return table


def _check(code: int) -> None:
    if code != Code.DONE:
        raise EncodingError(f"records that a batch of at most {layout.MAX_FILE_BYTES} bytes cannot hold")
