"""Rewrites batches as v2, or with another codec, with the same records at the same offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import InvalidRecordError
from octavo.format.batches.batch import BatchTraits, build_columns, frame_batch
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec, Scratch, compress, decompress
from octavo.kernels.layout import BATCH_OVERHEAD, CODEC_MASK, CONTROL, LOG_APPEND_TIME, Kind

if TYPE_CHECKING:
    from octavo.kernels.columns import RecordColumns

# Uncompressed v0 and v1 messages are separate: this many bytes of them become one batch, like a producer's batch.size.
BATCH_BYTES = 16384
_RUN_BYTES = 1 << 20


@dataclass(slots=True)
class Recoder:
    """Reuses its memory between calls; not thread-safe. `codec` None: each batch keeps its own codec."""

    codec: Codec | None = None
    level: int | None = None
    _decoder: Decoder = field(default_factory=Decoder)
    _scratch: Scratch = field(default_factory=Scratch)

    def changes(self, table: NDArray[np.void]) -> NDArray[np.bool_]:
        """Which batches would change. Markers and batches without records are never compressed."""
        changes: NDArray[np.bool_] = table["magic"] < 2
        if self.codec is not None:
            is_data = (table["count"] > 0) & (table["attributes"] & CONTROL == 0)
            changes |= is_data & (table["attributes"] & CODEC_MASK != int(self.codec))
        return changes

    def recode(self, data: memoryview, table: NDArray[np.void]) -> Iterator[bytes | memoryview]:
        """The new batches for a table of sound ones, in order; unchanged ones are views of `data`."""
        changes, first = self.changes(table), 0
        while first < len(table):
            kind, end, _, _ = kernels.next_run(table, first, _RUN_BYTES)
            rows = table[first:end]
            if kind == Kind.MESSAGE:
                yield from self._messages(data, rows)
            elif kind == Kind.WRAPPER:
                for row in rows:
                    yield self._wrapper(data, row)
            else:
                for row, changed in zip(rows, changes[first:end].tolist(), strict=True):
                    yield self._batch(data, row) if changed else _stored(data, row)
            first = end

    def _messages(self, data: memoryview, table: NDArray[np.void]) -> Iterator[bytes]:
        done = 0
        for columns in self._decoder.decode(data, table):
            if not columns.rows:  # the first message is damaged: the decoder raises its error next
                continue
            messages = table[done : done + columns.rows]
            done += columns.rows
            for first, end in pairwise(_edges(messages)):
                yield self._build(columns.taken(np.arange(first, end)), messages[first])

    def _wrapper(self, data: memoryview, row: np.void) -> bytes:
        columns = self._decoder.decode_one(data, row)
        if not columns.rows:
            raise InvalidRecordError("a compressed message without messages in it", position=int(row["position"]))
        return self._build(columns.taken(np.arange(columns.rows)), row)

    def _build(self, columns: RecordColumns, first: np.void) -> bytes:
        appended = first["magic"] == 1 and first["attributes"] & LOG_APPEND_TIME
        traits = BatchTraits(
            codec=Codec(int(first["attributes"]) & CODEC_MASK) if self.codec is None else self.codec,
            level=self.level,
            log_append_time=int(first["max_timestamp"]) if appended else None,
        )
        return build_columns(columns, traits)

    def _batch(self, data: memoryview, row: np.void) -> bytes:
        """A v2 batch with the requested codec; its records are not decoded."""
        assert self.codec is not None
        header = BatchHeader.from_row(row)
        packed = _stored(data, row)[BATCH_OVERHEAD:]
        records = decompress(header.codec_id, packed, scratch=self._scratch)
        attributes = header.attributes & ~CODEC_MASK | self.codec
        return frame_batch(replace(header, attributes=attributes), compress(self.codec, records, level=self.level))


def _edges(messages: NDArray[np.void]) -> list[int]:
    """Where batches of uncompressed messages begin and end: they are cut by size, and where the append time changes."""
    ends = np.cumsum(messages["size"], dtype=np.int64)
    kinds = (messages["magic"] == 1) & (messages["attributes"] & LOG_APPEND_TIME != 0)
    times = np.where(kinds, messages["max_timestamp"], -1)
    begins = np.flatnonzero((np.diff(ends // BATCH_BYTES) > 0) | np.diff(kinds) | (np.diff(times) != 0)) + 1
    return [0, *begins.tolist(), len(messages)]


def _stored(data: memoryview, row: np.void) -> memoryview:
    position = int(row["position"])
    return data[position : position + int(row["size"])]
