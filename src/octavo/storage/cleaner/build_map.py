"""Filling the offset map from the dirty part of a log, up to where its keys fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.decoder import TARGET_BYTES, Decoder
from octavo.format.batches.problems import problem_of
from octavo.format.batches.walker import Chunk
from octavo.kernels.layout import CODEC_MASK, CONTROL, Code, Column, Kind
from octavo.kernels.offset_table import OffsetTable
from octavo.storage.cleaner.events import discardable, transaction_events
from octavo.storage.cleaner.offset_map import MapLimits, OffsetMap
from octavo.storage.cleaner.transactions import CleanedTransactions
from octavo.storage.cleaner.unpack import Unpacker
from octavo.storage.rewriting.source import OnBytes, SourceSegment, located, view_chunks
from octavo.system.filesystem import FileSystem


@dataclass(frozen=True, slots=True)
class MapRequest:
    """The dirty part of a log: its segments, and where in the first of them to begin."""

    folder: Path
    segments: Sequence[SourceSegment]
    start_position: int
    first_dirty_offset: int
    transactions: CleanedTransactions
    limits: MapLimits


class BuiltMap(NamedTuple):
    """The map, and the transaction events of the segments that were read whole, by base offset."""

    offset_map: OffsetMap
    events: dict[int, list[NDArray[np.void]]]


def build_map(request: MapRequest, filesystem: FileSystem, on_bytes: OnBytes) -> BuiltMap:
    """The map of the dirty keys. Its latest offset is the last that it knows all about: a full map ends there.

    Batches of aborted transactions bring no keys, nor do markers. A log without a dirty segment gives an empty map,
    which ends before the first dirty offset.
    """
    segments = request.segments
    table = request.limits.table()
    table.latest_offset = -1 if segments else request.first_dirty_offset - 1
    end_offset = segments[-1].end_offset if segments else request.first_dirty_offset
    if end_offset - request.first_dirty_offset <= request.limits.most_marks:
        table.mark_offsets(request.first_dirty_offset, end_offset)
    mapper = _Mapper(table, request.transactions, request.first_dirty_offset)
    passed = mapper.fill(request, filesystem, on_bytes)
    kernels.settle_marks(table)
    return BuiltMap(OffsetMap(table), passed)


@dataclass(slots=True)
class _Mapper:
    """Puts the keys of chunks into the table, in the order of the log."""

    table: OffsetTable
    transactions: CleanedTransactions
    first_dirty_offset: int
    _unpacker: Unpacker = field(default_factory=Unpacker)
    _decoder: Decoder = field(default_factory=lambda: Decoder(Column.OFFSET | Column.KEY))

    def fill(self, request: MapRequest, filesystem: FileSystem, on_bytes: OnBytes) -> dict[int, list[NDArray[np.void]]]:
        """Read segment after segment until the map is full; returns the events of those that were read whole."""
        position = request.start_position
        passed: dict[int, list[NDArray[np.void]]] = {}
        for segment in request.segments:
            path, events = segment.path(request.folder), list[NDArray[np.void]]()
            for chunk in view_chunks(filesystem, path, segment.size, position):
                on_bytes(int(chunk.table["size"].sum(dtype=np.int64)))
                with located(path, chunk):
                    events.append(transaction_events(chunk.data, chunk.table))
                    if not self.add(chunk, events[-1]):
                        return passed
            self.table.latest_offset = segment.end_offset - 1
            if position == 0:
                passed[segment.base_offset] = events
            position = 0
        return passed

    def add(self, chunk: Chunk, events: NDArray[np.void]) -> bool:
        """False: the map is full, and some of the chunk is not in it."""
        table, first, fits = chunk.table, 0, True
        skipped = np.zeros(len(table), np.uint8)
        for row, may_go in discardable(self.transactions, events):
            skipped[row] = may_go or bool(table[row]["attributes"] & CONTROL)
        while first < len(table) and fits:
            kind, end, _, _ = kernels.next_run(table, first, TARGET_BYTES)
            if kind == Kind.PLAIN:
                fits = self._batches(chunk.data, table[first:end], skipped[first:end])
            elif kind == Kind.PACKED:
                end, fits = self._packed(chunk.data, table[first:end], skipped[first:end], first)
            elif kind == Kind.MESSAGE:
                fits = self._messages(chunk.data, table[first:end])
            else:
                fits = self._wrapper(chunk.data, table[first : first + 1])
                end = first + 1
            first = end
        return fits

    def _batches(self, data: memoryview, table: NDArray[np.void], skipped: NDArray[np.uint8]) -> bool:
        code, _, position, found = kernels.map_batches(self.table, data, table, skipped, self.first_dirty_offset)
        if code not in (Code.DONE, Code.FULL):
            raise problem_of(code, position, found)
        return code == Code.DONE

    def _packed(
        self, data: memoryview, table: NDArray[np.void], skipped: NDArray[np.uint8], first: int
    ) -> tuple[int, bool]:
        unpacked = self._unpacker.unpack(data, table, skipped != 0)
        rows = slice(0, unpacked.end)
        code, row, position, found = kernels.map_batches(
            self.table,
            unpacked.data,
            table[rows],
            skipped[rows],
            self.first_dirty_offset,
            unpacked.starts,
            unpacked.ends,
        )
        if code not in (Code.DONE, Code.FULL):
            raise problem_of(code, position - int(unpacked.starts[row]), found, int(table[row]["position"]))
        return first + unpacked.end, code == Code.DONE

    def _messages(self, data: memoryview, table: NDArray[np.void]) -> bool:
        """Uncompressed messages: each is a batch, so that the map ends behind the last one that it took."""
        done = 0
        for columns in self._decoder.decode(data, table):
            rows = kernels.map_columns(self.table, columns, self.first_dirty_offset)
            done += rows
            if done:
                self._note(table[done - 1 : done])
            if rows < columns.rows:
                return False
        return True

    def _wrapper(self, data: memoryview, table: NDArray[np.void]) -> bool:
        assert table[0]["attributes"] & CODEC_MASK, "read_chunks lets nothing unreadable through"
        columns = self._decoder.decode_one(data, table[0])
        if kernels.map_columns(self.table, columns, self.first_dirty_offset) < columns.rows:
            return False
        self._note(table)
        return True

    def _note(self, table: NDArray[np.void]) -> None:
        last_offset = int(last_offsets(table)[-1])
        if last_offset >= self.first_dirty_offset:
            self.table.latest_offset = last_offset
