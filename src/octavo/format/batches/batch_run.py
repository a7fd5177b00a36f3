"""Turns rows of columns into consecutive v2 batches, cut by batch.size as a producer would fill them.

`encode_runs` cuts and encodes in one pass, for batches whose headers are all alike. If a header depends on the cut
(sequences count records), call `cut_batches` first, then `encode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import EncodingError
from octavo.format import sequence
from octavo.format.batches.batch import ENCODER_SLACK, Origin, frame_batch, most_record_bytes
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec, compress
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import INT64_MAX
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code

_BATCHES_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known about a run of batches without decoding it."""

    size: int = 0  # bytes
    records: int = 0
    largest_batch: int = 0  # bytes
    min_timestamp: int = INT64_MAX
    max_timestamp: int = layout.NO_TIMESTAMP
    codec: int = Codec.NONE
    has_null_keys: bool = False

    def __add__(self, other: RunFacts) -> RunFacts:
        """The facts about this run followed by another one with the same codec."""
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


class RowRange(NamedTuple):
    """Rows of columns, from `first` up to, but not including, `end`."""

    columns: RecordColumns
    first: int
    end: int


def cut_batches(
    rows: RowRange, batch_size: int, ratio: float, set_bytes: int
) -> Iterator[tuple[RowRange, NDArray[np.void]]]:
    """Cut rows into sets of batches of at most `set_bytes` in total, as tables of headers; a larger batch is a set of
    its own.

    `ratio` is the expected compression ratio; 0 without a codec.
    """
    columns, row, end = rows
    table = np.zeros(_BATCHES_AT_ONCE, BATCH)
    while row < end:
        count, last = kernels.cut_batches(columns, row, end, table, batch_size, ratio)
        sizes = np.cumsum(table["size"][:count], dtype=np.int64)
        taken = 0
        while taken < count:
            before = int(sizes[taken - 1]) if taken else 0
            stop = max(int(np.searchsorted(sizes, before + set_bytes, "right")), taken + 1)
            batches = table[taken:stop]
            next_row = row + int(batches["count"].sum(dtype=np.int64))
            yield RowRange(columns, row, next_row), batches
            row, taken = next_row, stop
        assert row == last, "the cut batches do not add up"


class BatchEncoder:
    """Encodes batches into a buffer that it reuses: a result is valid until the next call. Not thread-safe."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def encode(self, rows: RowRange, table: NDArray[np.void], settings: BatchSettings, origin: Origin) -> memoryview:
        """Encode batches that `cut_batches` made."""
        _fill_headers(table, settings.codec, origin)
        deltas = np.cumsum(table["count"], dtype=np.int64) - table["count"]
        table["base_offset"] = deltas + rows.first
        if origin.base_sequence >= 0:
            table["base_sequence"] = sequence.record_sequences(origin.base_sequence, deltas)
        self._reserve(int(table["size"].sum(dtype=np.int64)) + ENCODER_SLACK)
        code, _, end = kernels.encode_batches(rows.columns, rows.first, table, self._buffer, 0)
        _check(code)
        if settings.codec is Codec.NONE:
            return memoryview(self._buffer)[:end]
        return memoryview(bytearray().join(self._compressed(table, settings)))

    def encode_runs(
        self, columns: RecordColumns, order: NDArray[np.int32] | None, ends: NDArray[np.int64], settings: BatchSettings
    ) -> list[tuple[memoryview, RunFacts]]:
        """Encode runs of batches of about batch.size bytes before compression; a larger record gets its own batch.

        Run i consists of the rows order[ends[i - 1]:ends[i]], each at most once; without an order, rows stay in place.
        Offsets count from 0 in each batch: an append to a log assigns the real ones.
        """
        if order is None:
            order = np.arange(columns.rows, dtype=np.int32)
        size = most_record_bytes(columns, len(order))
        # Each batch and the next one in its run are together too large for one batch, which limits their number.
        batches = min(2 * size // max(settings.batch_size - BATCH_OVERHEAD, 1) + 2 * len(ends), len(order))
        self._reserve(size + batches * BATCH_OVERHEAD)
        table, stops, buffer = np.zeros(batches, BATCH), ends.astype(np.int64), self._buffer
        _fill_headers(table, settings.codec, Origin())
        is_plain = settings.codec is Codec.NONE
        code, count, end = kernels.encode_runs(columns, order, stops, table, buffer, settings.batch_size, is_plain)
        _check(code)
        # All runs get the earliest timestamp of all: they go to one topic, whose limits apply to each record.
        earliest = int(columns.timestamp[: columns.rows].min(initial=INT64_MAX))
        table, has_null_keys = table[:count], columns.key is None or columns.key.nulls > 0
        runs, first, start = [], 0, 0
        for stop, records in zip(stops.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            rows = table[first:stop]
            at = int(table["position"][stop]) if stop < count else end
            run, largest = memoryview(buffer)[start:at], int(rows["size"].max(initial=0))
            if not is_plain:
                packed = self._compressed(rows, settings)
                run, largest = memoryview(b"".join(packed)), max(map(len, packed), default=0)
            latest = int(rows["max_timestamp"].max(initial=layout.NO_TIMESTAMP))
            keyless = has_null_keys and records > 0
            runs.append((run, RunFacts(len(run), records, largest, earliest, latest, settings.codec, keyless)))
            first, start = stop, at
        return runs

    def _compressed(self, table: NDArray[np.void], settings: BatchSettings) -> list[bytes]:
        """Compress the batches in the buffer."""
        buffer, batches = memoryview(self._buffer), []
        for row in table:
            start = int(row["position"])
            records = buffer[start + BATCH_OVERHEAD : start + int(row["size"])]
            packed = compress(settings.codec, records, level=settings.level)
            batches.append(frame_batch(BatchHeader.from_row(row), packed))
        return batches

    def _reserve(self, size: int) -> None:
        if len(self._buffer) < size:
            self._buffer = bytearray(size)  # fresh memory costs three times as much as memory in the cache


def _fill_headers(table: NDArray[np.void], codec: Codec, origin: Origin) -> None:
    """Fill in the fields that all headers have in common."""
    table["attributes"] = codec | origin.attributes
    table["partition_leader_epoch"] = layout.NO_LEADER_EPOCH
    table["producer_id"], table["producer_epoch"] = origin.producer_id, origin.producer_epoch
    table["base_sequence"] = origin.base_sequence


def _check(code: int) -> None:
    if code != Code.DONE:
        most = layout.MAX_FILE_BYTES
        raise EncodingError(f"the records do not fit into one batch, which can have at most {most} bytes")
