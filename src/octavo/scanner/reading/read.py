"""Reads a task's records as columns: decodes its batches, and cuts them to the requested offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import is_wrapper, last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import are_readable, flaw_of, unreadable
from octavo.format.compression import unpack_limit
from octavo.format.record import TimestampType
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Column
from octavo.scanner.findings import ScanFindings
from octavo.scanner.reading.aborted import AbortedOf
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.rows import all_delivered, delivered, needs_offsets, timestamp_types
from octavo.scanner.reading.source import Source

# What the kernel builds for each column of a scan; a column marked 0 has one value in a whole filling.
COLUMNS: dict[str, Column] = {
    "topic": Column(0),
    "partition": Column(0),
    "offset": Column.OFFSET,
    "timestamp": Column.TIMESTAMP,
    "timestampType": Column(0),
    "key": Column.KEY,
    "value": Column.VALUE,
    "headers": Column.HEADERS,
}


class Filling(NamedTuple):
    """The rows from `start` to `stop` of some columns; all have the same `timestamp_type`, if that column is wanted."""

    columns: RecordColumns
    start: int
    stop: int
    timestamp_type: TimestampType


def wanted_columns(names: tuple[str, ...]) -> Column:
    """What the kernel has to build for these columns."""
    wanted = Column(0)
    for name in names:
        wanted |= COLUMNS[name]
    return wanted


class TaskReader:
    """Reads one task after the other through the same buffers. Not thread-safe: use one per thread.

    A filling is valid until the next one is requested. With `exchange`, which supplies other columns for that one, the
    caller may keep it.
    """

    def __init__(
        self, columns: tuple[str, ...], findings: ScanFindings, exchange: Callable[[], RecordColumns] | None = None
    ) -> None:
        wanted = wanted_columns(columns)
        self._by_type = "timestampType" in columns
        self._plain = Decoder(wanted)
        self._with_offsets = self._plain if wanted & Column.OFFSET else Decoder(wanted | Column.OFFSET)
        self._findings = findings
        self._exchange = exchange

    def fillings(self, task: ReadTask) -> Iterator[Filling]:
        """The task's records in offset order, whatever its filter."""
        source, aborted = Source(task, self._findings), AbortedOf(task, self._findings)
        for chunk in source:
            start, end = source.next_offset, task.end_offset
            table, is_whole = self._delivered(chunk, start, end, aborted)
            is_one_type = is_whole or not self._by_type
            runs = [(table, TimestampType.CREATE_TIME)] if is_one_type else timestamp_types(table)
            sliced = not is_whole and needs_offsets(table, start, end)
            decoder = self._with_offsets if sliced else self._plain
            for rows, timestamp_type in runs:
                for columns in self._decode(decoder, chunk, rows, task.max_unpacked_bytes):
                    first, last = _bounds(columns, start, end) if sliced else (0, columns.rows)
                    if first < last:
                        yield Filling(columns, first, last, timestamp_type)

    def count(self, task: ReadTask) -> int:
        """How many records the task has, whatever its filter. Batches are counted by their headers, and decoded only if
        those cannot tell: batches that reach beyond the task's offsets, and the compressed wrappers of old formats.
        """
        records = 0
        source, aborted = Source(task, self._findings), AbortedOf(task, self._findings)
        for chunk in source:
            start, end = source.next_offset, task.end_offset
            table, is_whole = self._delivered(chunk, start, end, aborted)
            by_header = table["count"] > 0
            if not is_whole:
                by_header &= (table["base_offset"] >= start) & (last_offsets(table) < end)
            records += int(table["count"][by_header].sum(dtype=np.int64))
            others = table[~by_header & (table["count"] != 0)]
            for columns in self._decode(self._with_offsets, chunk, others, task.max_unpacked_bytes):
                first, last = _bounds(columns, start, end)
                records += last - first
        return records

    def _delivered(self, chunk: Chunk, start: int, end: int, aborted: AbortedOf) -> tuple[NDArray[np.void], bool]:
        """The batches that a consumer gets, and whether it wants all of their records; see `all_delivered`."""
        if all_delivered(chunk.summary, start, end):
            return chunk.table, True
        sound = sound_batches(chunk, start, end, self._findings)
        return delivered(sound, start, end, aborted.at(chunk)), False

    def _decode(
        self, decoder: Decoder, chunk: Chunk, table: NDArray[np.void], limit: int | None
    ) -> Iterator[RecordColumns]:
        """Decode the batches; a damaged one is raised or skipped, as `findings` decides."""
        decoder.limit = unpack_limit() if limit is None else limit
        while len(table):
            try:
                for columns in decoder.decode(chunk.data, table):
                    yield columns
                    if self._exchange is not None:
                        decoder.columns = self._exchange()
                return
            except CorruptionError as error:
                damaged = _damaged_row(decoder, chunk, table, error.position or 0)
                self._findings.damage(chunk.located(error))
                table = table[damaged + 1 :]


def sound_batches(chunk: Chunk, start: int, end: int, findings: ScanFindings) -> NDArray[np.void]:
    """The readable batches. Any other batch among the wanted ones is reported to `findings`."""
    table = chunk.table
    if are_readable(chunk.summary):
        return table
    unsound = unreadable(table)
    sound: NDArray[np.void] = table[~unsound]
    for slot in np.flatnonzero(unsound).tolist():
        after = int(np.searchsorted(sound["position"], table[slot]["position"]))
        is_before = after < len(sound) and not is_wrapper(sound[after]) and sound[after]["base_offset"] <= start
        is_beyond = after > 0 and last_offsets(sound[after - 1 : after])[0] + 1 >= end
        if not is_before and not is_beyond:
            findings.damage(chunk.located(flaw_of(table[slot]).at(position=int(table[slot]["position"]))))
    return sound


def _damaged_row(decoder: Decoder, chunk: Chunk, table: NDArray[np.void], position: int) -> int:
    """The row of the batch with the problem: at a boundary, either the one that ends or the one that begins there."""
    row = max(int(np.searchsorted(table["position"], position, "right")) - 1, 0)
    if row > 0 and table[row]["position"] == position:
        try:
            decoder.decode_one(chunk.data, table[row - 1])
        except CorruptionError:
            return row - 1
    return row


def _bounds(columns: RecordColumns, start: int, end: int) -> tuple[int, int]:
    offsets = columns.offset[: columns.rows]
    first, last = np.searchsorted(offsets, [start, end]).tolist()
    return first, last
