"""The transactions of a partition, from their first batch until the high watermark has passed the marker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from octavo.errors import IllegalStateError
from octavo.format.indexes.txn_index import AbortedTxn


class CompletedTxn(NamedTuple):
    """A transaction and its marker: `last_offset` is the marker's offset."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class Transactions:
    """Ongoing transactions, and completed ones whose marker the high watermark has not passed ("unreplicated").

    Not thread-safe: the log's lock guards it.
    """

    def __init__(self) -> None:
        self.ongoing: dict[int, int] = {}  # first offset → producer id, ordered by offset
        self.unreplicated: dict[int, int] = {}  # first offset → the marker's offset

    def clear(self) -> None:
        self.ongoing.clear()
        self.unreplicated.clear()

    def begin(self, producer_id: int, first_offset: int) -> None:
        is_last = not self.ongoing or first_offset > next(reversed(self.ongoing))
        self.ongoing[first_offset] = producer_id
        if not is_last:
            self.ongoing = dict(sorted(self.ongoing.items()))

    def index_entry(self, completed: CompletedTxn) -> AbortedTxn | None:
        """The entry that must be in the transaction index before `complete` is called; None for a committed
        transaction.

        Its last stable offset is where the earliest ongoing transaction of another producer begins, or the offset after
        the marker: readers of committed records can read no further.
        """
        if not completed.is_aborted:
            return None
        others = (first for first, producer_id in self.ongoing.items() if producer_id != completed.producer_id)
        last_stable_offset = next(others, completed.last_offset + 1)
        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)

    def complete(self, completed: CompletedTxn) -> None:
        """Record that a transaction has its marker and, if it was aborted, its index entry; it stays unstable until the
        marker is replicated."""
        if self.ongoing.pop(completed.first_offset, None) is None:
            raise IllegalStateError(f"cannot complete {completed}: no ongoing transaction has this first offset")
        self.unreplicated[completed.first_offset] = completed.last_offset

    def replace(self, ongoing: Iterable[tuple[int, int]], completed: Iterable[tuple[int, int]]) -> None:
        """After a replay, set the ongoing transactions (first offset, producer id), in order, and add the completed
        ones."""
        self.ongoing = dict(ongoing)
        self.unreplicated.update(completed)

    def forget_before(self, offset: int) -> None:
        """Forget transactions completed before the offset (the high watermark or the log start), which are stable."""
        if self.unreplicated:
            self.unreplicated = {first: last for first, last in self.unreplicated.items() if last >= offset}

    def first_undecided_offset(self) -> int | None:
        """The earliest offset whose transaction has no marker."""
        return next(iter(self.ongoing), None)

    def first_unstable_offset(self, log_start_offset: int = 0) -> int | None:
        """The earliest offset that is undecided or could become so again, but not before the log's start."""
        undecided = self.first_undecided_offset()
        if undecided is None and not self.unreplicated:
            return None
        unstable = [first for first in (undecided, min(self.unreplicated, default=None)) if first is not None]
        return max(min(unstable), log_start_offset)
