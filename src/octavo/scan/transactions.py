"""What read_committed needs of a partition: its last stable offset and its aborted transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format import producer_snapshot, txn_index
from octavo.format.control import MARKERS, ControlType, control_type_id
from octavo.format.decoder import Decoder
from octavo.format.names import FileKind
from octavo.format.row_columns import to_records
from octavo.format.txn_index import AbortedTxn
from octavo.format.walker import Chunk
from octavo.kernels.layout import CONTROL, TRANSACTIONAL, Column
from octavo.scan.files import PartitionFiles
from octavo.scan.index_files import hint_for
from octavo.scan.notes import Note
from octavo.scan.partition import PartitionSnapshot, look_at, retrying
from octavo.scan.segment_log import follow, last_offsets, walk_file
from octavo.scan.small_files import read_small


class Transactions(NamedTuple):
    """Offline the high watermark is the log end offset: only an open transaction holds the last stable offset back."""

    last_stable_offset: int
    aborted: tuple[AbortedTxn, ...]  # by their last offset
    notes: tuple[Note, ...] = ()


class _Replay:
    """The transactions that are open, and those that were seen to be aborted, as batches are passed in offset order."""

    def __init__(self, open_transactions: dict[int, int]) -> None:
        self.open = open_transactions  # producer id → first offset
        self.aborted: list[AbortedTxn] = []
        self._decoder = Decoder(Column.KEY | Column.OFFSET)

    def take(self, data: memoryview, rows: NDArray[np.void]) -> None:
        for row in rows:
            producer_id, offset = int(row["producer_id"]), int(row["base_offset"])
            if not row["attributes"] & CONTROL:
                self.open.setdefault(producer_id, offset)
            elif producer_id in self.open:
                self._end(data, row, producer_id, offset)

    def _end(self, data: memoryview, row: np.void, producer_id: int, offset: int) -> None:
        marker = self._marker(data, row)
        if marker not in MARKERS:
            return  # also a marker that compaction emptied: its transaction's records are gone
        first_offset = self.open.pop(producer_id)
        if marker is ControlType.ABORT:
            last_stable_offset = min(self.open.values(), default=offset + 1)
            self.aborted.append(AbortedTxn(producer_id, first_offset, offset, last_stable_offset))

    def _marker(self, data: memoryview, row: np.void) -> ControlType:
        try:
            records = to_records(self._decoder.decode_one(data, row))
            return ControlType(control_type_id(records[0].key)) if records else ControlType.UNKNOWN
        except CorruptionError:
            return ControlType.UNKNOWN


def read_transactions(snapshot: PartitionSnapshot) -> Transactions:
    """Take the newest producer snapshot and replay what was appended since.

    Aborted transactions come from the transaction indexes and from the replay: on a live disk a marker may be in the
    log a moment before its entry is in the index.
    """
    notes: list[Note] = []
    start, open_transactions = _newest_state(snapshot, notes)
    replay = _Replay(open_transactions)
    for chunk, rows in _transactional(snapshot, start):
        replay.take(chunk.data, rows)
    last_stable_offset = min(replay.open.values(), default=snapshot.log_end_offset)
    last_stable_offset = min(max(last_stable_offset, snapshot.log_start_offset), snapshot.log_end_offset)
    aborted = {(txn.last_offset, txn.producer_id): txn for txn in (*_indexed(snapshot, notes), *replay.aborted)}
    return Transactions(last_stable_offset, tuple(aborted[key] for key in sorted(aborted)), tuple(notes))


def take_committed_snapshot(files: PartitionFiles) -> tuple[PartitionSnapshot, Transactions]:
    """A snapshot of a partition and its transactions, both of the same files."""

    def look(listed: PartitionFiles) -> tuple[PartitionSnapshot, Transactions]:
        snapshot = look_at(listed)
        return snapshot, read_transactions(snapshot)

    return retrying(files, look)


def _newest_state(snapshot: PartitionSnapshot, notes: list[Note]) -> tuple[int, dict[int, int]]:
    """The offset of the newest readable snapshot and the transactions open there; without one the log's start."""
    files = snapshot.files
    for offset in reversed(files.snapshots):
        if not snapshot.log_start_offset < offset <= snapshot.log_end_offset:
            continue
        location = files.snapshot_path(offset)
        try:
            producers = read_small(location, producer_snapshot.decode)
        except CorruptionError as error:
            notes.append(Note(str(location), f"passed over: {error.problem}"))
            continue
        if producers is not None:
            begun = {producer.producer_id: producer.current_txn_first_offset for producer in producers}
            return offset, {producer_id: first for producer_id, first in begun.items() if first >= 0}
    return snapshot.log_start_offset, {}


def _transactional(snapshot: PartitionSnapshot, start: int) -> Iterator[tuple[Chunk, NDArray[np.void]]]:
    """The sound transactional batches from an offset on."""
    for slot, segment in enumerate(snapshot.segments):
        end = snapshot.end_of(slot)
        if end <= start:
            continue
        with follow(snapshot.files.path(segment)) as log:
            position = hint_for(snapshot.files, segment, log, start)
            for chunk in walk_file(log, position, log.size()):
                table = chunk.table
                if not np.bitwise_or.reduce(table["attributes"]) & TRANSACTIONAL:
                    continue
                wanted = (table["flaws"] == 0) & (table["magic"] >= 2) & (table["attributes"] & TRANSACTIONAL != 0)
                wanted &= (last_offsets(table) >= start) & (table["base_offset"] < end)
                yield chunk, table[wanted]


def _indexed(snapshot: PartitionSnapshot, notes: list[Note]) -> Iterator[AbortedTxn]:
    for segment in snapshot.segments[snapshot.first_slot() :]:
        if segment.txn_index is None and segment is not snapshot.segments[-1]:
            continue  # the last segment's may have been made since the listing
        location = snapshot.files.path(segment, FileKind.TXN_INDEX)
        try:
            index = read_small(location, txn_index.decode)
        except CorruptionError as error:
            notes.append(Note(str(location), f"not read: {error.problem}"))
            continue
        for txn in index.aborted if index is not None else ():
            if snapshot.log_start_offset <= txn.last_offset < snapshot.log_end_offset:
                yield txn
