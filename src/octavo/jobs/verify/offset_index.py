"""Compares the offset index with the log: each entry names the start of a batch and an offset that belongs to it.

An entry names the start of an append, with its first offset (up to 1.1) or its last offset (from 2.0 on); the cleaner
used the offset of the last record (up to 4.0.0). An append may have several batches; since 3.9.1 and 4.0.1 each is
indexed separately.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import is_wrapper
from octavo.format.batches.decoder import Decoder
from octavo.format.indexes.offset_index import ENTRY
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.jobs.verify.index_bytes import IndexBytes, check_length, check_order
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.view import LogPart, SegmentView
from octavo.kernels.layout import NO_TIMESTAMP, Column

_BEYOND = 1 << 62


class _Entry(NamedTuple):
    """An entry. Its append must end before `bound`, the position of the next entry."""

    at: int  # its place among all entries, by position
    slot: int
    offset: int
    position: int
    bound: int


class _Style(IntEnum):
    """Which offset of an append an index entry names: its first, its last, or not known yet."""

    UNKNOWN = 0
    FIRST = 1
    LAST = 2


class OffsetIndexCheck:
    """Compares entries with batches as they are read, so that memory holds the index but not the log."""

    def __init__(
        self, index: IndexBytes, view: SegmentView, witness: TimeWitness, unused: Severity, findings: FindingCollector
    ) -> None:
        if index.is_there:
            check_length(index, findings, unused)
        elif not view.is_last and view.segment.log.size:
            detail = "the segment has a log but no offset index"
            findings.add(index.path, None, FindingKind.MISSING_FILE, detail, index.lost)
        self.wrong: dict[int, int] = {}  # offsets of wrong entries, by the position they name
        self._path = index.path
        self._findings = findings
        self._witness = witness
        self._indexes_each_batch = view.indexes_each_batch
        slots = check_order(index, "relative_offset", "position", findings, strict=True)
        offsets = index.slots["relative_offset"][slots].astype(np.int64) + view.base_offset
        positions = index.slots["position"][slots].astype(np.int64)
        order = np.argsort(positions, kind="stable")
        self._slots, self._offsets, self._positions = slots[order], offsets[order], positions[order]
        self._styles = np.zeros(len(slots), np.int8)
        self._next = 0
        self._waiting: list[_Entry] = []  # for the end of the append they name
        self._denied: list[_Entry] = []  # entries that the time index contradicts
        self._older: dict[_Entry, int] = {}  # entries that 4.1 would not write, with their batch's last offset
        self._decoder = Decoder(Column.OFFSET)

    def take(self, part: LogPart, log: LogCheck) -> None:
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
        # Followers took the last offset of a compressed message in an older format for its first.
        tells = (part.table["magic"][rows] >= 2) & (part.table["last_offset_delta"][rows] > 0)
        self._styles[start:end][is_last & tells] = _Style.LAST
        for at in np.flatnonzero(~is_last).tolist():
            entry, row = self._entry(start + at), int(rows[at])
            if not is_start[at]:
                if not log.unreadable.hides_position(entry.position):
                    self._wrong(entry, "no batch begins there")
                continue
            is_v2 = part.table["magic"][row] >= 2  # brokers from 4.1 on do not write older formats
            if self._indexes_each_batch and is_v2:
                self._older[entry] = int(part.last_offsets[row])
            if self._first_offset(part, row) != entry.offset:
                self._find_end(entry, part, row)
            elif entry.offset not in self._last_offsets(part, row):
                self._styles[entry.at] = _Style.FIRST

    def finish(self, log: LogCheck, times_are_sound: bool) -> None:
        """Check what is left after the last batch. A time index that is itself damaged is not used as evidence."""
        for entry in self._waiting:
            self._wrong(entry, "no batch from there on ends with it")
        for at in range(self._next, len(self._slots)):
            entry = self._entry(at)
            if not log.unreadable.hides_position(entry.position):
                self._wrong(entry, f"the last batch ends at position {log.position}")
        if times_are_sound and not log.unreadable:
            for entry in self._denied:
                self._wrong(entry, "the time index has no entry for an append from there to this offset")
        self._check_styles()
        self._check_era()

    def _check_era(self) -> None:
        """A single entry that only older versions could write is wrong; several such entries came with a copied
        folder."""
        if len(self._older) == 1:
            entry, last_offset = self._older.popitem()
            self._wrong(entry, f"the batch there ends with {last_offset}")

    def _check_styles(self) -> None:
        """Entries that name first offsets come before those that name last ones, since brokers are only upgraded. The
        fewest entries without which this order holds are wrong."""
        known = np.flatnonzero(self._styles)
        is_last = self._styles[known] == _Style.LAST
        lasts_before = np.concatenate([[0], np.cumsum(is_last)])
        firsts_after = np.concatenate([np.cumsum(~is_last[::-1])[::-1], [0]])
        upgrade = int(np.argmin(lasts_before + firsts_after))
        for number in np.flatnonzero(is_last != (np.arange(len(known)) >= upgrade)).tolist():
            last = "that is the last offset of the batch there, before entries that name first ones"
            first = "that is the first offset of the batch there, after entries that name last ones"
            self._wrong(self._entry(int(known[number])), last if is_last[number] else first)

    def _entry(self, at: int) -> _Entry:
        bound = int(self._positions[at + 1]) if at + 1 < len(self._positions) else _BEYOND
        return _Entry(at, int(self._slots[at]), int(self._offsets[at]), int(self._positions[at]), bound)

    def _find_end(self, entry: _Entry, part: LogPart, row: int) -> None:
        """Check that a batch from this row on, before that of the next entry, ends with the entry's offset."""
        row += int(np.searchsorted(part.last_offsets[row:], entry.offset))
        if row == len(part.table):
            if part.positions[-1] < entry.bound:
                self._waiting.append(entry)
            else:
                self._wrong(entry, "no batch between there and the next entry's position ends with it")
        elif part.positions[row] >= entry.bound or entry.offset not in self._last_offsets(part, row):
            self._wrong(entry, "no batch between there and the next entry's position ends with it")
        elif self._witness.denies(part, row):
            self._denied.append(entry)
        else:
            self._styles[entry.at] = _Style.LAST

    def _last_offsets(self, part: LogPart, row: int) -> set[int]:
        """The last offset of a batch, and that of its last record, smaller if compaction removed later ones."""
        batch, last = part.table[row], int(part.last_offsets[row])
        if batch["magic"] < 2 or not 0 < batch["count"] <= batch["last_offset_delta"]:
            return {last}
        try:
            columns = self._decoder.decode_one(part.data, batch)
        except CorruptionError:
            return {last}
        return {last, int(columns.offset[columns.rows - 1])}

    def _first_offset(self, part: LogPart, row: int) -> int | None:
        batch = part.table[row]
        if not is_wrapper(batch):
            return int(batch["base_offset"])
        try:
            return int(self._decoder.decode_one(part.data, batch).offset[0])
        except CorruptionError:
            return None

    def _wrong(self, entry: _Entry, why: str) -> None:
        self._older.pop(entry, None)
        self.wrong[entry.position] = entry.offset
        detail = f"offset {entry.offset} at position {entry.position} of the log, but {why}"
        self._findings.add(self._path, entry.slot * ENTRY.size, FindingKind.WRONG_ENTRY, detail)


