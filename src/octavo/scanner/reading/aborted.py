"""The aborted transactions of a task, from the transaction indexes or, if those may be missing, from the log.

A segment without `.txnindex` has no aborted transactions, or is a copy that lost the file; only its batches can tell.
So when a task without a reliable index comes to a transaction, it looks ahead through its own batches and those after
it, until all transactions that began in the task have ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.kernels.layout import TRANSACTIONAL
from octavo.scanner.findings import ScanFindings
from octavo.scanner.partition.replay import TransactionReplay, transactional
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.source import Source


class AbortedRanges:
    """The aborted transactions by producer: its batches from the first offset to the ABORT marker are left out.

    A consumer does the same with a set of producer ids, from which markers remove ids.
    """

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for txn in aborted:
            ranges[txn.producer_id].append((txn.first_offset, txn.last_offset))
        # A producer's transactions do not overlap, so sorting by first offset also sorts by last offset.
        self._ranges = {number: np.array(sorted(found), np.int64).T for number, found in ranges.items()}

    def mask(self, table: NDArray[np.void]) -> NDArray[np.bool_]:
        """True for the batches of aborted transactions."""
        masked = np.zeros(len(table), np.bool_)
        is_transactional = table["attributes"] & TRANSACTIONAL != 0
        for producer_id in np.unique(table["producer_id"]).tolist():
            if producer_id in self._ranges:
                begins, ends = self._ranges[producer_id]
                rows = np.flatnonzero(is_transactional & (table["producer_id"] == producer_id))
                slots = np.searchsorted(begins, last_offsets(table[rows]), "right") - 1
                masked[rows] = (slots >= 0) & (table[rows]["base_offset"] <= ends[slots])
        return masked

    def __bool__(self) -> bool:
        return bool(self._ranges)


class AbortedOf:
    """The aborted transactions of a task: the planned ones and, if some may be missing, those in the log."""

    def __init__(self, task: ReadTask, findings: ScanFindings) -> None:
        self._task = task
        self._findings = findings
        self._known = AbortedRanges(task.aborted)
        self._looks_ahead = task.replay_end is not None

    def at(self, chunk: Chunk) -> AbortedRanges:
        """The transactions that may concern a chunk."""
        if self._looks_ahead and len(transactional(chunk.table)):
            self._looks_ahead = False
            self._add(look_ahead(self._task))
        return self._known

    def _add(self, from_log: list[AbortedTxn]) -> None:
        start, end = self._task.start_offset, self._task.end_offset
        ends = {(txn.producer_id, txn.last_offset) for txn in self._task.aborted}
        unknown = [
            txn
            for txn in from_log
            if txn.first_offset < end and txn.last_offset >= start and (txn.producer_id, txn.last_offset) not in ends
        ]
        if unknown:
            self._known = AbortedRanges([*self._task.aborted, *unknown])
            several = len(unknown) > 1
            missing = f"{len(unknown)} aborted transactions are" if several else "1 aborted transaction is"
            first = f"of producer {unknown[0].producer_id}, up to offset {unknown[0].last_offset}"
            named = f"(the first {first})" if several else f"({first})"
            sentence = f"{missing} missing from the transaction indexes {named}; found through markers in the log"
            self._findings.note(self._task.folder, f"{sentence} and left out")


def look_ahead(task: ReadTask) -> list[AbortedTxn]:
    """The aborted transactions with batches in the task, and perhaps later ones, from the log alone."""
    replay, ignored = TransactionReplay(), ScanFindings("skip")
    for chunk in Source(task, ignored):
        replay.take(chunk.data, chunk.table)
    assert task.replay_end is not None
    begun = dict(replay.open)
    if begun and task.end_offset < task.replay_end:
        rest = replace(task, start_offset=task.end_offset, end_offset=task.replay_end, ranges=())
        for chunk in Source(rest, ignored):
            replay.take(chunk.data, chunk.table)
            if not begun.items() & replay.open.items():
                break
    return replay.aborted
