"""Follows transactions through the log itself: which are open, and which were aborted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.control import ControlType
from octavo.format.batches.marker_table import decode_markers
from octavo.format.batches.sound import unreadable
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.kernels.layout import CONTROL, NO_PRODUCER_ID, TRANSACTIONAL


class TransactionReplay:
    """The open and the aborted transactions after the batches taken so far, which must come in offset order.

    `storage` replays producers as a whole, with epochs and sequences, and stops at a damaged marker. A reader needs
    only the transactions, and reads on after damage.
    """

    def __init__(self, open_transactions: dict[int, int] | None = None) -> None:
        self.open = {} if open_transactions is None else open_transactions  # producer id → first offset
        self.aborted: list[AbortedTxn] = []

    def take(self, data: memoryview, table: NDArray[np.void]) -> None:
        """Follow the sound transactional batches of a table."""
        rows = transactional(table)
        control = rows["attributes"] & CONTROL != 0
        types = iter(_marker_types(data, rows[control]))
        columns = rows["producer_id"].tolist(), rows["base_offset"].tolist(), control.tolist()
        for producer_id, offset, is_control in zip(*columns, strict=True):
            if not is_control:
                self.open.setdefault(producer_id, offset)
            else:
                self._end(producer_id, offset, next(types))

    def _end(self, producer_id: int, offset: int, marker: int) -> None:
        # A marker emptied by compaction ends no transaction: the records are gone. One that cannot be read ends none
        # either.
        if marker not in (ControlType.ABORT, ControlType.COMMIT) or producer_id not in self.open:
            return
        first_offset = self.open.pop(producer_id)
        if marker == ControlType.ABORT:
            last_stable_offset = min(self.open.values(), default=offset + 1)
            self.aborted.append(AbortedTxn(producer_id, first_offset, offset, last_stable_offset))


def transactional(table: NDArray[np.void]) -> NDArray[np.void]:
    """The sound batches and markers of transactions."""
    if not len(table) or not np.bitwise_or.reduce(table["attributes"]) & TRANSACTIONAL:
        return table[:0]
    wanted = ~unreadable(table) & (table["magic"] >= 2) & (table["attributes"] & TRANSACTIONAL != 0)
    rows: NDArray[np.void] = table[wanted & (table["producer_id"] > NO_PRODUCER_ID)]
    return rows


def _marker_types(data: memoryview, markers: NDArray[np.void]) -> list[int]:
    """The type of each marker; UNKNOWN if it cannot be read."""
    types: list[int] = []
    while len(types) < len(markers):
        decoded = decode_markers(data, markers[len(types) :])
        types += decoded.markers["type"].tolist()
        if decoded.damage is not None:
            types.append(ControlType.UNKNOWN)
    return types
