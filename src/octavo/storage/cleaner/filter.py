"""Filters a chunk of batches: what remains of it, as bytes and as a table, ready to be appended.

The kernel `filter_batches` decides which records stay, and when a tombstone is removed; `kernels/reference/filter` has
the rule in plain Python (`_judge`). `LegacyFilter` decides this for magic 0 and 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch import frame_batch
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import TARGET_BYTES
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.problems import problem_of
from octavo.format.batches.walker import walk
from octavo.format.compression import Scratch, compress
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, MAX_RECORD_GROWTH, Code, Kind
from octavo.kernels.offset_table import FILTER_STATE, Fate, FilterRun, OffsetTable
from octavo.storage.cleaner.legacy import LegacyFilter
from octavo.storage.cleaner.unpack import unpack

_COUNTS = [FILTER_STATE.index(name) for name in ("records_read", "records_kept", "records_without_key")]


class ChunkFilter:
    """Filters chunks with one map. Reuses its buffers; not thread-safe."""

    def __init__(self, offset_table: OffsetTable, now_ms: int, delete_horizon_ms: int) -> None:
        self.offset_table = offset_table
        self._run = FilterRun.of(now_ms, delete_horizon_ms)
        self._rebuilt = FilterRun.of(now_ms, delete_horizon_ms)  # compressed batches, before they are compressed again
        self._scratch = Scratch()
        self._legacy = LegacyFilter(offset_table, delete_horizon_ms)

    def filter(
        self, chunk: Chunk, verdicts: NDArray[np.uint8], *, keeps_legacy_tombstones: bool
    ) -> tuple[memoryview, NDArray[np.void]]:
        """What remains of a chunk after these verdicts on its batches: its bytes and its table, valid until the next
        chunk."""
        table, first = chunk.table, 0
        _empty(self._run)
        while first < len(table):
            kind, end, _, _ = kernels.next_run(table, first, TARGET_BYTES)
            if kind == Kind.PLAIN:
                self._plain(chunk.data, table[first:end], verdicts[first:end])
            elif kind == Kind.PACKED:
                end = first + self._packed(chunk.data, table[first:end], verdicts[first:end])
            else:
                end = end if kind == Kind.MESSAGE else first + 1
                messages = table[first:end], verdicts[first:end]
                built = self._legacy.filter(chunk.data, *messages, keeps_legacy_tombstones)
                self._add(built, walk(built, check_crc=False).table)
            first = end
        run = self._run
        return run.out[: run.end_position].data, run.survivors()

    @property
    def counts(self) -> list[int]:
        """How many records were read so far, how many of them were kept, and how many had no key."""
        found: list[int] = (self._run.state[_COUNTS] + self._rebuilt.state[_COUNTS] + self._legacy.counts).tolist()
        return found

    def _plain(self, data: memoryview, table: NDArray[np.void], verdicts: NDArray[np.uint8]) -> None:
        _make_room(self._run, table, int(table["size"].sum(dtype=np.int64)))
        fates = np.empty(len(table), np.uint8)
        code, _, position, found = kernels.filter_batches(self.offset_table, self._run, data, table, verdicts, fates)
        if code != Code.DONE:
            raise problem_of(code, position, found)

    def _packed(self, data: memoryview, table: NDArray[np.void], verdicts: NDArray[np.uint8]) -> int:
        """Filter the first compressed batches, as many as are unpacked at once; returns how many.

        Only those whose fate depends on their records are decompressed. Changed batches are compressed again at the
        codec's default level, as in Kafka.
        """
        foreseen = np.empty(len(table), np.int8)
        kernels.foresee_fates(self.offset_table, table, verdicts, foreseen)
        starts, ends = unpack(data, table, foreseen >= 0, self._scratch)
        table, verdicts = table[: len(starts)], verdicts[: len(starts)]
        run, fates = self._rebuilt, np.empty(len(starts), np.uint8)
        _empty(run)
        _make_room(run, table, int(table["size"].sum(dtype=np.int64) + ends[-1]))
        code, row, position, found = kernels.filter_batches(
            self.offset_table, run, data, table, verdicts, fates, self._scratch.buffer, starts, ends
        )
        if code != Code.DONE:
            raise problem_of(code, position - int(starts[row]), found, int(table[row]["position"]))
        stays = run.survivors()
        for row, fate in enumerate(fates[fates != Fate.GONE].tolist()):
            batch = stays[row : row + 1].copy()
            start, end = int(batch[0]["position"]), int(batch[0]["position"]) + int(batch[0]["size"])
            data = run.out[start:end].data
            if fate == Fate.REBUILT:
                header = BatchHeader.from_row(batch[0])
                data = memoryview(frame_batch(header, compress(header.codec_id, data[BATCH_OVERHEAD:])))
            batch["position"], batch["size"] = 0, len(data)
            self._add(data, batch)
        return len(starts)

    def _add(self, data: bytes | memoryview, table: NDArray[np.void]) -> None:
        """Append batches that were built elsewhere."""
        run, at, end = self._run, self._run.end_position, self._run.batches + len(table)
        _grow(run, at + len(data), end)
        run.out[at : at + len(data)] = memoryview(data)
        rows = run.table[run.batches : end]
        rows[:] = table
        rows["position"] += at
        run.end_position += len(data)
        run.batches = end


def _empty(run: FilterRun) -> None:
    run.end_position = run.batches = 0


def _make_room(run: FilterRun, table: NDArray[np.void], data_bytes: int) -> None:
    """Make room for what may remain of these batches, whose records take `data_bytes`."""
    records = int(np.maximum(table["count"], 0).sum(dtype=np.int64))
    needed = data_bytes + len(table) * BATCH_OVERHEAD + records * MAX_RECORD_GROWTH
    _grow(run, run.end_position + needed, run.batches + len(table))


def _grow(run: FilterRun, data_bytes: int, rows: int) -> None:
    if len(run.out) < data_bytes:
        grown = np.empty(max(data_bytes, 2 * len(run.out)), np.uint8)
        grown[: run.end_position] = run.out[: run.end_position]
        run.out = grown
    if len(run.table) < rows:
        longer = np.empty(max(rows, 2 * len(run.table)), BATCH)
        longer[: run.batches] = run.table[: run.batches]
        run.table = longer
