"""The transactions that a cleaning run passes through: which batches were aborted, which markers may go."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.format.batches.control import ControlType
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn


@dataclass(slots=True)
class _Ongoing:
    """An aborted transaction whose marker is still to come; `seen`: a batch of it was there."""

    aborted: AbortedTxn
    seen: bool = False


@dataclass(slots=True)
class CleanedTransactions:
    """Kafka's CleanedTransactionMetadata. Picklable, so that the run can go on elsewhere."""

    retained: list[AbortedTxn] = field(default_factory=list)  # for the transaction index of the cleaned segment
    _coming: list[tuple[int, AbortedTxn]] = field(default_factory=list)  # a heap by first offset
    _ongoing_aborted: dict[int, _Ongoing] = field(default_factory=dict)
    _ongoing_committed: set[int] = field(default_factory=set)

    def add_aborted(self, aborted: Iterable[AbortedTxn]) -> None:
        """Know of transactions that may begin from here on."""
        for txn in aborted:
            heapq.heappush(self._coming, (txn.first_offset, txn))

    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        """Pass a transaction's batch of data; says whether it was aborted, so that nothing of it is to stay."""
        self._begin_up_to(last_offset)
        ongoing = self._ongoing_aborted.get(producer_id)
        if ongoing is None:
            self._ongoing_committed.add(producer_id)
            return False
        ongoing.seen = True
        return True

    def on_control(self, producer_id: int, last_offset: int, control_type: ControlType | None) -> bool:
        """Pass a control batch, None being an empty one; says whether it may go: nothing was seen of what it ends."""
        self._begin_up_to(last_offset)
        if control_type is None:
            return True
        if control_type is ControlType.ABORT:
            ongoing = self._ongoing_aborted.pop(producer_id, None)
            if ongoing is None or not ongoing.seen:
                return True
            self.retained.append(ongoing.aborted)
            return False
        if control_type is ControlType.COMMIT:
            if producer_id not in self._ongoing_committed:
                return True
            self._ongoing_committed.remove(producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, txn = heapq.heappop(self._coming)
            self._ongoing_aborted.setdefault(txn.producer_id, _Ongoing(txn))


class SegmentTxnIndex(NamedTuple):
    """A segment's transaction index."""

    base_offset: int
    aborted: Sequence[AbortedTxn]


def collect_aborted(
    indexes: Sequence[SegmentTxnIndex], base_offset: int, log_start_offset: int, upper_bound_offset: int
) -> list[AbortedTxn]:
    """The aborted transactions that begin before the upper bound, from the segment of a base offset on."""
    found: list[AbortedTxn] = []
    for index in indexes:
        if index.base_offset >= base_offset:
            search = txn_index.search(index.aborted, log_start_offset, upper_bound_offset)
            found += search.aborted
            if search.complete:
                break
    return found
