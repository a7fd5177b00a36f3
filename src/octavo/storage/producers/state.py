"""The state of a partition's producers: idempotence, epochs, transactions, as Kafka's ProducerStateManager keeps them.

Pure state: the caller deals with files, the clock and the log. An append takes two steps, `check` before its bytes are
written and `apply` afterwards; `replay` is for batches that are already in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import BatchSummary, last_offset
from octavo.format.batches.control import ControlType
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.small_files import producer_snapshot
from octavo.kernels import layout
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.check import NO_PRODUCERS, ProducerAppend, check_producers, replicate_producers
from octavo.storage.producers.table import ProducerTable
from octavo.storage.producers.transactions import Transactions

if TYPE_CHECKING:
    from typing_extensions import Buffer

PRODUCER_ID_EXPIRATION_MS = 86_400_000
_ABORTED = ["producer_id", "first_offset", "offset", "last_stable_offset"]


class Replay(NamedTuple):
    """How many rows were replayed, their aborted transactions, and the damage that stopped the replay, if any."""

    rows: int
    aborted: list[AbortedTxn]
    damage: CorruptionError | None


class ProducerStateManager:
    """All producers and transactions of a partition, as of `map_end_offset`.

    Not thread-safe: the log's lock guards it.
    """

    def __init__(self, *, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS, start_offset: int = 0) -> None:
        self.expiration_ms = expiration_ms
        self.map_end_offset = start_offset
        self.last_snapshot_offset = 0
        self.transactions = Transactions()
        self.table = ProducerTable()

    @property
    def is_empty(self) -> bool:
        """Whether no producer is known and every completed transaction is replicated."""
        return not len(self.table) and not self.transactions.unreplicated

    def check(
        self, data: Buffer, table: NDArray[np.void], origin: AppendOrigin, transaction_version: int | None = None
    ) -> ProducerAppend:
        """What appending the batches of `table` would change; raises a child of `AppendRejected` if they are refused.

        The table contains the offsets and timestamps to be written. Unless it is replicated, a marker needs the
        transaction version that its coordinator sent.
        """
        if self.table.continues(table):
            return ProducerAppend(continued=table)
        if not (table["producer_id"] > layout.NO_PRODUCER_ID).any():
            return NO_PRODUCERS
        if origin is AppendOrigin.REPLICATION:
            return replicate_producers(self.table, data, table)
        return check_producers(self.table, data, table, origin, transaction_version)

    def apply(self, append: ProducerAppend) -> None:
        """Update the state after the batches have been written.

        The caller then completes their transactions: for each of `append.completed` it writes
        `transactions.index_entry` to the transaction index, and calls `transactions.complete`.
        """
        if append.continued is not None:
            self.table.apply_continued(append.continued)
        for current, updated, started in append.updates:
            current.update(updated)
            self.table.put(current)
            for first_offset in started:
                self.transactions.begin(current.producer_id, first_offset)

    def replay(self, data: Buffer, table: NDArray[np.void], summary: BatchSummary | None = None) -> Replay:
        """Apply batches that are already in the log, in order; epochs and sequences are not checked again.

        `map_end_offset` moves to the end of the last v2 batch. The aborted transactions returned are those that belong
        in the transaction index. A damaged control record ends the replay before its batch. `summary` is the table's,
        if known.
        """
        if summary is not None and not summary.with_producers and summary.min_magic >= 2:
            self.map_end_offset = summary.last_offset + 1
            return Replay(len(table), [], None)
        rows, ended, damage = self.table.replay(data, table)
        completed = zip(ended["first_offset"].tolist(), ended["offset"].tolist(), strict=True)
        self.transactions.replace(self.table.ongoing(), completed)
        batches = table[:rows]
        if rows and batches[-1]["magic"] < 2:
            batches = batches[batches["magic"] >= 2]  # Kafka does not move the end for older formats
        if len(batches):
            self.map_end_offset = last_offset(batches[-1]) + 1
        aborted = ended[_ABORTED][ended["type"] == ControlType.ABORT]
        return Replay(rows, [AbortedTxn(*fields) for fields in aborted.tolist()], damage)

    def load(self, snapshot: bytes, offset: int, now_ms: int) -> None:
        """Start from a snapshot taken at `offset`, without the producers that have expired since.

        Raises `CorruptionError` for a damaged snapshot, and then changes nothing.
        """
        producers = producer_snapshot.decode_table(snapshot)
        self.start_at(offset)
        self.last_snapshot_offset = offset
        self.table.load(producers)
        self.remove_expired(now_ms)
        self.transactions.replace(self.table.ongoing(), ())

    def start_at(self, offset: int) -> None:
        """Forget everything: the log starts again at `offset`, or its state will be replayed from there."""
        self.table.clear()
        self.transactions.clear()
        self.map_end_offset, self.last_snapshot_offset = offset, 0

    def take_snapshot(self) -> bytes | None:
        """The state at `map_end_offset` as a snapshot's bytes; None if one was already taken there or later."""
        if self.map_end_offset <= self.last_snapshot_offset:
            return None
        self.last_snapshot_offset = self.map_end_offset
        return producer_snapshot.encode_table(self.table.snapshot())

    def remove_expired(self, now_ms: int) -> None:
        """Drop the producers that have been idle for `expiration_ms`, unless they have an ongoing transaction."""
        self.table.remove_expired(now_ms - self.expiration_ms)

    def advance_log_start(self, log_start_offset: int, latest_snapshot_offset: int | None) -> None:
        """Record where the log now begins, and the offset of its latest remaining snapshot."""
        self.transactions.forget_before(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self.last_snapshot_offset = log_start_offset if latest_snapshot_offset is None else latest_snapshot_offset
