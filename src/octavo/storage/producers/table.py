"""All producers of a partition in arrays with one row each, which makes replay, snapshots and expiry cheap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import CorruptionError, InvalidTxnStateError
from octavo.format.batches.marker_table import decode_markers
from octavo.format.small_files import producer_snapshot
from octavo.kernels.producers import CACHED_BATCHES, MARKER, NONE, PRODUCER, ProducerArrays, Replayed
from octavo.storage.producers.entry import CachedBatch, ProducerStateEntry

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The fields that arrays and snapshots share: name in the array → name in the snapshot.
_SHARED = {
    "producer_id": "producer_id",
    "epoch": "epoch",
    "last_timestamp": "timestamp",
    "coordinator_epoch": "coordinator_epoch",
    "current_txn_first_offset": "current_txn_first_offset",
}
_NO_MARKERS = np.empty(0, MARKER)
_NO_BATCH = {"last_sequence": NONE, "last_offset": NONE, "offset_delta": 0}


class ReplayedRows(NamedTuple):
    """How many rows were replayed, the markers that ended a transaction, and the damage that stopped the replay, if
    any."""

    rows: int
    ended: NDArray[np.void]  # rows of type `MARKER`
    damage: CorruptionError | None


class ProducerTable:
    """Maps producer ids to copies of `ProducerStateEntry`; `put` writes one back. Not thread-safe."""

    def __init__(self) -> None:
        self._arrays = ProducerArrays()

    def __len__(self) -> int:
        return self._arrays.count

    def __iter__(self) -> Iterator[ProducerStateEntry]:
        return (self._entry(index) for index in range(len(self)))

    def get(self, producer_id: int) -> ProducerStateEntry | None:
        index = self._arrays.find(producer_id)
        return None if index == NONE else self._entry(index)

    def put(self, entry: ProducerStateEntry) -> None:
        index = self._arrays.find(entry.producer_id)
        if index == NONE:
            if len(self) == len(self._arrays.entries):
                self._arrays.grow()
            index = self._arrays.add(entry.producer_id)
        first_offset = NONE if entry.current_txn_first_offset is None else entry.current_txn_first_offset
        row = self._arrays.entries[index]
        row["epoch"], row["coordinator_epoch"] = entry.epoch, entry.coordinator_epoch
        row["last_timestamp"], row["current_txn_first_offset"] = entry.last_timestamp, first_offset
        row["batch_count"], row["next_batch"] = len(entry.batches), len(entry.batches) % CACHED_BATCHES
        for slot, batch in enumerate(entry.batches):
            row["batches"][slot] = (batch.last_offset, batch.timestamp, batch.last_sequence, batch.offset_delta)

    def clear(self) -> None:
        self._arrays = ProducerArrays()

    def replay(self, data: Buffer, table: NDArray[np.void], *, known: ProducerTable | None = None) -> ReplayedRows:
        """Apply batches of the log in order, up to the first damaged control record, where recovery cuts the log.

        With `known`, producers start from their entries there, which do not change; the changed entries go into this
        table.
        """
        others, damage = None if known is None else known._arrays, None
        self._arrays.find_ongoing()
        markers = _NO_MARKERS
        code, row, marker = kernels.replay(table, markers, self._arrays, 0, 0, others)
        while code in (Replayed.FULL, Replayed.MARKER_MISSING):
            if code == Replayed.FULL:
                self._arrays.grow()
            else:
                markers, rows, damage = decode_markers(data, table[row:])
                table = table[: row + rows]
            code, row, marker = kernels.replay(table, markers, self._arrays, row, marker, others)
        if code == Replayed.NOT_TRANSACTIONAL:
            where = f"producer {table[row]['producer_id']}, offset {table[row]['base_offset']}"
            raise InvalidTxnStateError(f"{where}: a batch outside any transaction, but one is ongoing")
        return ReplayedRows(row, markers[markers["first_offset"] != NONE], damage)

    def continues(self, table: NDArray[np.void]) -> bool:
        """Whether the batches simply continue what a known producer sent, as they nearly always do. The kernel has the
        rule."""
        return kernels.continues(table, self._arrays)

    def apply_continued(self, table: NDArray[np.void]) -> None:
        """Apply batches for which `continues` holds."""
        kernels.replay(table, _NO_MARKERS, self._arrays)

    def ongoing(self) -> list[tuple[int, int]]:
        """The first offsets of ongoing transactions, in order, with their producer ids."""
        self._arrays.find_ongoing()
        found = self._arrays.ongoing[: self._arrays.ongoing_count]
        return list(zip(found["first_offset"].tolist(), found["producer_id"].tolist(), strict=True))

    def remove_expired(self, expired_until: int) -> None:
        """Drop the producers whose last timestamp is not after this time and that have no ongoing transaction."""
        entries = self._arrays.entries[: len(self)]
        kept = (entries["last_timestamp"] > expired_until) | (entries["current_txn_first_offset"] != NONE)
        if not kept.all():
            self._arrays.hold(entries[kept], int(np.count_nonzero(kept)))

    def load(self, snapshot: NDArray[np.void]) -> None:
        """Replace all producers with those of a snapshot."""
        # Kafka puts them into a map one by one, so the last of several with the same id wins.
        _, from_end = np.unique(snapshot["producer_id"][::-1], return_index=True)
        found = snapshot[len(snapshot) - 1 - from_end]
        entries = np.zeros(len(found), PRODUCER)
        for name, in_snapshot in _SHARED.items():
            entries[name] = found[in_snapshot]
        entries["current_txn_first_offset"] = np.maximum(entries["current_txn_first_offset"], NONE)
        has_batch = found["last_offset"] >= 0
        for name in (*_NO_BATCH, "timestamp"):
            entries["batches"][name][:, 0] = np.where(has_batch, found[name], 0)
        entries["batch_count"] = entries["next_batch"] = has_batch
        self._arrays.hold(entries, len(entries))

    def snapshot(self) -> NDArray[np.void]:
        """The producers as rows of a snapshot, which holds only the newest batch of each."""
        entries = self._arrays.entries[: len(self)]
        found = np.zeros(len(entries), producer_snapshot.ENTRY.dtype)
        for name, in_snapshot in _SHARED.items():
            found[in_snapshot] = entries[name]
        newest = (entries["next_batch"].astype(np.int64) - 1) % CACHED_BATCHES
        batches = entries["batches"][np.arange(len(entries)), newest]
        for name, none in _NO_BATCH.items():
            found[name] = np.where(entries["batch_count"] > 0, batches[name], none)
        return found

    def _entry(self, index: int) -> ProducerStateEntry:
        row = self._arrays.entries[index]
        producer_id, last_timestamp, first_offset, batches, coordinator_epoch, epoch, count, end = row.tolist()
        entry = ProducerStateEntry(producer_id, epoch, coordinator_epoch, last_timestamp)
        entry.current_txn_first_offset = None if first_offset == NONE else first_offset
        ring = batches.tolist() if count else []
        for slot in range(end - count, end):  # a negative slot counts from the ring's end
            last_offset, timestamp, last_sequence, offset_delta = ring[slot]
            entry.batches.append(CachedBatch(last_sequence, last_offset, offset_delta, timestamp))
        return entry
