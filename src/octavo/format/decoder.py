"""Batches of every magic and codec to columns, through buffers that are reused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError, InvalidRecordError
from octavo.format.compression import DEFAULT_LIMIT, Scratch, decompress_into
from octavo.format.message_set import wrapped_value
from octavo.format.problems import problem_of
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Code, Column, Flaw

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Compressed batches are unpacked and decoded by about this many bytes at a time.
TARGET_BYTES = 8 << 20

# Batches of one kind that follow one another are decoded by one call of a kernel.
_PLAIN, _PACKED, _MESSAGE, _WRAPPER, _UNREADABLE = range(5)


class Decoder:
    """Turns batches into columns, which it owns and fills anew with each call. Not thread-safe: one a thread.

    `limit` bounds what one batch may unpack to. The CRCs of batches and outer messages are the walk's business (a
    reader may want to see a damaged batch); those of the messages inside a wrapper are checked here.
    """

    def __init__(
        self, columns: Column = Column.ALL, *, limit: int = DEFAULT_LIMIT, check_inner_crc: bool = True
    ) -> None:
        self.columns = RecordColumns.empty(0, 0)
        self._wanted = columns
        self._limit = limit
        self._check_inner_crc = check_inner_crc
        self._scratch = Scratch()

    def decode(self, data: Buffer, table: NDArray[np.void]) -> Iterator[RecordColumns]:
        """The records of all batches of the table, in one or more fillings of the columns.

        More than one where compressed batches unpack to far more than `TARGET_BYTES`, so that memory stays flat. The
        records before a damaged batch are handed out before the error is raised.
        """
        view = memoryview(data).cast("B")
        first, more = 0, True
        while more:
            self.columns.reset()
            try:
                first = self._fill(view, table, first)
            except CorruptionError:
                yield self.columns
                raise
            yield self.columns
            more = first < len(table)

    def decode_one(self, data: Buffer, row: np.void) -> RecordColumns:
        """The records of one batch."""
        self.columns.reset()
        self._fill(memoryview(data).cast("B"), np.array([row], layout.BATCH), 0)
        return self.columns

    def _fill(self, view: memoryview, table: NDArray[np.void], first: int) -> int:
        """Append batches from `first` on; returns the first one that is left for the next filling."""
        kinds = _kinds(table)
        while first < len(table) and not self._is_filled():
            kind = kinds[first]
            changes = np.flatnonzero(kinds[first:] != kind)
            end = first + int(changes[0]) if len(changes) else len(table)
            if kind == _PLAIN:
                self._plain(view, table[first:end])
                first = end
            elif kind == _PACKED:
                first = self._packed(view, table, first, end)
            elif kind == _MESSAGE:
                first = self._messages(view, table, first, end)
            elif kind == _WRAPPER:
                self._wrapper(view, table[first])
                first += 1
            else:
                raise _unreadable(table[first])
        return first

    def _is_filled(self) -> bool:
        key, value = self.columns.key, self.columns.value
        assert key is not None and value is not None
        return int(key.offsets[self.columns.rows]) + int(value.offsets[self.columns.rows]) >= TARGET_BYTES

    def _plain(self, view: memoryview, table: NDArray[np.void]) -> None:
        areas = table["size"].astype(np.int64) - layout.BATCH_OVERHEAD
        self._make_room(table, areas)
        self._records(view, table, areas, None, None)

    def _packed(self, view: memoryview, table: NDArray[np.void], first: int, end: int) -> int:
        """Unpack batches behind one another, then decode them together."""
        starts, ends, at = [], [], 0
        for index in range(first, end):
            batch = table[index]
            position, size = int(batch["position"]), int(batch["size"])
            starts.append(at)
            if batch["count"] > 0:  # else Kafka does not look at what follows
                try:
                    at = self._unpack(view, position + layout.BATCH_OVERHEAD, position + size, batch, at)
                except CorruptionError:
                    if index == first:
                        raise
                    starts.pop()
                    end = index  # what came before it is decoded first
                    break
            ends.append(at)
            if at >= TARGET_BYTES:
                end = index + 1
                break
        rows, starts_at, ends_at = table[first:end], np.array(starts, np.int64), np.array(ends, np.int64)
        self._make_room(rows, ends_at - starts_at)
        self._records(self._scratch.buffer, rows, ends_at - starts_at, starts_at, ends_at)
        return end

    def _unpack(self, view: memoryview, start: int, end: int, batch: np.void, at: int) -> int:
        """Unpack view[start:end] into the scratch behind `at`; returns where it ends there."""
        codec, magic = int(batch["attributes"]) & layout.CODEC_MASK, int(batch["magic"])
        try:
            return decompress_into(codec, view[start:end], self._scratch, at, magic=magic, limit=self._limit)
        except CorruptionError as error:
            raise error.at(position=start + (error.position or 0)) from None

    def _make_room(self, table: NDArray[np.void], areas: NDArray[np.int64]) -> None:
        # A count is not believed beyond what its bytes can hold; the kernel refuses it then.
        rows = int(np.minimum(np.maximum(table["count"], 0), areas // layout.MIN_RECORD_BYTES).sum())
        self._ensure(rows, int(areas.sum()))

    def _ensure(self, rows: int, data_bytes: int) -> None:
        columns = self.columns
        assert columns.key is not None and columns.value is not None
        free = min(len(c.data) - int(c.offsets[columns.rows]) for c in (columns.key, columns.value))
        if columns.rows + rows > len(columns.offset) or free < data_bytes:
            columns.grow(rows, data_bytes, 0, 0)

    def _records(
        self,
        view: Buffer,
        table: NDArray[np.void],
        areas: NDArray[np.int64],
        starts: NDArray[np.int64] | None,
        ends: NDArray[np.int64] | None,
    ) -> None:
        index, code = 0, int(Code.FULL)
        while code == Code.FULL:
            code, index, position, found = kernels.decode_records(
                view, table, index, self.columns, self._wanted, starts, ends
            )
            if code == Code.FULL:  # room for rows and bytes was made, so it is the headers: at most 2 bytes make one
                area = int(areas[index])
                self.columns.grow(0, 0, max(area // 2, self.columns.header_rows), 2 * area)
        if code != Code.DONE:
            raise problem_of(code, position, found, None if starts is None else int(table[index]["position"]))

    def _messages(self, view: memoryview, table: NDArray[np.void], first: int, end: int) -> int:
        """Uncompressed messages lie behind one another."""
        start = int(table[first]["position"])
        stop = int(table[end - 1]["position"]) + int(table[end - 1]["size"])
        if stop - start != int(table[first:end]["size"].astype(np.int64).sum()):
            end, stop = first + 1, start + int(table[first]["size"])  # rows were left out: one at a time
        self._ensure(end - first, stop - start)
        code, _, position, found = kernels.decode_messages(view, start, stop, self.columns, self._wanted, False)
        if code != Code.DONE:
            raise problem_of(code, position, found)
        return end

    def _wrapper(self, view: memoryview, batch: np.void) -> None:
        position, magic, attributes = int(batch["position"]), int(batch["magic"]), int(batch["attributes"])
        start, end = wrapped_value(view, position, position + int(batch["size"]))
        end = self._unpack(view, start, end, batch, 0)
        self._ensure(end // (layout.LOG_OVERHEAD + layout.MIN_MESSAGE_SIZE) + 1, end)
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


def _kinds(table: NDArray[np.void]) -> NDArray[np.int64]:
    packed = np.where(table["attributes"] & layout.CODEC_MASK, _PACKED, _PLAIN)
    kinds = np.where(table["magic"] < 2, packed + _MESSAGE, packed)
    return np.where(table["flaws"] & (Flaw.UNKNOWN_MAGIC | Flaw.TOO_SHORT), _UNREADABLE, kinds)


def _unreadable(batch: np.void) -> InvalidRecordError:
    position = int(batch["position"])
    if int(batch["flaws"]) & Flaw.TOO_SHORT:
        sentence = f"a batch of {batch['size']} bytes, expected at least the {layout.BATCH_OVERHEAD} of its header"
    else:
        sentence = f"magic {batch['magic']}, expected 0, 1 or 2"
    return InvalidRecordError(sentence, position=position)
