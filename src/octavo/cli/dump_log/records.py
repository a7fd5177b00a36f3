"""Reads the records of batches like Kafka's file reader: a wrong CRC or an unknown magic does not stop it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.record_parts import BaseValues, read_records
from octavo.format.batches.row_columns import to_records
from octavo.format.legacy.message import Message, read_messages
from octavo.format.record import Record
from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Flaw

# More records than a batch can hold, so that no decoded rows are taken for those of a batch that cannot be decoded.
_UNREADABLE = 2**32


@dataclass(frozen=True, slots=True)
class Span:
    """A batch's rows in columns shared with others; valid until the next batch is requested."""

    columns: RecordColumns
    first: int
    end: int
    is_continuous: bool  # the offsets of all rows in the columns are consecutive

    def offsets(self) -> NDArray[np.int64]:
        return self.columns.offset[self.first : self.end]

    def __iter__(self) -> Iterator[Record]:
        return iter(to_records(self.columns, self.first, self.end))


class RecordReader:
    """Reads the records of a walk's batches, reusing its buffers."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def of_batches(self, data: memoryview, table: NDArray[np.void]) -> Iterator[Iterable[Record | Message]]:
        """The records for each row of the table, in order; a damaged batch raises when its records are read."""
        legacy = table["magic"] < 2
        first = 0
        while first < len(table):
            changes = np.flatnonzero(legacy[first:] != legacy[first])
            end = first + int(changes[0]) if len(changes) else len(table)
            rows = table[first:end]
            yield from self._messages(data, rows) if legacy[first] else self._batches(data, rows)
            first = end

    @staticmethod
    def _messages(data: memoryview, rows: NDArray[np.void]) -> Iterator[Iterable[Message]]:
        for position, size in zip(rows["position"].tolist(), rows["size"].tolist(), strict=True):
            yield read_messages(data[position : position + size])

    def _batches(self, data: memoryview, rows: NDArray[np.void]) -> Iterator[Iterable[Record]]:
        """Decode many v2 batches at a time, up to a damaged one."""
        rows = rows.copy()
        rows["magic"] = 2
        rows["flaws"] = rows["flaws"] & np.uint8(Flaw.TOO_SHORT)
        unreadable = (rows["count"] < 0) | (rows["flaws"] != 0)
        counts = np.where(unreadable, _UNREADABLE, rows["count"].astype(np.int64)).tolist()
        done = 0
        while done < len(rows):
            try:
                for columns in self._decoder.decode(data, rows[done:]):
                    at = 0
                    is_continuous = bool((np.diff(columns.offset[: columns.rows]) == 1).all())
                    while done < len(rows) and at + counts[done] <= columns.rows:
                        yield Span(columns, at, at + counts[done], is_continuous)
                        at += counts[done]
                        done += 1
            except CorruptionError as error:
                yield _readable(data, rows[done], error)
                done += 1


def _readable(data: memoryview, row: np.void, error: CorruptionError) -> Iterator[Record]:
    """What Kafka reads from a damaged batch: the records before the damage, unless they are compressed."""
    if row["attributes"] & layout.CODEC_MASK or row["flaws"]:
        raise error
    position = int(row["position"])
    append_time = int(row["max_timestamp"]) if row["attributes"] & layout.LOG_APPEND_TIME else None
    base = BaseValues(int(row["base_offset"]), int(row["base_timestamp"]), append_time)
    start, end = position + layout.BATCH_OVERHEAD, position + int(row["size"])
    yield from read_records(data, start, end, int(row["count"]), base)
