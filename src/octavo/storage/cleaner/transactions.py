"""Follows the transactions of a log during a cleaning: which batches were aborted, and which markers can be removed."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.control import ControlType
from octavo.format.batches.marker_table import EMPTIED, control_types
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.kernels.layout import CONTROL, TRANSACTIONAL

if TYPE_CHECKING:
    from typing_extensions import Buffer

# One row per batch that concerns transactions. `row` is the batch's row in its chunk; `type` is that of the control
# record, or `EMPTIED`, or `_DATA`.
EVENT = np.dtype([("last_offset", "<i8"), ("producer_id", "<i8"), ("row", "<i4"), ("type", "<i4")])
_DATA = EMPTIED - 1


@dataclass(slots=True)
class CleanedTransactions:
    """Kafka's CleanedTransactionMetadata. Picklable, so that the cleaning can continue in another process.

    Unlike a replay, which learns of an abort from the marker, a cleaning judges a batch before its marker is read.
    Aborted transactions must therefore be known in advance, from the transaction indexes.
    """

    retained: list[AbortedTxn] = field(default_factory=list)  # for the transaction index of the cleaned segment
    _coming: list[tuple[int, AbortedTxn]] = field(default_factory=list)  # a heap by first offset
    # The transactions whose marker has not been read yet, by producer id: the aborted ones, those among them of which a
    # batch has been read, and all others of which a batch has been read.
    _ongoing_aborted: dict[int, AbortedTxn] = field(default_factory=dict)
    _seen_aborted: set[int] = field(default_factory=set)
    _ongoing_committed: set[int] = field(default_factory=set)

    def add_aborted(self, aborted: Iterable[AbortedTxn]) -> None:
        """Add aborted transactions that may begin from here on."""
        for txn in aborted:
            heapq.heappush(self._coming, (txn.first_offset, txn))

    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        """Process a data batch of a transaction; returns whether the transaction was aborted, so that no record is
        kept."""
        self._begin_up_to(last_offset)
        is_aborted = producer_id in self._ongoing_aborted
        (self._seen_aborted if is_aborted else self._ongoing_committed).add(producer_id)
        return is_aborted

    def on_control(self, producer_id: int, last_offset: int, control_type: ControlType | None) -> bool:
        """Process a control batch (None: an empty one); returns whether it can be removed, since it ends nothing that
        was seen."""
        self._begin_up_to(last_offset)
        if control_type is None:
            return True
        if control_type is ControlType.ABORT:
            aborted = self._ongoing_aborted.pop(producer_id, None)
            if aborted is None or producer_id not in self._seen_aborted:
                return True
            self._seen_aborted.remove(producer_id)
            self.retained.append(aborted)
            return False
        if control_type is ControlType.COMMIT:
            if producer_id not in self._ongoing_committed:
                return True
            self._ongoing_committed.remove(producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, txn = heapq.heappop(self._coming)
            self._ongoing_aborted.setdefault(txn.producer_id, txn)


def collect_aborted(
    indexes: Mapping[int, Sequence[AbortedTxn]], base_offset: int, log_start_offset: int, upper_bound_offset: int
) -> list[AbortedTxn]:
    """The aborted transactions that overlap the offsets from the log's start up to, but not including, the upper bound,
    from the indexes of the segment with this base offset and of later ones."""
    later = (aborted for base, aborted in indexes.items() if base >= base_offset)
    return txn_index.search(chain.from_iterable(later), log_start_offset, upper_bound_offset)


def transaction_events(data: Buffer, table: NDArray[np.void]) -> NDArray[np.void]:
    """One row of `EVENT` per transactional or control batch."""
    attributes = table["attributes"]
    rows = np.flatnonzero((attributes & (TRANSACTIONAL | CONTROL) != 0) & (table["magic"] >= 2))
    events = np.empty(len(rows), EVENT)
    if len(rows):
        found = table[rows]
        events["last_offset"] = last_offsets(found)
        events["producer_id"], events["row"], events["type"] = found["producer_id"], rows, _DATA
        is_control = found["attributes"] & CONTROL != 0
        if is_control.any():
            events["type"][is_control] = control_types(data, found[is_control])
    return events


def discardable(transactions: CleanedTransactions, events: NDArray[np.void]) -> Iterator[tuple[int, bool]]:
    """Pass events to the transactions; yields the row of each batch, and whether the batch can be removed."""
    for last_offset, producer_id, row, type_id in events.tolist():
        if type_id == _DATA:
            yield row, transactions.on_batch(producer_id, last_offset)
        else:
            control_type = None if type_id == EMPTIED else ControlType(type_id)
            yield row, transactions.on_control(producer_id, last_offset, control_type)
