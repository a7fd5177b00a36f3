"""Decodes batches of every magic and codec to columns, in reused buffers."""

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
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.problems import problem_of, unreadable
from octavo.format.compression import Scratch, beyond, unpack_limit, unpacker
from octavo.format.legacy.message_set import wrapped_value
from octavo.kernels import layout
from octavo.kernels.columns import MAX_COLUMN_BYTES, RecordColumns
from octavo.kernels.layout import Code, Column, Kind

if TYPE_CHECKING:
    from typing_extensions import Buffer

# A filling of the columns ends at the latest with the batch, or the set of compressed batches, that brings it to this
# many bytes: memory use stays flat, and columns in the CPU's cache are filled twice as fast as larger ones (measured
# with lz4 on a core with 1.25 MB of L2).
TARGET_BYTES = 2 << 20
# Compressed batches are decoded in sets of about this many decompressed bytes or batches, while the CPU caches them.
UNPACK_BYTES = 256 << 10
UNPACK_BATCHES = 64
_MOST_UNPACKED = MAX_COLUMN_BYTES - TARGET_BYTES - UNPACK_BYTES
_PACKED_FIELDS = itemgetter(*map(list(layout.BATCH_COLUMNS).index, ("position", "size", "attributes", "count")))


class Decoder:
    """Turns batches into columns, which it owns and refills with each call. Not thread-safe: use one per thread.

    `limit` bounds the decompressed size of one batch (`unpack_limit()` by default), and so does the size of a column.
    The CRCs of batches and outer messages are left to the walk, since a reader may want to see a damaged batch; the
    CRCs of messages inside a wrapper are checked here.
    """

    def __init__(self, columns: Column = Column.ALL, *, limit: int | None = None, check_inner_crc: bool = True) -> None:
        self.columns = RecordColumns.empty(0, 0, columns=columns)
        self._wanted = int(columns)
        self.limit = unpack_limit() if limit is None else limit
        self._check_inner_crc = check_inner_crc
        self._scratch = Scratch()
        self.filled_bytes = 0  # an upper bound for the record bytes of the last filling, for which there is room

    def decode(self, data: Buffer, table: NDArray[np.void]) -> Iterator[RecordColumns]:
        """The records of all batches in the table, in one or more fillings of the columns.

        There may be more than one if they hold more than `TARGET_BYTES`. The records before a damaged batch are yielded
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
        # Makes a table of one row from the row's bytes, ten times as fast as np.array([row]).
        self._fill(memoryview(data).cast("B"), np.frombuffer(row.tobytes(), layout.BATCH), 0)
        return self.columns

    def _reset(self) -> None:
        self.columns.reset()
        self.filled_bytes = 0

    def _fill(self, view: memoryview, table: NDArray[np.void], first: int) -> int:
        """Append batches from `first` on; returns the first one left for the next filling."""
        while first < len(table) and self.filled_bytes < TARGET_BYTES:
            if self.filled_bytes and table[first]["size"] > TARGET_BYTES:
                break  # partly filled columns might not have room for it
            kind, end, rows, size = kernels.next_run(table, first, TARGET_BYTES - self.filled_bytes)
            if kind == Kind.PLAIN:
                self._make_room(rows, size)
                self._records(view, table[first:end])
            elif kind == Kind.PACKED:
                end = self._packed(view, table, first, end)
            elif kind == Kind.MESSAGE:
                self._make_room(rows, size)
                end = first + self._messages(view, table[first:end], size)
            elif kind == Kind.WRAPPER:
                self._wrapper(view, table[first])
                end = first + 1
            else:
                raise unreadable(BatchHeader.from_row(table[first]))
            first = end
        return first

    def _make_room(self, rows: int, data_bytes: int) -> None:
        """Make room for rows whose keys and values take at most this many bytes in total."""
        self.filled_bytes += data_bytes
        self.columns.grow(rows, data_bytes)

    def _packed(self, view: memoryview, table: NDArray[np.void], first: int, end: int) -> int:
        """Decompress and decode batches, one set at a time; returns the first one that was not decoded."""
        # Rows are read from plain memory: reading one through numpy would take as long as everything else here.
        fields = map(_PACKED_FIELDS, layout.BATCH_ROW.iter_unpack(table[first:end].tobytes()))
        while first < end and self.filled_bytes < TARGET_BYTES:
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
        """Decompress batches one after another; returns where they end, how many rows they have at most, and the error
        that ended the set early."""
        ends, rows, at, before = [0], 0, 0, 0
        for position, size, attributes, count in fields:
            if count > 0:  # otherwise Kafka ignores what follows
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
        """Decompress view[start:end] into the scratch from `at` on; returns the position after the content."""
        limit = min(self.limit, _MOST_UNPACKED)
        try:
            unpack = unpacker(attributes & layout.CODEC_MASK, magic)
            return unpack(view[start:end], self._scratch, at, magic=magic, limit=limit)
        except DecompressionLimitError as error:
            raise beyond(error, limit, is_fixed=limit < self.limit).at(position=start) from None
        except CorruptionError as error:
            raise error.at(position=start + (error.position or 0)) from None

    def _records(
        self,
        view: Buffer,
        table: NDArray[np.void],
        starts: memoryview | None = None,
        ends: memoryview | None = None,
    ) -> None:
        """Decode batches whose records follow their headers, or lie decompressed between `starts` and `ends`."""
        index, code, columns = 0, int(Code.FULL), self.columns
        while code == Code.FULL:
            code, index, position, found = kernels.decode_records(
                view, table, index, columns, self._wanted, starts, ends
            )
            if code == Code.FULL:  # there is room for rows and bytes, so headers need more: each takes at least 2 bytes
                area = int(table[index]["size"] if starts is None or ends is None else ends[index] - starts[index])
                columns.grow(0, 0, area // 2, area)
        if code != Code.DONE and starts is None:
            raise problem_of(code, position, found)
        if code != Code.DONE and starts is not None:
            raise problem_of(code, position - int(starts[index]), found, int(table[index]["position"]))

    def _messages(self, view: memoryview, run: NDArray[np.void], size: int) -> int:
        """Decode consecutive uncompressed messages; returns how many."""
        start = int(run[0]["position"])
        code, _, position, found = kernels.decode_messages(view, start, start + size, self.columns, self._wanted, False)
        if code == Code.DONE:
            return len(run)
        # The kernel decodes all messages or none, so first decode the sound ones before the damaged one.
        damaged = int(np.searchsorted(run["position"], position, "right")) - 1
        if damaged == 0:
            raise problem_of(code, position, found)
        end = int(run[damaged]["position"])
        kernels.decode_messages(view, start, end, self.columns, self._wanted, False)
        return damaged

    def _wrapper(self, view: memoryview, batch: np.void) -> None:
        """Decode a compressed message: the message set in its value."""
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
