"""Batches of every magic and codec to columns, through buffers that are reused."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError, DecompressionLimitError
from octavo.format.batches.problems import problem_of, unreadable
from octavo.format.compression import Scratch, beyond, unpack_limit, unpacker
from octavo.format.legacy.message_set import wrapped_value
from octavo.kernels import layout
from octavo.kernels.columns import MAX_COLUMN_BYTES, RecordColumns
from octavo.kernels.layout import Code, Column, DecodeKind

if TYPE_CHECKING:
    from typing_extensions import Buffer

# One filling of the columns ends with the batch that brings it to so many bytes: memory stays flat, and columns that
# stay in the cache are filled twice as fast as larger ones (measured with lz4 on a core with 1.25 MB of L2).
TARGET_BYTES = 2 << 20
# Compressed batches are decoded by about so many, or so many unpacked bytes, while these are still in the CPU's cache.
UNPACK_BYTES = 256 << 10
UNPACK_BATCHES = 64
_MOST_UNPACKED = MAX_COLUMN_BYTES - TARGET_BYTES - UNPACK_BYTES
_PACKED_FIELDS = itemgetter(*map(list(layout.BATCH_COLUMNS).index, ("position", "size", "attributes", "count")))


class Decoder:
    """Turns batches into columns, which it owns and fills anew with each call. Not thread-safe: one a thread.

    `limit` bounds what one batch may unpack to (`unpack_limit()` unless it is given); what a column can hold bounds it
    too. The CRCs of batches and outer messages are the business of the walk (a reader may want to see a damaged batch);
    those of the messages inside a wrapper are checked here.
    """

    def __init__(self, columns: Column = Column.ALL, *, limit: int | None = None, check_inner_crc: bool = True) -> None:
        self.columns = RecordColumns.empty(0, 0, columns=columns)
        self._wanted = int(columns)
        self.limit = unpack_limit() if limit is None else limit
        self._check_inner_crc = check_inner_crc
        self._scratch = Scratch()
        self._filled_bytes = 0

    @property
    def filled_bytes(self) -> int:
        """How many bytes of records the last filling had, at most: its buffers have grown that far."""
        return self._filled_bytes

    def decode(self, data: Buffer, table: NDArray[np.void]) -> Iterator[RecordColumns]:
        """The records of all batches of the table, in one or more fillings of the columns.

        More than one where they hold more than `TARGET_BYTES`. The records before a damaged batch are handed out
        before the error is raised.
        """
        view = memoryview(data).cast("B")
        first, more = 0, True
        while more:
            self._reset()
            try:
                first = self._fill(view, table, first)
            except CorruptionError:
                yield self.columns
                raise
            yield self.columns
            more = first < len(table)

    def decode_one(self, data: Buffer, row: np.void) -> RecordColumns:
        """The records of one batch."""
        self._reset()
        # A table of one from the row's bytes: a tenth of the cost of np.array([row]).
        self._fill(memoryview(data).cast("B"), np.frombuffer(row.tobytes(), layout.BATCH), 0)
        return self.columns

    def _reset(self) -> None:
        self.columns.reset()
        self._filled_bytes = 0

    def _fill(self, view: memoryview, table: NDArray[np.void], first: int) -> int:
        """Append batches from `first` on; returns the first one that is left for the next filling."""
        while first < len(table) and self._filled_bytes < TARGET_BYTES:
            if self._filled_bytes and table[first]["size"] > TARGET_BYTES:
                break  # columns with something in them already might not hold it
            kind, end, rows, size = kernels.next_run(table, first, TARGET_BYTES - self._filled_bytes)
            if kind == DecodeKind.PLAIN:
                self._make_room(rows, size)
                self._records(view, table[first:end])
            elif kind == DecodeKind.PACKED:
                end = self._packed(view, table, first, end)
            elif kind == DecodeKind.MESSAGE:
                self._make_room(rows, size)
                end = first + self._messages(view, table[first:end], size)
            elif kind == DecodeKind.WRAPPER:
                self._wrapper(view, table[first])
                end = first + 1
            else:
                raise _unreadable(table[first])
            first = end
        return first

    def _make_room(self, rows: int, data_bytes: int) -> None:
        """For rows whose keys and values have at most so many bytes together."""
        self._filled_bytes += data_bytes
        self.columns.grow(rows, data_bytes)

    def _packed(self, view: memoryview, table: NDArray[np.void], first: int, end: int) -> int:
        """Unpack and decode batches, a set at a time; returns the first one that the columns have no room for."""
        # Rows are read as they are used: numpy would take as long for one as all else here does.
        fields = map(_PACKED_FIELDS, layout.BATCH_ROW.iter_unpack(table[first:end].tobytes()))
        while first < end and self._filled_bytes < TARGET_BYTES:
            ends, rows, damage = self._unpack_set(view, islice(fields, UNPACK_BATCHES))
            last = first + len(ends) - 1
            self._make_room(rows, ends[-1])
            bounds = memoryview(array("q", ends))
            self._records(self._scratch.buffer, table[first:last], bounds[:-1], bounds[1:])
            if damage is not None:
                raise damage
            first = last
        return first

    def _unpack_set(
        self, view: memoryview, fields: Iterator[tuple[int, ...]]
    ) -> tuple[list[int], int, CorruptionError | None]:
        """Unpack batches behind one another: where they end, how many rows they have, and what ended the set early."""
        ends, rows, at, before = [0], 0, 0, 0
        for position, size, attributes, count in fields:
            if count > 0:  # else Kafka does not look at what follows
                try:
                    at = self._unpack(view, position + layout.BATCH_OVERHEAD, position + size, attributes, 2, at)
                except CorruptionError as error:
                    return ends, rows, error
                most, before = (at - before) // layout.MIN_RECORD_BYTES, at
                rows += count if count < most else most
            ends.append(at)
            if at >= UNPACK_BYTES:
                break
        return ends, rows, None

    def _unpack(self, view: memoryview, start: int, end: int, attributes: int, magic: int, at: int) -> int:
        """Unpack view[start:end] into the scratch behind `at`; returns where it ends there."""
        try:
            unpack = unpacker(attributes & layout.CODEC_MASK, magic)
            return unpack(view[start:end], self._scratch, at, magic=magic, limit=min(self.limit, _MOST_UNPACKED))
        except DecompressionLimitError as error:
            raise beyond(error, self.limit).at(position=start) from None
        except CorruptionError as error:
            raise error.at(position=start + (error.position or 0)) from None

    def _records(
        self,
        view: Buffer,
        table: NDArray[np.void],
        starts: memoryview | None = None,
        ends: memoryview | None = None,
    ) -> None:
        """Decode batches whose records lie behind their headers, or unpacked between `starts` and `ends`."""
        index, code, columns = 0, int(Code.FULL), self.columns
        while code == Code.FULL:
            code, index, position, found = kernels.decode_records(
                view, table, index, columns, self._wanted, starts, ends
            )
            if code == Code.FULL:  # room for rows and bytes was made, so it is the headers: 2 bytes make one
                area = int(table[index]["size"] if starts is None or ends is None else ends[index] - starts[index])
                columns.grow(0, 0, area // 2, area)
        if code != Code.DONE and starts is None:
            raise problem_of(code, position, found)
        if code != Code.DONE and starts is not None:
            raise problem_of(code, position - int(starts[index]), found, int(table[index]["position"]))

    def _messages(self, view: memoryview, run: NDArray[np.void], size: int) -> int:
        """Uncompressed messages that lie behind one another; returns how many of them were decoded."""
        start = int(run[0]["position"])
        code, _, position, found = kernels.decode_messages(view, start, start + size, self.columns, self._wanted, False)
        if code == Code.DONE:
            return len(run)
        # All messages or none are decoded: the sound ones before the damaged one go first.
        damaged = int(np.searchsorted(run["position"], position, "right")) - 1
        if damaged == 0:
            raise problem_of(code, position, found)
        end = int(run[damaged]["position"])
        kernels.decode_messages(view, start, end, self.columns, self._wanted, False)
        return damaged

    def _wrapper(self, view: memoryview, batch: np.void) -> None:
        """A compressed message: the message set that its value holds."""
        position, magic, attributes = int(batch["position"]), int(batch["magic"]), int(batch["attributes"])
        start, end = wrapped_value(view, position, position + int(batch["size"]))
        end = self._unpack(view, start, end, attributes, magic, 0)
        self._make_room(end // (layout.LOG_OVERHEAD + layout.MIN_MESSAGE_SIZE) + 1, end)
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


def _unreadable(batch: np.void) -> CorruptionError:
    return unreadable(int(batch["magic"]), int(batch["size"]), int(batch["flaws"]), int(batch["position"]))