class TimeWitness:
    """The time index as evidence for the offset index: both get their entries at the same moments.

    An entry of the offset index comes with one for the largest timestamp so far, unless the time index has it already.
    So at the end of an indexed append, the time index contains the log's largest timestamp. That does not hold before
    the time index's first entry, which may come from an upgrade from 0.10.0, nor after messages of magic 0, whose
    original timestamps are nowhere in the log. 0.11 and 1.0 did not count batches emptied by compaction. Before 0.10.1
    there was no time index, and an entry of the offset index named the first of several messages in an append.
    """

    def __init__(self, is_there: bool, timestamps: NDArray[np.int64]) -> None:
        self._is_there = is_there
        self._timestamps = set(timestamps.tolist())
        self._first = min(self._timestamps, default=NO_TIMESTAMP)
        self._is_silent = not self._timestamps
        self._largest = [NO_TIMESTAMP, NO_TIMESTAMP]  # of all batches so far, and of those with records

    def take(self, part: LogPart) -> None:
        self._is_silent = self._is_silent or bool((part.table["magic"] == 0).any())
        if not self._is_silent:
            self._largest = self._up_to(part, len(part.table) - 1)

    def denies(self, part: LogPart, row: int) -> bool:
        """Whether it is impossible that an append of several batches ended with this one and got an entry."""
        if not self._is_there:
            return bool(part.table[row]["magic"] < 2)
        if self._is_silent or (part.table["magic"][: row + 1] == 0).any():
            return False
        largest = self._up_to(part, row)
        return min(largest) > self._first and not self._timestamps.intersection(largest)

    def _up_to(self, part: LogPart, row: int) -> list[int]:
        table = part.table[: row + 1]
        timestamps = table["max_timestamp"]
        has_records = np.where(table["count"] != 0, timestamps, NO_TIMESTAMP)
        return [max(self._largest[0], int(timestamps.max())), max(self._largest[1], int(has_records.max()))]
