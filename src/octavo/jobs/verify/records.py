"""The records inside batches: unpacked, decoded, and within the offsets that their batch claims."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.control import decode_control
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.view import Part
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import CODEC_MASK, CONTROL, NO_PRODUCER_ID, Column


class RecordCheck:
    """Decodes every record; only offsets are kept of them. Not thread-safe."""

    def __init__(self, path: object, findings: Findings) -> None:
        self.records = 0
        self._path = path
        self._findings = findings
        self._decoder = Decoder(Column.OFFSET)
        self._control = Decoder(Column.ALL)
        self._last_offset: int | None = None  # of the batch before a wrapper

    def take(self, part: Part) -> None:
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

    def _take_messages(self, part: Part, wrappers: NDArray[np.bool_]) -> None:
        """Wrappers one by one, since only opening one tells how many messages it has; what lies between at once."""
        start = 0
        for row in np.flatnonzero(wrappers).tolist():
            self._take_batches(part, np.arange(start, row))
            self._take_wrapper(part, row)
            start = row + 1
        self._take_batches(part, np.arange(start, len(part.table)))

    def _take_wrapper(self, part: Part, row: int) -> None:
        before = int(part.last_offsets[row - 1]) if row else self._last_offset
        try:
            columns = self._decoder.decode_one(part.data, part.table[row])
        except CorruptionError as error:
            self._add(part, error)
            return
        offsets = columns.offset[: columns.rows]
        self.records += columns.rows
        if (np.diff(offsets) <= 0).any() or offsets[-1] != part.last_offsets[row]:
            found = f"messages of offsets {offsets[0]} to {offsets[-1]}"
            detail = f"{found} in a compressed one of offset {part.last_offsets[row]}, expected ascending ones up to it"
            self._findings.add(self._path, int(part.positions[row]), Problem.INVALID_RECORDS, detail)
        elif before is not None and offsets[0] <= before:
            detail = f"offset {offsets[0]} behind offset {before}, expected larger ones only"
            self._findings.add(self._path, int(part.positions[row]), Problem.OFFSET_ORDER, detail)

    def _take_batches(self, part: Part, rows: NDArray[np.int64]) -> None:
        """Batches whose header says how many records they have; behind a damaged one it goes on."""
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
        self, part: Part, rows: NDArray[np.int64], ends: NDArray[np.int64], columns: RecordColumns
    ) -> None:
        """Records of a batch ascend, from its base offset on and not beyond its last one."""
        offsets = columns.offset[: columns.rows]
        self.records += columns.rows
        firsts = np.concatenate([[0], ends[:-1]])
        wrong = (offsets[firsts] < part.table["base_offset"][rows]) | (offsets[ends - 1] > part.last_offsets[rows])
        steps = offsets[1:] <= offsets[:-1]
        steps[ends[:-1] - 1] = False  # from one batch to the next: looked at by the log's check
        if not steps.any() and not wrong.any():
            return
        wrong[np.searchsorted(ends, np.flatnonzero(steps), "right")] = True
        for slot in np.flatnonzero(wrong):
            row, first, last = rows[slot], offsets[firsts[slot]], offsets[ends[slot] - 1]
            expected = f"expected ascending ones from {part.table['base_offset'][row]} to {part.last_offsets[row]}"
            detail = f"records of offsets {first} to {last}, {expected}"
            self._findings.add(self._path, int(part.positions[row]), Problem.INVALID_RECORDS, detail)

    def _check_control(self, part: Part) -> None:
        """Control records of no producer, as KRaft has them; a producer's markers are looked at with its state."""
        table = part.table
        for row in np.flatnonzero((table["attributes"] & CONTROL != 0) & (table["magic"] >= 2)):
            if table[row]["producer_id"] != NO_PRODUCER_ID:
                continue
            try:
                for record in to_records(self._control.decode_one(part.data, table[row])):
                    decode_control(record.key, record.value)
            except CorruptionError as error:
                detail = f"a control record that cannot be read: {error.problem}"
                self._findings.add(self._path, int(part.positions[row]), Problem.INVALID_RECORDS, detail)

    def _add(self, part: Part, error: CorruptionError) -> None:
        position = part.file_position + (error.position or 0)
        self._findings.add(self._path, position, Problem.INVALID_RECORDS, error.problem)
