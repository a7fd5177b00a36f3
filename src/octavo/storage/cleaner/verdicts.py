"""Decides about whole batches, before `filter` looks at their records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.kernels.layout import CONTROL, DELETE_HORIZON
from octavo.kernels.offset_table import BatchVerdict
from octavo.storage.cleaner.plan import CleanPlan
from octavo.storage.cleaner.transactions import CleanedTransactions, discardable, transaction_events


def verdicts(plan: CleanPlan, transactions: CleanedTransactions, chunk: Chunk) -> NDArray[np.uint8]:
    """A `BatchVerdict` for each batch of a chunk; the chunks come in the order of the log, as `transactions` needs it.

    A producer's last batch, and the last batch before the uncleanable part, stay even without records. Otherwise the
    producer's sequence, or the offsets up to there, would be forgotten.
    """
    table = chunk.table
    stays_empty = plan.producers.ends_with(table) | (last_offsets(table) + 1 == plan.first_uncleanable_offset)
    found = np.where(stays_empty, BatchVerdict.RETAIN_EMPTY, 0).astype(np.uint8)
    for row, may_go in discardable(transactions, transaction_events(chunk.data, table)):
        batch = table[row]
        if not batch["attributes"] & CONTROL:
            found[row] |= BatchVerdict.DISCARD_RECORDS if may_go else 0
        elif may_go:
            is_due = batch["attributes"] & DELETE_HORIZON and batch["base_timestamp"] <= plan.now_ms
            found[row] |= BatchVerdict.MARKER_OF_NOTHING | (BatchVerdict.DISCARD_RECORDS if is_due else 0)
    return found
