"""Records as Arrow-shaped columns over numpy buffers, which the kernels fill and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import Column

# Arrow's binary offsets are int32, so no column may hold more bytes than this.
MAX_COLUMN_BYTES = INT32_MAX

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(slots=True)
class BinaryColumn:
    """Values one after another in `data`: value i is `data[offsets[i]:offsets[i + 1]]`, and null if bit i is 0.

    `validity` is Arrow's bitmap (least significant bit first); None means that nothing is null. `nulls` counts the
    nulls among the rows that a decode has filled; an encode ignores it.
    """

    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]
    validity: NDArray[np.uint8] | None = None
    nulls: int = 0

    @classmethod
    def empty(cls, rows: int, data_bytes: int) -> BinaryColumn:
        # Zeros, so that a column that no decode asks for has empty values.
        column = cls(np.zeros(rows + 1, np.int32), np.empty(data_bytes, np.uint8), np.empty((rows + 7) // 8, np.uint8))
        column.reset()
        return column

    def reset(self) -> None:
        self.offsets[0] = 0
        self.nulls = 0
        if self.validity is not None:
            self.validity.fill(0xFF)  # a decode only clears the bits of nulls

    def valid(self, rows: int) -> NDArray[np.bool_]:
        """Which of the first `rows` values are not null."""
        if self.validity is None:
            return np.ones(rows, np.bool_)
        return np.unpackbits(self.validity, count=rows, bitorder="little").view(np.bool_)

    def taken(self, rows: NDArray[np.intp]) -> BinaryColumn:
        """A column with only these rows."""
        starts = self.offsets[rows].astype(np.int64)
        lengths = self.offsets[rows + 1] - starts
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        valid = None
        if self.validity is not None:
            valid = np.packbits(self.validity[rows >> 3] >> (rows & 7).astype(np.uint8) & 1, bitorder="little")
        return BinaryColumn(offsets.astype(np.int32), self.data[places], valid)

    def grown(self, rows: int, data_bytes: int, used_rows: int) -> BinaryColumn:
        """A copy with at least this capacity and the first `used_rows` values."""
        column = BinaryColumn.empty(max(rows, len(self.offsets) - 1), max(data_bytes, len(self.data)))
        used = int(self.offsets[used_rows])
        column.offsets[: used_rows + 1] = self.offsets[: used_rows + 1]
        column.data[:used] = self.data[:used]
        if self.validity is not None and column.validity is not None:
            column.validity[: (used_rows + 7) // 8] = self.validity[: (used_rows + 7) // 8]
        column.nulls = self.nulls
        return column


@dataclass(slots=True)
class RecordColumns:
    """Columns of records with a capacity; the first `rows` rows (and `header_rows` headers) are filled.

    Row i has the headers `header_offsets[i]` up to `header_offsets[i + 1]`. A column that was not requested is None; an
    encode treats a missing key or value as null. Not thread-safe: each thread needs its own.
    """

    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    key: BinaryColumn | None
    value: BinaryColumn | None
    header_offsets: NDArray[np.int32] | None = None
    header_key: BinaryColumn | None = None
    header_value: BinaryColumn | None = None
    rows: int = 0
    header_rows: int = 0

    @classmethod
    def empty(
        cls,
        rows: int,
        data_bytes: int,
        header_rows: int = 0,
        header_bytes: int = 0,
        columns: Column = Column.ALL,
    ) -> RecordColumns:
        """Room for `rows` records: `data_bytes` each for keys and values, `header_bytes` each for header keys and
        values.

        Only the requested columns exist, but offsets and timestamps always do.
        """
        headers = bool(columns & Column.HEADERS)
        made = cls(
            np.empty(rows, np.int64),
            np.empty(rows, np.int64),
            BinaryColumn.empty(rows, data_bytes) if columns & Column.KEY else None,
            BinaryColumn.empty(rows, data_bytes) if columns & Column.VALUE else None,
            np.zeros(rows + 1, np.int32) if headers else None,
            BinaryColumn.empty(header_rows, header_bytes) if headers else None,
            BinaryColumn.empty(header_rows, header_bytes) if headers else None,
        )
        made.reset()
        return made

    def binaries(self) -> list[BinaryColumn]:
        columns = (self.key, self.value, self.header_key, self.header_value)
        return [column for column in columns if column is not None]

    def reset(self) -> None:
        """Empty the columns; the buffers stay and are refilled."""
        self.rows = self.header_rows = 0
        for column in self.binaries():
            column.reset()
        if self.header_offsets is not None:
            self.header_offsets[0] = 0

    def taken(self, rows: NDArray[np.intp]) -> RecordColumns:
        """Columns with only these rows, for encoding; nulls are not counted."""
        key, value = (column and column.taken(rows) for column in (self.key, self.value))
        if self.header_offsets is None or self.header_key is None or self.header_value is None:
            return RecordColumns(self.offset[rows], self.timestamp[rows], key, value, rows=len(rows))
        starts = self.header_offsets[rows].astype(np.int64)
        counts = self.header_offsets[rows + 1] - starts
        offsets = np.concatenate([[0], np.cumsum(counts)])
        headers = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], counts)
        return RecordColumns(
            self.offset[rows],
            self.timestamp[rows],
            key,
            value,
            offsets.astype(np.int32),
            self.header_key.taken(headers),
            self.header_value.taken(headers),
            len(rows),
            len(headers),
        )

    def grow(self, rows: int, data_bytes: int, header_rows: int = 0, header_bytes: int = 0) -> None:
        """Make room for that many more rows and bytes than are filled now, if needed; the filled part stays.

        A buffer that must grow at least doubles (up to `MAX_COLUMN_BYTES`), so that many small steps copy little.
        """
        capacity = _enough(self.rows + rows, len(self.offset))
        self.offset = _longer(self.offset, capacity)
        self.timestamp = _longer(self.timestamp, capacity)
        self.key = _grown(self.key, self.rows, capacity, data_bytes)
        self.value = _grown(self.value, self.rows, capacity, data_bytes)
        if self.header_offsets is not None and self.header_key is not None:
            self.header_offsets = _longer(self.header_offsets, capacity + 1)
            if header_rows or header_bytes:
                headers = _enough(self.header_rows + header_rows, len(self.header_key.offsets) - 1)
                self.header_key = _grown(self.header_key, self.header_rows, headers, header_bytes)
                self.header_value = _grown(self.header_value, self.header_rows, headers, header_bytes)


def _grown(column: BinaryColumn | None, used_rows: int, rows: int, more_bytes: int) -> BinaryColumn | None:
    if column is None:
        return None
    needed = int(column.offsets[used_rows]) + more_bytes
    if needed > MAX_COLUMN_BYTES:
        raise OverflowError(
            f"a column of {needed} bytes is too large: at most {MAX_COLUMN_BYTES} fit; take fewer batches at once"
        )
    if rows < len(column.offsets) and needed <= len(column.data):
        return column
    return column.grown(rows, min(_enough(needed, len(column.data)), MAX_COLUMN_BYTES), used_rows)


def _enough(needed: int, there: int) -> int:
    return there if needed <= there else max(needed, 2 * there)


def _longer(array: NDArray[Scalar], length: int) -> NDArray[Scalar]:
    if length <= len(array):
        return array
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
