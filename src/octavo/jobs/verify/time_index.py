"""Compares the time index with the log: each entry has a timestamp larger than all before it, and names its batch.

An entry names the last offset of the batch; leaders from 0.11 to 3.6 named the first record with the largest timestamp
in an uncompressed batch. If a batch was converted to magic 0, which has no timestamps, the indexed timestamp is no
longer in the log. The cleaner of 0.10.1 paired the largest timestamp so far with the last offset of the compressed
message it wrote last.
"""

from __future__ import annotations

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.batches.decoder import Decoder
from octavo.format.indexes.time_index import ENTRY
from octavo.jobs.verify import severities
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.jobs.verify.index_bytes import IndexBytes, check_length, check_order
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.view import LogPart, SegmentView
from octavo.kernels.layout import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, Column


class TimeIndexCheck:
    """Compares entries with batches as they are read, so that memory holds the index but not the log."""

    def __init__(self, index: IndexBytes, view: SegmentView, unused: Severity, findings: FindingCollector) -> None:
        self.wrong: dict[int, int] = {}  # offsets of wrong entries, by timestamp
        self._index = index
        self._base_offset = view.base_offset
        self._indexes_each_batch = view.indexes_each_batch
        self._unused = unused  # the severity of unused entries at the end
        self._path = index.path
        self._findings = findings
        slots = check_order(index, "timestamp", "relative_offset", findings)
        offsets = index.slots["relative_offset"][slots].astype(np.int64) + view.base_offset
        order = np.argsort(offsets, kind="stable")
        self._slots, self._offsets = slots[order], offsets[order]
        self.timestamps = index.slots["timestamp"][slots].astype(np.int64)[order]
        self._next = 0
        self._largest = NO_TIMESTAMP
        self._largest_of_v2 = NO_TIMESTAMP
        self._upto = NO_TIMESTAMP
        self._first: tuple[int, int] | None = None  # timestamp and last offset of the first batch
        self._decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)

    def take(self, part: LogPart, log: LogCheck) -> None:
        table, last = part.table, part.last_offsets
        if self._first is None:
            self._first = int(table[0]["max_timestamp"]), int(last[0])
        upto = np.maximum.accumulate(np.concatenate([[self._upto], table["max_timestamp"]]))
        self._upto = int(upto[-1])
        # 0.11 and 1.0 did not count batches emptied by compaction.
        counted = np.where(table["count"] != 0, table["max_timestamp"], NO_TIMESTAMP)
        self._largest = max(self._largest, int(counted.max()))
        # An index created by 0.10.1 has no entries for batches of older formats before it.
        of_v2 = np.where(table["magic"] >= 2, counted, NO_TIMESTAMP)
        before = np.maximum.accumulate(np.concatenate([[self._largest_of_v2], of_v2]))
        self._largest_of_v2 = int(before[-1])
        start, end = self._next, int(np.searchsorted(self._offsets, last[-1], "right"))
        if end <= start:
            return
        self._next = end
        timestamps, offsets = self.timestamps[start:end], self._offsets[start:end]
        rows = np.searchsorted(last, offsets).clip(max=len(last) - 1)
        magics = table["magic"][rows]
        names_batch = table["max_timestamp"][rows] == timestamps
        names_batch |= magics == 0
        names_batch |= (magics == 1) & (table["attributes"][rows] & CODEC_MASK != 0) & (upto[rows + 1] == timestamps)
        names_batch &= last[rows] == offsets
        is_largest = (before[rows] < timestamps) | (magics < 2)
        for at in np.flatnonzero(~(names_batch & is_largest)).tolist():
            offset, timestamp = int(offsets[at]), int(timestamps[at])
            if log.unreadable.hides_offset(offset):
                continue
            if not names_batch[at] and not self._names_a_record(part, int(rows[at]), offset, timestamp):
                self._wrong(start + at, "the log has no such record there, and no such batch ends there")
            elif not is_largest[at] and not log.unreadable:
                self._wrong(start + at, f"a batch before it has timestamp {before[rows[at]]}")

    def finish(self, view: SegmentView, log: LogCheck) -> None:
        """Check what is left after the last batch, and that the index of a closed segment has its largest timestamp."""
        # The entry for timestamp 0 at the base offset looks like an unused one.
        is_zero = self._index.zero_slots == 1 and not len(self._slots) and self._first == (0, self._base_offset)
        if not is_zero:
            check_length(self._index, self._findings, self._unused)
        for at in range(self._next, len(self._slots)):
            if not log.unreadable.hides_offset(int(self._offsets[at])):
                self._wrong(at, f"the log ends before offset {log.next_offset}")
        if not is_zero and self._index.is_readable:
            self._check_largest(view, log)

    def _check_largest(self, view: SegmentView, log: LogCheck) -> None:
        """Check that the index has the largest timestamp of a closed segment.

        Before 0.10.1 there was no time index, and existing segments, all of older formats, later got an empty one. A
        segment of magic 2 without entries has lost them. (A broker also creates an empty file if there is none.)
        """
        expected = self._largest if len(self._slots) else self._largest_of_v2
        largest = int(self.timestamps.max(initial=NO_TIMESTAMP))
        is_trimmed = self._index.is_there and not self._index.zero_slots
        is_closed = not view.is_unclosed or is_trimmed
        if not is_closed or largest >= expected:
            return
        wanted = f"expected one with timestamp {expected}, the largest in the log"
        if not self._index.is_there:
            self._findings.add(self._path, None, FindingKind.MISSING_FILE, f"no time index, {wanted}", self._index.lost)
            return
        found = f"entries up to timestamp {largest}" if len(self._slots) else "no entry"
        severity = severities.of_largest_timestamp(view, log.next_offset)
        position = len(self._slots) * ENTRY.size
        self._findings.add(self._path, position, FindingKind.MISSING_ENTRY, f"{found}, {wanted}", severity)

    def _names_a_record(self, part: LogPart, row: int, offset: int, timestamp: int) -> bool:
        """Whether the entry names the first record with the largest timestamp in an uncompressed batch."""
        batch = part.table[row]
        if self._indexes_each_batch or batch["magic"] < 2 or batch["max_timestamp"] != timestamp:
            return False
        if batch["attributes"] & (CODEC_MASK | LOG_APPEND_TIME):
            return False
        try:
            columns = self._decoder.decode_one(part.data, batch)
        except CorruptionError:
            return True  # reported by RecordCheck
        with_largest = columns.offset[: columns.rows][columns.timestamp[: columns.rows] == timestamp]
        return bool(len(with_largest)) and int(with_largest[0]) == offset

    def _wrong(self, at: int, why: str) -> None:
        self.wrong[int(self.timestamps[at])] = int(self._offsets[at])
        detail = f"timestamp {self.timestamps[at]} at offset {self._offsets[at]}, but {why}"
        self._findings.add(self._path, int(self._slots[at]) * ENTRY.size, FindingKind.WRONG_ENTRY, detail)
