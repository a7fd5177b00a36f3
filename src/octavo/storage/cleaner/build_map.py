"""Fills the offset map with the keys of a log's dirty part, as many as fit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import TARGET_BYTES, Decoder
from octavo.format.batches.problems import problem_of
from octavo.format.compression import Scratch
from octavo.kernels.layout import CODEC_MASK, CONTROL, Code, Column, Kind
from octavo.kernels.offset_table import OffsetTable
from octavo.storage.cleaner.offset_map import OffsetMap
from octavo.storage.cleaner.plan import CleanPlan
from octavo.storage.cleaner.transactions import CleanedTransactions, discardable, transaction_events
from octavo.storage.cleaner.unpack import unpack
from octavo.storage.rewriting.source import OnBytes, located, view_chunks
from octavo.system.filesystem import FileSystem

Events = dict[int, list[NDArray[np.void]]]  # the segments' transaction events, by base offset


def build_map(
    plan: CleanPlan, transactions: CleanedTransactions, filesystem: FileSystem, on_bytes: OnBytes
) -> tuple[OffsetMap, Events]:
    """The map of the dirty keys, and the transaction events of the segments that were read completely.

    The map has the dirty part's keys up to its latest offset, which lies before the end if they did not all fit.
    Batches of aborted transactions and markers contribute no keys. Without a dirty segment the map is empty, and its
    latest offset is the one before the first dirty offset.
    """
    segments, first_dirty_offset = plan.dirty, plan.first_dirty_offset
    end_offset = segments[-1].end_offset if segments else first_dirty_offset
    offset_table = plan.limits.table(first_dirty_offset, end_offset)
    offset_table.latest_offset = -1 if segments else first_dirty_offset - 1
    events = _Mapper(offset_table, transactions, first_dirty_offset).fill(plan, filesystem, on_bytes)
    kernels.settle_marks(offset_table)
    return OffsetMap(offset_table), events


@dataclass(slots=True)
class _Mapper:
    """Puts the keys of chunks into the table, in log order."""

    offset_table: OffsetTable
    transactions: CleanedTransactions
    first_dirty_offset: int
    _scratch: Scratch = field(default_factory=Scratch)
    _decoder: Decoder = field(default_factory=lambda: Decoder(Column.OFFSET | Column.KEY))

    def fill(self, plan: CleanPlan, filesystem: FileSystem, on_bytes: OnBytes) -> Events:
        """Read the dirty segments, until a key does not fit; returns the events of those that were read completely."""
        position, passed = plan.start_position, Events()
        for segment in plan.dirty:
            path, events = segment.path(plan.folder), list[NDArray[np.void]]()
            for chunk in view_chunks(filesystem, path, segment.size, position):
                on_bytes(int(chunk.table["size"].sum(dtype=np.int64)))
                with located(path, chunk):
                    events.append(transaction_events(chunk.data, chunk.table))
                    if not self.add(chunk, events[-1]):
                        return passed
            self.offset_table.latest_offset = segment.end_offset - 1
            if position == 0:
                passed[segment.base_offset] = events
            position = 0
        return passed

    def add(self, chunk: Chunk, events: NDArray[np.void]) -> bool:
        """Add a chunk's keys; returns whether all of them fitted."""
        table, first, fits = chunk.table, 0, True
        skipped = np.zeros(len(table), np.uint8)
        for row, may_go in discardable(self.transactions, events):
            skipped[row] = may_go or bool(table[row]["attributes"] & CONTROL)
        while first < len(table) and fits:
            kind, end, _, _ = kernels.next_run(table, first, TARGET_BYTES)
            if kind == Kind.PLAIN:
                fits = self._batches(chunk.data, table[first:end], skipped[first:end])
            elif kind == Kind.PACKED:
                starts, ends = unpack(chunk.data, table[first:end], skipped[first:end] != 0, self._scratch)
                end = first + len(starts)
                fits = self._batches(self._scratch.buffer, table[first:end], skipped[first:end], starts, ends)
            elif kind == Kind.MESSAGE:
                fits = self._messages(chunk.data, table[first:end])
            else:
                fits = self._wrapper(chunk.data, table[first : first + 1])
                end = first + 1
            first = end
        return fits

    def _batches(
        self, data: memoryview, table: NDArray[np.void], skipped: NDArray[np.uint8], *bounds: NDArray[np.int64]
    ) -> bool:
        """Add batches; `bounds` are the starts and ends of their records if these were decompressed."""
        code, row, position, found = kernels.map_batches(
            self.offset_table, data, table, skipped, self.first_dirty_offset, *bounds
        )
        if code in (Code.DONE, Code.FULL):
            return code == Code.DONE
        if bounds:
            raise problem_of(code, position - int(bounds[0][row]), found, int(table[row]["position"]))
        raise problem_of(code, position, found)

    def _messages(self, data: memoryview, table: NDArray[np.void]) -> bool:
        """Add uncompressed messages. Each counts as a batch, so the map ends after the last one that fitted."""
        done = 0
        for columns in self._decoder.decode(data, table):
            rows = kernels.map_columns(self.offset_table, columns, self.first_dirty_offset)
            done += rows
            if done:
                self._note(table[done - 1 : done])
            if rows < columns.rows:
                return False
        return True

    def _wrapper(self, data: memoryview, table: NDArray[np.void]) -> bool:
        assert table[0]["attributes"] & CODEC_MASK, "view_chunks lets nothing unreadable through"
        columns = self._decoder.decode_one(data, table[0])
        if kernels.map_columns(self.offset_table, columns, self.first_dirty_offset) < columns.rows:
            return False
        self._note(table)
        return True

    def _note(self, table: NDArray[np.void]) -> None:
        last_offset = int(last_offsets(table)[-1])
        if last_offset >= self.first_dirty_offset:
            self.offset_table.latest_offset = last_offset
