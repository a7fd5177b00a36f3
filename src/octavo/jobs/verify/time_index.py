"""The time index beside the log: each entry is the largest timestamp of a batch and its last offset, or one record.

Brokers from 0.11 to 2.8 may name the record that has the timestamp. Where they converted a batch to magic 0, which has
no timestamps, the one in the index is nowhere in the log.
"""

from __future__ import annotations

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.decoder import Decoder
from octavo.format.time_index import ENTRY
from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.index_bytes import IndexBytes, check_length, check_order
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.view import Part, SegmentView
from octavo.kernels.layout import NO_TIMESTAMP, Column


class TimeIndexCheck:
    """Compares entries with batches as these come by, so that memory holds the index but not the log."""

    def __init__(self, index: IndexBytes, base_offset: int, ordinary: bool, findings: Findings) -> None:
        self._index = index
        self._base_offset = base_offset
        self._ordinary = ordinary  # whether unused entries at the end are
        self._path = index.path
        self._findings = findings
        slots = check_order(index, "timestamp", "relative_offset", findings)
        offsets = index.slots["relative_offset"][slots].astype(np.int64) + base_offset
        order = np.argsort(offsets, kind="stable")
        self._slots, self._offsets = slots[order], offsets[order]
        self._timestamps = index.slots["timestamp"][slots].astype(np.int64)[order]
        self._next = 0
        self._largest = NO_TIMESTAMP
        self._first: tuple[int, int] | None = None  # timestamp and last offset of the first batch
        self._decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)

    def take(self, part: Part, log: LogCheck) -> None:
        if self._first is None:
            self._first = int(part.table[0]["max_timestamp"]), int(part.last_offsets[0])
        self._largest = max(self._largest, int(part.table["max_timestamp"].max()))
        start, last = self._next, part.last_offsets
        end = int(np.searchsorted(self._offsets, last[-1], "right"))
        if end <= start:
            return
        self._next = end
        timestamps, offsets = self._timestamps[start:end], self._offsets[start:end]
        rows = np.searchsorted(last, offsets).clip(max=len(last) - 1)
        sound = (last[rows] == offsets) & (part.table["max_timestamp"][rows] == timestamps)
        for at in np.flatnonzero(~sound).tolist():
            offset, timestamp = int(offsets[at]), int(timestamps[at])
            if not self._names_a_record(part, int(rows[at]), offset, timestamp) and not log.spans.hides_offset(offset):
                self._wrong(start + at, "the log has no such record there, nor a batch that ends so")

    def finish(self, view: SegmentView, log: LogCheck) -> None:
        """Behind the last batch. A segment that is closed names its largest timestamp, or lookups would pass it by."""
        # The entry for timestamp 0 at the base offset looks like an unused one.
        if not (self._index.zero_slots == 1 and not len(self._slots) and self._first == (0, self._base_offset)):
            check_length(self._index, self._findings, self._ordinary)
        for at in range(self._next, len(self._slots)):
            if not log.spans.hides_offset(int(self._offsets[at])):
                self._wrong(at, f"the log ends before offset {log.next_offset}")
        is_closed = not view.is_last or view.clean_shutdown or not self._index.zero_slots
        if len(self._slots) and is_closed and self._timestamps.max() < self._largest:
            found = f"entries up to timestamp {self._timestamps.max()}"
            detail = f"{found}, expected one of {self._largest}, the largest in the log"
            self._findings.add(self._path, len(self._slots) * ENTRY.size, Problem.MISSING_ENTRY, detail)

    def _names_a_record(self, part: Part, row: int, offset: int, timestamp: int) -> bool:
        batch = part.table[row]
        try:
            columns = self._decoder.decode_one(part.data, batch)
        except CorruptionError:
            return True  # the records' check tells
        matching = columns.timestamp[: columns.rows][columns.offset[: columns.rows] == offset]
        return bool(len(matching)) and (batch["magic"] == 0 or bool((matching == timestamp).any()))

    def _wrong(self, at: int, why: str) -> None:
        detail = f"timestamp {self._timestamps[at]} at offset {self._offsets[at]}, but {why}"
        self._findings.add(self._path, int(self._slots[at]) * ENTRY.size, Problem.WRONG_ENTRY, detail)
