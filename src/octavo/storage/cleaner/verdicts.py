"""Decides about whole batches, chunk by chunk, before `filter` looks at their records and tombstones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.kernels.layout import CONTROL, DELETE_HORIZON, NO_PRODUCER_ID
from octavo.kernels.offset_table import BatchVerdict
from octavo.kernels.producers import NONE
from octavo.storage.cleaner.transactions import CleanedTransactions, discardable, transaction_events
from octavo.storage.producers.entry import ProducerStateEntry

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True, slots=True)
class ActiveProducers:
    """The producers that the log remembers, ordered by id, each with the last offset of its data."""

    producer_ids: NDArray[np.int64]
    last_data_offsets: NDArray[np.int64]  # -1: no data, only the epoch is known
    epochs: NDArray[np.int64]

    @classmethod
    def of(cls, entries: Iterable[ProducerStateEntry]) -> ActiveProducers:
        rows = sorted(
            (entry.producer_id, entry.batches[-1].last_offset if entry.batches else NONE, entry.epoch)
            for entry in entries
        )
        columns = np.array(rows, np.int64).reshape(-1, 3).T
        return cls(*columns)

    def ends_with(self, table: NDArray[np.void]) -> NDArray[np.bool_]:
        """Which batches hold the last known state of a producer: its last sequence or, without data, its epoch."""
        ids = table["producer_id"]
        if not len(self.producer_ids) or not (ids > NO_PRODUCER_ID).any():
            return np.zeros(len(table), np.bool_)
        slots = np.minimum(np.searchsorted(self.producer_ids, ids), len(self.producer_ids) - 1)
        is_known = (self.producer_ids[slots] == ids) & (ids > NO_PRODUCER_ID)
        last, epochs = self.last_data_offsets[slots], self.epochs[slots]
        is_last_data = last_offsets(table) == last
        is_last_marker = (table["attributes"] & CONTROL != 0) & (table["producer_epoch"] == epochs)
        ends: NDArray[np.bool_] = is_known & np.where(last >= 0, is_last_data, is_last_marker)
        return ends


@dataclass(slots=True)
class BatchJudge:
    """Judges batches in the order of the log, following its transactions."""

    transactions: CleanedTransactions
    producers: ActiveProducers
    first_uncleanable_offset: int
    now_ms: int

    def verdicts(self, data: Buffer, table: NDArray[np.void]) -> NDArray[np.uint8]:
        """A `BatchVerdict` for each batch.

        A producer's last batch, and the last batch before the uncleanable part, stay even without records. Otherwise
        the producer's sequence, or the offsets up to there, would be forgotten.
        """
        stays_empty = self.producers.ends_with(table) | (last_offsets(table) + 1 == self.first_uncleanable_offset)
        found = np.where(stays_empty, BatchVerdict.RETAIN_EMPTY, 0).astype(np.uint8)
        for row, may_go in discardable(self.transactions, transaction_events(data, table)):
            batch = table[row]
            if not batch["attributes"] & CONTROL:
                found[row] |= BatchVerdict.DISCARD_RECORDS if may_go else 0
            elif may_go:
                is_due = batch["attributes"] & DELETE_HORIZON and batch["base_timestamp"] <= self.now_ms
                found[row] |= BatchVerdict.MARKER_OF_NOTHING | (BatchVerdict.DISCARD_RECORDS if is_due else 0)
        return found
