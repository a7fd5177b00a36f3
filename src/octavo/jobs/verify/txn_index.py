"""Compares the transaction index with the log: one entry per aborted transaction whose marker is in the segment."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from octavo.format.indexes.txn_index import ENTRY, VERSION, AbortedTxn
from octavo.format.names import FileKind
from octavo.jobs.verify import severities
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.log import LogCheck
from octavo.jobs.verify.view import LogPart, SegmentView
from octavo.kernels.layout import CONTROL, TRANSACTIONAL
from octavo.system.shown import count


@dataclass(slots=True)
class _Entry:
    """An entry, and what is wrong with it."""

    slot: int
    txn: AbortedTxn
    problem: str | None = None


class TxnIndexCheck:
    """Compares each entry with the batches at its offsets, if compaction left them, and all entries with a replay."""

    def __init__(self, view: SegmentView, content: bytes, findings: FindingCollector) -> None:
        self._path = view.path(FileKind.TXN_INDEX)
        self._findings = findings
        self._entries: list[_Entry] = []
        self._check_form(content, view.base_offset)
        sound = [entry for entry in self._entries if entry.problem is None]
        self._by_first = sorted(sound, key=lambda entry: entry.txn.first_offset)
        self._by_last = sorted(sound, key=lambda entry: entry.txn.last_offset)
        self._firsts = self._lasts = 0  # how many of them were compared so far

    def _check_form(self, content: bytes, base_offset: int) -> None:
        cut = len(content) % ENTRY.size
        if cut:
            detail = f"a file of {count(len(content), 'byte')}, expected a multiple of {ENTRY.size}"
            self._findings.add(self._path, len(content) - cut, FindingKind.PARTIAL_ENTRY, detail)
        last_offset = base_offset - 1
        for slot, (version, *fields) in enumerate(ENTRY.view(content).tolist()):
            txn = AbortedTxn(*fields)
            entry = _Entry(slot, txn)
            self._entries.append(entry)
            if version != VERSION:
                self._wrong(entry, f"version {version}, expected {VERSION}")
            elif txn.last_offset <= last_offset:
                self._wrong(entry, f"a marker at offset {txn.last_offset}, expected more than {last_offset}")
            elif not 0 <= txn.first_offset < txn.last_offset or txn.producer_id < 0:
                self._wrong(entry, f"{_shown(txn)}, expected ascending offsets and a producer id of 0 or more")
            elif not 0 <= txn.last_stable_offset <= txn.last_offset + 1:
                found = f"last stable offset {txn.last_stable_offset} at the marker {txn.last_offset}"
                self._wrong(entry, f"{found}, expected 0 to {txn.last_offset + 1}")
            last_offset = max(last_offset, txn.last_offset)
        self._check_open()

    def _check_open(self) -> None:
        """Check that no transaction was open at a marker although it began before the last stable offset there.

        Each entry is compared with those before it, back to the last one whose marker lies before its first offset.
        The nearest of them with a larger last stable offset is found by a lookup, not a walk: in a damaged file all
        entries may overlap.
        """
        ends = _Nearest()  # by last offset, negated: finds the nearest smaller one
        stables = _Nearest()  # by last stable offset: finds the nearest larger one
        for slot, entry in enumerate(self._entries):
            first_offset = entry.txn.first_offset
            at = stables.above(first_offset) if entry.problem is None else -1
            if at > ends.above(-first_offset):
                ended = self._entries[at].txn
                stable = f"{ended.last_stable_offset} at the marker {ended.last_offset}"
                self._wrong(entry, f"{_shown(entry.txn)}, begun before the last stable offset {stable}")
            ends.add(slot, -entry.txn.last_offset)
            stables.add(slot, entry.txn.last_stable_offset)

    def take(self, part: LogPart) -> None:
        """Compare the batches with the entries that name their offsets."""
        end = int(part.last_offsets[-1])
        while self._firsts < len(self._by_first) and self._by_first[self._firsts].txn.first_offset <= end:
            self._check_first(self._by_first[self._firsts], part)
            self._firsts += 1
        while self._lasts < len(self._by_last) and self._by_last[self._lasts].txn.last_offset <= end:
            self._check_marker(self._by_last[self._lasts], part)
            self._lasts += 1

    def finish(self, view: SegmentView, log: LogCheck, expected: list[AbortedTxn] | None) -> None:
        """Report what is wrong; `expected` is the result of replaying all batches, None if some are gone.

        The entry for the log's last batch may be missing after a crash, because the marker is written first.
        """
        known = {(entry.txn.producer_id, entry.txn.last_offset): entry for entry in self._entries}
        for txn in expected or []:
            entry = known.get((txn.producer_id, txn.last_offset))
            if entry is None:
                severity = severities.of_aborted_transaction(view, txn.last_offset, log.next_offset)
                self._findings.add(self._path, None, FindingKind.MISSING_ENTRY, f"no entry for {_shown(txn)}", severity)
            elif entry.txn != txn and entry.problem is None:
                entry.problem = f"{_shown(entry.txn)}, expected {_shown(txn)} according to the log"
        for entry in self._by_last[self._lasts :]:
            if entry.problem is None and not log.unreadable.hides_offset(entry.txn.last_offset) and not log.has_grown():
                entry.problem = f"a marker at offset {entry.txn.last_offset}, but the log ends before {log.next_offset}"
        for entry in self._entries:
            if entry.problem is not None:
                self._findings.add(self._path, entry.slot * ENTRY.size, FindingKind.WRONG_ENTRY, entry.problem)

    def _check_first(self, entry: _Entry, part: LogPart) -> None:
        batch = _batch_at(part, entry.txn.first_offset)
        if batch is None:
            return
        is_data = bool(batch["attributes"] & TRANSACTIONAL) and not batch["attributes"] & CONTROL
        is_first = batch["base_offset"] == entry.txn.first_offset and batch["producer_id"] == entry.txn.producer_id
        if not is_data or not is_first:
            self._wrong(entry, f"{_shown(entry.txn)}, but no batch of the transaction begins at its first offset")

    def _check_marker(self, entry: _Entry, part: LogPart) -> None:
        batch = _batch_at(part, entry.txn.last_offset)
        if batch is None:
            return
        is_marker = bool(batch["attributes"] & CONTROL) and batch["producer_id"] == entry.txn.producer_id
        if not is_marker or batch["base_offset"] != entry.txn.last_offset:
            self._wrong(entry, f"{_shown(entry.txn)}, but its last offset is not that of its marker")

    def _wrong(self, entry: _Entry, problem: str) -> None:
        if entry.problem is None:
            entry.problem = problem


class _Nearest:
    """Finds the last slot so far whose value is larger than a given one, in logarithmic time."""

    def __init__(self) -> None:
        self._slots: list[int] = []  # those without a later slot of an equal or larger value
        self._negated: list[int] = []  # their values, negated so that they ascend

    def add(self, slot: int, value: int) -> None:
        while self._negated and -self._negated[-1] <= value:
            self._slots.pop()
            self._negated.pop()
        self._slots.append(slot)
        self._negated.append(-value)

    def above(self, value: int) -> int:
        """The slot, or -1 if there is none."""
        count = bisect_left(self._negated, -value)
        return self._slots[count - 1] if count else -1


def _batch_at(part: LogPart, offset: int) -> np.void | None:
    """The v2 batch in this part that holds an offset; None if there is none, as after compaction."""
    row = int(np.searchsorted(part.last_offsets, offset))
    if row == len(part.table):
        return None
    batch: np.void = part.table[row]
    return batch if batch["base_offset"] <= offset and batch["magic"] >= 2 else None


def _shown(txn: AbortedTxn) -> str:
    span = f"offsets {txn.first_offset} to {txn.last_offset}, last stable offset {txn.last_stable_offset}"
    return f"producer {txn.producer_id}, {span}"
