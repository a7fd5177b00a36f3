"""Filters v0 and v1 messages; what remains becomes v2, as in Kafka since 4.0."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import OctavoError
from octavo.format.batches.batch import BatchTraits, build_columns
from octavo.format.batches.decoder import Decoder
from octavo.format.compression import Codec
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import (
    BATCH,
    BATCH_OVERHEAD,
    CODEC_MASK,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Code,
    Column,
)
from octavo.kernels.offset_table import BatchVerdict, OffsetTable

_COLUMNS = Column.OFFSET | Column.TIMESTAMP | Column.KEY | Column.VALUE
_RECORD_OVERHEAD = 36  # the longest encoding of a record's numeric fields
_NO_ORIGIN = {
    "partition_leader_epoch": NO_LEADER_EPOCH,
    "producer_id": NO_PRODUCER_ID,
    "producer_epoch": NO_PRODUCER_EPOCH,
    "base_sequence": NO_SEQUENCE,
}


@dataclass(slots=True)
class LegacyFilter:
    """Filters messages with one map. Not thread-safe."""

    offset_table: OffsetTable
    delete_horizon_ms: int
    # How many records were read, how many of them were kept, and how many had no key.
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    _decoder: Decoder = field(default_factory=lambda: Decoder(_COLUMNS))

    def filter(
        self, data: memoryview, table: NDArray[np.void], verdicts: NDArray[np.uint8], keeps_tombstones: bool
    ) -> bytes:
        """What remains, as v2: one batch per uncompressed message, or one batch for a compressed message."""
        if table[0]["attributes"] & CODEC_MASK:
            return self._wrapper(data, table, verdicts, keeps_tombstones)
        built, done = [], 0
        for columns in self._decoder.decode(data, table):
            messages = table[done : done + columns.rows]
            kept = self._kept(columns, keeps_tombstones)
            lost = np.setdiff1d(np.arange(columns.rows), kept)
            _check_empty(messages[lost], verdicts[done : done + columns.rows][lost])
            if len(kept):
                built.append(self._batches(columns.taken(kept), messages[kept]))
            done += columns.rows
        return b"".join(built)

    def _wrapper(
        self, data: memoryview, table: NDArray[np.void], verdicts: NDArray[np.uint8], keeps_tombstones: bool
    ) -> bytes:
        columns = self._decoder.decode_one(data, table[0])
        kept = self._kept(columns, keeps_tombstones)
        if not len(kept):
            _check_empty(table, verdicts)
            return b""
        stays = columns.taken(kept)
        attributes = int(table[0]["attributes"])
        appended = table[0]["magic"] == 1 and attributes & LOG_APPEND_TIME
        traits = BatchTraits(
            codec=Codec(attributes & CODEC_MASK),
            log_append_time=int(table[0]["max_timestamp"]) if appended else None,
            delete_horizon_ms=self.delete_horizon_ms if _is_null(stays.value, stays.rows).any() else None,
        )
        return build_columns(stays, traits)

    def _batches(self, stays: RecordColumns, messages: NDArray[np.void]) -> bytes:
        """One batch per message. A v0 message has no timestamp and no timestamp type: it becomes CreateTime, with
        timestamp -1."""
        batches, tombstones = np.zeros(stays.rows, BATCH), _is_null(stays.value, stays.rows)
        for name, value in _NO_ORIGIN.items():
            batches[name] = value
        batches["base_offset"], batches["count"] = stays.offset, 1
        batches["max_timestamp"] = stays.timestamp
        batches["base_timestamp"] = np.where(tombstones, self.delete_horizon_ms, stays.timestamp)
        appended = (messages["magic"] == 1) & (messages["attributes"] & LOG_APPEND_TIME != 0)
        batches["attributes"] = np.where(appended, LOG_APPEND_TIME, 0) | np.where(tombstones, DELETE_HORIZON, 0)
        assert stays.key is not None and stays.value is not None
        data_bytes = len(stays.key.data) + len(stays.value.data)
        out = bytearray(stays.rows * (BATCH_OVERHEAD + _RECORD_OVERHEAD) + data_bytes)
        code, _, end = kernels.encode_batches(stays, 0, batches, out, 0)
        assert code == Code.DONE, "there is room for all of them"
        return bytes(memoryview(out)[:end])

    def _kept(self, columns: RecordColumns, keeps_tombstones: bool) -> NDArray[np.intp]:
        """The rows that remain."""
        rows, offsets = columns.rows, columns.offset[: columns.rows]
        found = np.empty(rows, np.int64)
        kernels.find_offsets(self.offset_table, columns, found)
        has_key, is_tombstone = ~_is_null(columns.key, rows), _is_null(columns.value, rows)
        beyond = offsets > self.offset_table.latest_offset
        kept = np.flatnonzero(beyond | (has_key & (offsets >= found) & (keeps_tombstones | ~is_tombstone)))
        self.counts += [rows, len(kept), int(np.count_nonzero(~has_key & ~beyond))]
        return kept


def _is_null(column: BinaryColumn | None, rows: int) -> NDArray[np.bool_]:
    assert column is not None
    return ~column.valid(rows)


def _check_empty(table: NDArray[np.void], verdicts: NDArray[np.uint8]) -> None:
    """Raise if a message would have to be kept without its record: only a v2 batch can be empty."""
    for row in np.flatnonzero(verdicts & BatchVerdict.RETAIN_EMPTY)[:1]:
        offset, magic = table[row]["base_offset"], table[row]["magic"]
        found = f"the message at offset {offset} would be kept without its record"
        problem = f"it has magic {magic}, but only a v2 batch can be empty"
        raise OctavoError(f"{found}: {problem}. Rewrite the log with octavo upgrade first")
