"""Checks the records inside batches: decompresses and decodes them, and compares their offsets with their batch's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.control import decode_control
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.view import LogPart
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import CODEC_MASK, CONTROL, NO_PRODUCER_ID, Column


class RecordCheck:
    """Decodes every record, but keeps only its offset. Not thread-safe."""

    def __init__(self, path: object, findings: FindingCollector) -> None:
        self.records = 0
        self._path = path
        self._findings = findings
        self._decoder = Decoder(Column.OFFSET)
        self._control = Decoder(Column.ALL)
        self._last_offset: int | None = None  # of the previous part

    def take(self, part: LogPart) -> None:
        table = part.table
        wrappers = (table["magic"] < 2) & (table["attributes"] & CODEC_MASK != 0)
        if wrappers.any():
            self._take_messages(part, wrappers)
        else:
            self._take_batches(part, np.arange(len(table)))
        self._last_offset = int(part.last_offsets[-1])
        attributes = int(np.bitwise_or.reduce(table["attributes"]))
        if attributes & CONTROL:
            self._check_control(part)

    def _take_messages(self, part: LogPart, wrappers: NDArray[np.bool_]) -> None:
        """Check wrappers one by one, since only decoding shows how many messages one holds; all others together."""
        start = 0
        for row in np.flatnonzero(wrappers).tolist():
            self._take_batches(part, np.arange(start, row))
            self._take_wrapper(part, row)
            start = row + 1
        self._take_batches(part, np.arange(start, len(part.table)))

    def _take_wrapper(self, part: LogPart, row: int) -> None:
        before = int(part.last_offsets[row - 1]) if row else self._last_offset
        try:
            columns = self._decoder.decode_one(part.data, part.table[row])
        except CorruptionError as error:
            self._add(part, error)
            return
        offsets = columns.offset[: columns.rows]
        self.records += columns.rows
        if (np.diff(offsets) <= 0).any() or offsets[-1] != part.last_offsets[row]:
            found = f"messages with offsets {offsets[0]} to {offsets[-1]}"
            detail = f"{found} in a wrapper of offset {part.last_offsets[row]}, expected ascending offsets up to that"
            self._findings.add(self._path, int(part.positions[row]), FindingKind.INVALID_RECORDS, detail)
        elif before is not None and offsets[0] <= before:
            detail = f"offset {offsets[0]} after offset {before}, expected a larger one"
            self._findings.add(self._path, int(part.positions[row]), FindingKind.OFFSET_ORDER, detail)

    def _take_batches(self, part: LogPart, rows: NDArray[np.int64]) -> None:
        """Check batches whose header has the number of records; a damaged one does not stop the check."""
        rows = rows[part.table["count"][rows] > 0]
        while len(rows):
            ends = np.cumsum(part.table["count"][rows], dtype=np.int64)
            done = seen = 0
            try:
                for columns in self._decoder.decode(part.data, part.table[rows]):
                    filled = int(np.searchsorted(ends, seen + columns.rows, "right"))
                    if filled > done:
                        self._check_offsets(part, rows[done:filled], ends[done:filled] - seen, columns)
                    seen, done = seen + columns.rows, filled
                return
            except CorruptionError as error:
                self._add(part, error)
                rows = rows[done + 1 :]

    def _check_offsets(
        self, part: LogPart, rows: NDArray[np.int64], ends: NDArray[np.int64], columns: RecordColumns
    ) -> None:
        """Check that the offsets of a batch's records ascend, and lie between its base offset and its last offset."""
        offsets = columns.offset[: columns.rows]
        self.records += columns.rows
        firsts = np.concatenate([[0], ends[:-1]])
        wrong = (offsets[firsts] < part.table["base_offset"][rows]) | (offsets[ends - 1] > part.last_offsets[rows])
        steps = offsets[1:] <= offsets[:-1]
        steps[ends[:-1] - 1] = False  # LogCheck compares a batch with the next one
        if not steps.any() and not wrong.any():
            return
        wrong[np.searchsorted(ends, np.flatnonzero(steps), "right")] = True
        for slot in np.flatnonzero(wrong):
            row, first, last = rows[slot], offsets[firsts[slot]], offsets[ends[slot] - 1]
            expected = f"expected ascending offsets from {part.table['base_offset'][row]} to {part.last_offsets[row]}"
            detail = f"records with offsets {first} to {last}, {expected}"
            self._findings.add(self._path, int(part.positions[row]), FindingKind.INVALID_RECORDS, detail)

    def _check_control(self, part: LogPart) -> None:
        """Check control records without a producer, such as KRaft's; `ProducerCheck` looks at transaction markers."""
        table = part.table
        for row in np.flatnonzero((table["attributes"] & CONTROL != 0) & (table["magic"] >= 2)):
            if table[row]["producer_id"] != NO_PRODUCER_ID:
                continue
            try:
                for record in to_records(self._control.decode_one(part.data, table[row])):
                    decode_control(record.key, record.value)
            except CorruptionError as error:
                detail = f"a control record that cannot be read: {error.problem}"
                self._findings.add(self._path, int(part.positions[row]), FindingKind.INVALID_RECORDS, detail)

    def _add(self, part: LogPart, error: CorruptionError) -> None:
        position = part.file_position + (error.position or 0)
        self._findings.add(self._path, position, FindingKind.INVALID_RECORDS, error.problem)
