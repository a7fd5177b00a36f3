"""The offset index beside the log: each entry names a batch's start and an offset that belongs to it.

What versions of Kafka wrote: the last offset of the batch (now), its first one (up to 1.0), or the last one of an
append of several batches that begins there (up to 4.0.0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.decoder import Decoder
from octavo.format.offset_index import ENTRY
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.index_bytes import IndexBytes, check_order
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.view import Part
from octavo.kernels.layout import CODEC_MASK, Column

_BEYOND = 1 << 62


class _Entry(NamedTuple):
    """An entry; `bound` is the position of the next one, before which its append must end."""

    slot: int
    offset: int
    position: int
    bound: int


class OffsetIndexCheck:
    """Compares entries with batches as these come by, so that memory holds the index but not the log."""

    def __init__(self, index: IndexBytes, base_offset: int, findings: Findings) -> None:
        self._path = index.path
        self._findings = findings
        slots = check_order(index, "relative_offset", "position", findings)
        offsets = index.slots["relative_offset"][slots].astype(np.int64) + base_offset
        positions = index.slots["position"][slots].astype(np.int64)
        order = np.argsort(positions, kind="stable")
        self._slots, self._offsets, self._positions = slots[order], offsets[order], positions[order]
        self._next = 0
        self._waiting: list[_Entry] = []  # for the end of the append that they name
        self._decoder = Decoder(Column.OFFSET)

    def take(self, part: Part, log: LogCheck) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for entry in waiting:
                self._find_end(entry, part, 0)
        start = self._next
        end = int(np.searchsorted(self._positions, part.positions[-1], "right"))
        if start == end:
            return
        self._next = end
        positions, offsets = self._positions[start:end], self._offsets[start:end]
        rows = np.searchsorted(part.positions, positions)
        is_start = part.positions[rows] == positions
        is_last = is_start & (part.last_offsets[rows] == offsets)
        for at in np.flatnonzero(~is_last).tolist():
            entry = self._entry(start + at)
            if not is_start[at]:
                if not log.spans.hides_position(entry.position):
                    self._wrong(entry, "no batch begins there")
            elif self._first_offset(part, int(rows[at])) != entry.offset:
                self._find_end(entry, part, int(rows[at]))

    def finish(self, log: LogCheck) -> None:
        """Behind the last batch."""
        for entry in self._waiting:
            self._wrong(entry, "no batch from there on ends with it")
        for at in range(self._next, len(self._slots)):
            entry = self._entry(at)
            if not log.spans.hides_position(entry.position):
                self._wrong(entry, f"the last batch ends at position {log.position}")

    def _entry(self, at: int) -> _Entry:
        bound = int(self._positions[at + 1]) if at + 1 < len(self._positions) else _BEYOND
        return _Entry(int(self._slots[at]), int(self._offsets[at]), int(self._positions[at]), bound)

    def _find_end(self, entry: _Entry, part: Part, row: int) -> None:
        """Whether a batch from this row on, before the next entry's, ends with the entry's offset."""
        row += int(np.searchsorted(part.last_offsets[row:], entry.offset))
        if row == len(part.table):
            if part.positions[-1] < entry.bound:
                self._waiting.append(entry)
            else:
                self._wrong(entry, "no batch from there to the next entry's ends with it")
        elif part.last_offsets[row] != entry.offset or part.positions[row] >= entry.bound:
            self._wrong(entry, "no batch from there to the next entry's ends with it")

    def _first_offset(self, part: Part, row: int) -> int | None:
        batch = part.table[row]
        if batch["magic"] >= 2 or not batch["attributes"] & CODEC_MASK:
            return int(batch["base_offset"])
        try:
            return int(self._decoder.decode_one(part.data, batch).offset[0])
        except CorruptionError:
            return None

    def _wrong(self, entry: _Entry, why: str) -> None:
        detail = f"offset {entry.offset} at position {entry.position} of the log, but {why}"
        self._findings.add(self._path, entry.slot * ENTRY.size, Problem.WRONG_ENTRY, detail)
