"""Batches of every magic and codec to columns, through buffers that are reused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError, CorruptRecordError, InvalidRecordError
from octavo.format.compression import DEFAULT_LIMIT, Scratch, decompress_into
from octavo.format.message_set import wrapped_value
from octavo.format.problems import problem_of
from octavo.kernels import layout
from octavo.kernels.columns import MAX_COLUMN_BYTES, RecordColumns
from octavo.kernels.layout import Code, Column, Flaw

if TYPE_CHECKING:
    from typing_extensions import Buffer

# About so many bytes of records, unpacked, make one filling of the columns.
TARGET_BYTES = 8 << 20

# Batches of one kind that follow one another are decoded by one call of a kernel.
_PLAIN, _PACKED, _MESSAGE, _WRAPPER, _UNREADABLE = range(5)


class _Batches(NamedTuple):
    """The table with the kind of each batch, and where its run of batches of that kind ends."""

    view: memoryview
    table: NDArray[np.void]
    kinds: NDArray[np.int64]
    run_ends: NDArray[np.int64]


class Decoder:
    """Turns batches into columns, which it owns and fills anew with each call. Not thread-safe: one a thread.

    `limit` bounds what one batch may unpack to; a column's int32 offsets bound it too. The CRCs of batches and outer
    messages are the walk's business (a reader may want to see a damaged batch); those of the messages inside a
    wrapper are checked here.
    """

    def __init__(
        self, columns: Column = Column.ALL, *, limit: int = DEFAULT_LIMIT, check_inner_crc: bool = True
    ) -> None:
        self.columns = RecordColumns.empty(0, 0)
        self._wanted = columns
        self._limit = min(limit, MAX_COLUMN_BYTES - 2 * TARGET_BYTES)
        self._check_inner_crc = check_inner_crc
        self._scratch = Scratch()

    def decode(self, data: Buffer, table: NDArray[np.void]) -> Iterator[RecordColumns]:
        """The records of all batches of the table, in one or more fillings of the columns.

        More than one where the records are far more than `TARGET_BYTES`, so that memory stays flat. The records
        before a damaged batch are handed out before the error is raised.
        """
        batches = _batches(data, table)
        first, more = 0, True
        while more:
            self.columns.reset()
            try:
                first = self._fill(batches, first)
            except CorruptionError:
                yield self.columns
                raise
            yield self.columns
            more = first < len(table)

    def decode_one(self, data: Buffer, row: np.void) -> RecordColumns:
        """The records of one batch."""
        self.columns.reset()
        self._fill(_batches(data, np.array([row], layout.BATCH)), 0)
        return self.columns

    def _fill(self, batches: _Batches, first: int) -> int:
        """Append batches from `first` on; returns the first one that is left for the next filling."""
        view, table, kinds, run_ends = batches
        done = 0
        while first < len(table) and done < TARGET_BYTES:
            if done and table[first]["size"] > TARGET_BYTES:
                break  # columns with something in them already might not hold it
            run = table[first : run_ends[first]]
            kind = kinds[first]
            if kind == _PLAIN:
                taken, size = self._plain(view, run)
            elif kind == _PACKED:
                taken, size = self._packed(view, run)
            elif kind == _MESSAGE:
                taken, size = self._messages(view, run)
            elif kind == _WRAPPER:
                taken, size = 1, self._wrapper(view, run[0])
            else:
                raise _unreadable(run[0])
            first, done = first + taken, done + size
        return first

    def _plain(self, view: memoryview, run: NDArray[np.void]) -> tuple[int, int]:
        run, size = _up_to_target(run)
        areas = run["size"].astype(np.int64) - layout.BATCH_OVERHEAD
        self._make_room(run, areas)
        self._records(view, run, areas, None, None)
        return len(run), size

    def _packed(self, view: memoryview, run: NDArray[np.void]) -> tuple[int, int]:
        """Unpack batches behind one another, then decode them together."""
        starts, ends, at = [], [], 0
        for index, batch in enumerate(run):
            position, size = int(batch["position"]), int(batch["size"])
            start = at
            if batch["count"] > 0:  # else Kafka does not look at what follows
                try:
                    at = self._unpack(view, position + layout.BATCH_OVERHEAD, position + size, batch, at)
                except CorruptionError:
                    if index == 0:
                        raise
                    break  # what came before it is decoded first
            starts.append(start)
            ends.append(at)
            if at >= TARGET_BYTES:
                break
        run, starts_at, ends_at = run[: len(ends)], np.array(starts, np.int64), np.array(ends, np.int64)
        self._make_room(run, ends_at - starts_at)
        self._records(self._scratch.buffer, run, ends_at - starts_at, starts_at, ends_at)
        return len(run), at

    def _unpack(self, view: memoryview, start: int, end: int, batch: np.void, at: int) -> int:
        """Unpack view[start:end] into the scratch behind `at`; returns where it ends there."""
        codec, magic = int(batch["attributes"]) & layout.CODEC_MASK, int(batch["magic"])
        try:
            return decompress_into(codec, view[start:end], self._scratch, at, magic=magic, limit=self._limit)
        except CorruptionError as error:
            raise error.at(position=start + (error.position or 0)) from None

    def _make_room(self, run: NDArray[np.void], areas: NDArray[np.int64]) -> None:
        # A count is not believed beyond what its bytes can hold; the kernel refuses it then.
        rows = int(np.minimum(np.maximum(run["count"], 0), areas // layout.MIN_RECORD_BYTES).sum())
        self.columns.grow(rows, int(areas.sum()), 0, 0)

    def _records(
        self,
        view: Buffer,
        run: NDArray[np.void],
        areas: NDArray[np.int64],
        starts: NDArray[np.int64] | None,
        ends: NDArray[np.int64] | None,
    ) -> None:
        index, code = 0, int(Code.FULL)
        while code == Code.FULL:
            code, index, position, found = kernels.decode_records(
                view, run, index, self.columns, self._wanted, starts, ends
            )
            if code == Code.FULL:  # room for rows and bytes was made, so it is the headers: 2 bytes or more each
                area = int(areas[index])
                self.columns.grow(0, 0, area // 2, area)
        if code != Code.DONE and starts is None:
            raise problem_of(code, position, found)
        if code != Code.DONE and starts is not None:
            raise problem_of(code, position - int(starts[index]), found, int(run[index]["position"]))

    def _messages(self, view: memoryview, run: NDArray[np.void]) -> tuple[int, int]:
        """Uncompressed messages that lie behind one another."""
        positions, sizes = run["position"], run["size"].astype(np.int64)
        gaps = np.flatnonzero(positions[1:] != positions[:-1] + sizes[:-1])
        run, size = _up_to_target(run[: gaps[0] + 1] if len(gaps) else run)
        start = int(positions[0])
        self.columns.grow(len(run), size, 0, 0)
        code, _, position, found = self._decode_messages(view, start, start + size)
        if code == Code.DONE:
            return len(run), size
        # All messages or none are decoded: the sound ones before the damaged one are a call of their own.
        damaged = int(np.searchsorted(positions[: len(run)], position, "right")) - 1
        if damaged == 0:
            raise problem_of(code, position, found)
        size = int(positions[damaged]) - start
        self._decode_messages(view, start, start + size)
        return damaged, size

    def _decode_messages(self, view: memoryview, start: int, end: int) -> layout.Outcome:
        return kernels.decode_messages(view, start, end, self.columns, self._wanted, False)

    def _wrapper(self, view: memoryview, batch: np.void) -> int:
        position, magic, attributes = int(batch["position"]), int(batch["magic"]), int(batch["attributes"])
        start, end = wrapped_value(view, position, position + int(batch["size"]))
        end = self._unpack(view, start, end, batch, 0)
        self.columns.grow(end // (layout.LOG_OVERHEAD + layout.MIN_MESSAGE_SIZE), end, 0, 0)
        overruled = magic == 1 and attributes & layout.LOG_APPEND_TIME and not self._wanted & Column.STORED_TIMESTAMP
        code, _, at, found = kernels.decode_messages(
            self._scratch.buffer,
            0,
            end,
            self.columns,
            self._wanted,
            self._check_inner_crc,
            magic == 1,
            int(batch["base_offset"]),
            int(batch["max_timestamp"]) if overruled else None,
        )
        if code != Code.DONE:
            raise problem_of(code, at, found, position)
        return end


def _batches(data: Buffer, table: NDArray[np.void]) -> _Batches:
    kinds = _kinds(table)
    edges = np.append(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1, len(kinds))
    return _Batches(memoryview(data).cast("B"), table, kinds, np.repeat(edges, np.diff(edges, prepend=0)))


def _up_to_target(run: NDArray[np.void]) -> tuple[NDArray[np.void], int]:
    """The first batches, at least one, of about `TARGET_BYTES` together, and their size."""
    run = run[: TARGET_BYTES // layout.MIN_MESSAGE_SIZE]
    sizes = np.cumsum(run["size"], dtype=np.int64)
    count = min(int(np.searchsorted(sizes, TARGET_BYTES)) + 1, len(run))
    return run[:count], int(sizes[count - 1])


def _kinds(table: NDArray[np.void]) -> NDArray[np.int64]:
    packed = np.where(table["attributes"] & layout.CODEC_MASK, _PACKED, _PLAIN)
    kinds = np.where(table["magic"] < 2, packed + _MESSAGE, packed)
    return np.where(table["flaws"] & (Flaw.UNKNOWN_MAGIC | Flaw.TOO_SHORT), _UNREADABLE, kinds)


def _unreadable(batch: np.void) -> CorruptionError:
    position = int(batch["position"])
    if int(batch["flaws"]) & Flaw.UNKNOWN_MAGIC:
        return InvalidRecordError(f"magic {batch['magic']}, expected 0, 1 or 2", position=position)
    sentence = f"a batch of {batch['size']} bytes, expected at least the {layout.BATCH_OVERHEAD} of its header"
    return CorruptRecordError(sentence, position=position)
