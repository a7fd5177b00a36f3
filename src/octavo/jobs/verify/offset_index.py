"""The offset index beside the log: each entry names a batch's start and an offset that belongs to it.

What versions of Kafka wrote, at the start of an append: its first offset (up to 1.1); its last one (from 2.0 on), which
the cleaner took from its last record (up to 4.0.0). An append may be of several batches, but since 4.0.1 each of them
counts by itself.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.batches.decoder import Decoder
from octavo.format.indexes.offset_index import ENTRY
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.index_bytes import IndexBytes, check_order
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.time_witness import TimeWitness
from octavo.jobs.verify.view import Part, SegmentView
from octavo.kernels.layout import CODEC_MASK, Column

_BEYOND = 1 << 62


class _Entry(NamedTuple):
    """An entry; `bound` is the position of the next one, before which its append must end."""

    at: int  # among all, by position
    slot: int
    offset: int
    position: int
    bound: int


class _Style(IntEnum):
    """Which offset of an append an entry names, where that can be told."""

    UNKNOWN = 0
    FIRST = 1
    LAST = 2


class OffsetIndexCheck:
    """Compares entries with batches as these come by, so that memory holds the index but not the log."""

    def __init__(self, index: IndexBytes, view: SegmentView, witness: TimeWitness, findings: Findings) -> None:
        self.wrong: dict[int, int] = {}  # offsets of wrong entries by the position that they name
        self._path = index.path
        self._findings = findings
        self._witness = witness
        self._entry_a_batch = view.entry_a_batch
        slots = check_order(index, "relative_offset", "position", findings, strict=True)
        offsets = index.slots["relative_offset"][slots].astype(np.int64) + view.base_offset
        positions = index.slots["position"][slots].astype(np.int64)
        order = np.argsort(positions, kind="stable")
        self._slots, self._offsets, self._positions = slots[order], offsets[order], positions[order]
        self._styles = np.zeros(len(slots), np.int8)
        self._next = 0
        self._waiting: list[_Entry] = []  # for the end of the append that they name
        self._denied: list[_Entry] = []  # by the time index
        self._older: dict[_Entry, int] = {}  # not by the rule of 4.1, with the offset that their batch ends with
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
        # Of a compressed message of an older format a follower took the last offset for the first one.
        tells = (part.table["magic"][rows] >= 2) & (part.table["last_offset_delta"][rows] > 0)
        self._styles[start:end][is_last & tells] = _Style.LAST
        for at in np.flatnonzero(~is_last).tolist():
            entry, row = self._entry(start + at), int(rows[at])
            if not is_start[at]:
                if not log.spans.hides_position(entry.position):
                    self._wrong(entry, "no batch begins there")
                continue
            if self._entry_a_batch and part.table["magic"][row] >= 2:  # older formats were brought from elsewhere
                self._older[entry] = int(part.last_offsets[row])
            if self._first_offset(part, row) != entry.offset:
                self._find_end(entry, part, row)
            elif entry.offset not in self._last_offsets(part, row):
                self._styles[entry.at] = _Style.FIRST

    def finish(self, log: LogCheck, times_are_sound: bool) -> None:
        """Behind the last batch. A time index that is damaged itself denies nothing."""
        for entry in self._waiting:
            self._wrong(entry, "no batch from there on ends with it")
        for at in range(self._next, len(self._slots)):
            entry = self._entry(at)
            if not log.spans.hides_position(entry.position):
                self._wrong(entry, f"the last batch ends at position {log.position}")
        if times_are_sound and not log.spans:
            for entry in self._denied:
                self._wrong(entry, "of an append from there to it the time index has no entry")
        self._check_styles()
        self._check_era()

    def _check_era(self) -> None:
        """A single entry that only older versions could write is wrong; several were brought with their folder."""
        if len(self._older) == 1:
            entry, last_offset = self._older.popitem()
            self._wrong(entry, f"the batch there ends with {last_offset}")

    def _check_styles(self) -> None:
        """First offsets come before last ones, as brokers are upgraded; the fewest entries that break it are wrong."""
        told = np.flatnonzero(self._styles)
        is_last = self._styles[told] == _Style.LAST
        lasts_before = np.concatenate([[0], np.cumsum(is_last)])
        firsts_behind = np.concatenate([np.cumsum(~is_last[::-1])[::-1], [0]])
        upgrade = int(np.argmin(lasts_before + firsts_behind))
        for number in np.flatnonzero(is_last != (np.arange(len(told)) >= upgrade)).tolist():
            last = "that is the last offset of the batch there, before entries that name first ones"
            first = "that is the first offset of the batch there, behind entries that name last ones"
            self._wrong(self._entry(int(told[number])), last if is_last[number] else first)

    def _entry(self, at: int) -> _Entry:
        bound = int(self._positions[at + 1]) if at + 1 < len(self._positions) else _BEYOND
        return _Entry(at, int(self._slots[at]), int(self._offsets[at]), int(self._positions[at]), bound)

    def _find_end(self, entry: _Entry, part: Part, row: int) -> None:
        """Whether a batch from this row on, before the next entry's, ends with the entry's offset."""
        row += int(np.searchsorted(part.last_offsets[row:], entry.offset))
        if row == len(part.table):
            if part.positions[-1] < entry.bound:
                self._waiting.append(entry)
            else:
                self._wrong(entry, "no batch from there to the next entry's ends with it")
        elif part.positions[row] >= entry.bound or entry.offset not in self._last_offsets(part, row):
            self._wrong(entry, "no batch from there to the next entry's ends with it")
        elif self._witness.denies(part, row):
            self._denied.append(entry)
        else:
            self._styles[entry.at] = _Style.LAST

    def _last_offsets(self, part: Part, row: int) -> set[int]:
        """The last offset of a batch and that of its last record, which compaction may have left before it."""
        batch, last = part.table[row], int(part.last_offsets[row])
        if batch["magic"] < 2 or not 0 < batch["count"] <= batch["last_offset_delta"]:
            return {last}
        try:
            columns = self._decoder.decode_one(part.data, batch)
        except CorruptionError:
            return {last}
        return {last, int(columns.offset[columns.rows - 1])}

    def _first_offset(self, part: Part, row: int) -> int | None:
        batch = part.table[row]
        if batch["magic"] >= 2 or not batch["attributes"] & CODEC_MASK:
            return int(batch["base_offset"])
        try:
            return int(self._decoder.decode_one(part.data, batch).offset[0])
        except CorruptionError:
            return None

    def _wrong(self, entry: _Entry, why: str) -> None:
        self._older.pop(entry, None)
        self.wrong[entry.position] = entry.offset
        detail = f"offset {entry.offset} at position {entry.position} of the log, but {why}"
        self._findings.add(self._path, entry.slot * ENTRY.size, Problem.WRONG_ENTRY, detail)
