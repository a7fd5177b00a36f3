"""What read_committed needs to know about a partition: its last stable offset and its aborted transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn, TxnIndex
from octavo.format.names import FileKind
from octavo.format.small_files import producer_snapshot
from octavo.scanner.damage.passed_damage import PassedDamage
from octavo.scanner.damage.salvage import walk_past
from octavo.scanner.findings import Note
from octavo.scanner.partition.index_files import hint_for
from octavo.scanner.partition.replay import TransactionReplay, transactional
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.places.files import ListedSegment, snapshot_path
from octavo.scanner.places.location import Location
from octavo.scanner.places.root import read_small
from octavo.scanner.places.segment_log import follow


class PartitionTransactions(NamedTuple):
    """Without a broker the high watermark is the log end offset, so only open transactions limit the last stable
    offset."""

    last_stable_offset: int
    aborted: tuple[AbortedTxn, ...]  # ordered by last offset
    notes: tuple[Note, ...] = ()
    # The indexes may lack aborted transactions that end below this offset, because a segment's index is missing or
    # damaged.
    unindexed_below: int = 0
    open: tuple[tuple[int, int], ...] = ()  # producer ids of open transactions, with their first offsets

    def without_open(self, end_offset: int) -> PartitionTransactions:
        """The same for a reader that does not stop at open transactions, but leaves out their records up to the end."""
        unfinished = tuple(AbortedTxn(number, first, end_offset, first) for number, first in self.open)
        return self._replace(last_stable_offset=end_offset, aborted=(*self.aborted, *unfinished))


def read_transactions(snapshot: PartitionSnapshot) -> PartitionTransactions:
    """Start from the newest producer snapshot and replay the log after it.

    Aborted transactions come from the transaction indexes and from the replay: under a running broker, a marker may be
    in the log a moment before its entry is in the index.
    """
    notes: list[Note] = []
    start, open_transactions = _newest_state(snapshot, notes)
    replay = TransactionReplay(open_transactions)
    passed: list[Location] = []
    for chunk, rows in _transactional(snapshot, start, passed):
        replay.take(chunk.data, rows)
    last_stable_offset = min(replay.open.values(), default=snapshot.log_end_offset)
    last_stable_offset = min(max(last_stable_offset, snapshot.log_start_offset), snapshot.log_end_offset)
    if passed and last_stable_offset < snapshot.log_end_offset:
        sentence = (
            f"a transaction that seems open at offset {last_stable_offset} may have ended where the log is damaged"
        )
        notes.append(Note(str(passed[0]), sentence, is_damage=True))
    aborted = {(txn.last_offset, txn.producer_id): txn for txn in replay.aborted}
    unindexed_below = snapshot.log_start_offset
    for slot in range(snapshot.slot_of(snapshot.log_start_offset), len(snapshot.segments)):
        segment = snapshot.segments[slot]
        index = _read_index(snapshot, segment, notes)
        if (index is None or index.cut_bytes) and segment.base_offset < start:
            unindexed_below = min(snapshot.end_of(slot), start)
        for txn in index.aborted if index else ():
            if snapshot.log_start_offset <= txn.last_offset < snapshot.log_end_offset:
                aborted[txn.last_offset, txn.producer_id] = txn
    in_order = tuple(aborted[key] for key in sorted(aborted))
    still_open = tuple(replay.open.items())
    return PartitionTransactions(last_stable_offset, in_order, tuple(notes), unindexed_below, still_open)


def _newest_state(snapshot: PartitionSnapshot, notes: list[Note]) -> tuple[int, dict[int, int]]:
    """The offset of the newest readable snapshot and the transactions open there; the log's start if there is none."""
    files = snapshot.files
    for offset in reversed(files.snapshots):
        if not snapshot.log_start_offset < offset <= snapshot.log_end_offset:
            continue
        location = snapshot_path(files.location, offset)
        try:
            producers = read_small(location, producer_snapshot.decode)
        except CorruptionError as error:
            notes.append(Note(str(location), f"skipped: {error.problem}"))
            continue
        if producers is not None:
            begun = {producer.producer_id: producer.current_txn_first_offset for producer in producers}
            return offset, {producer_id: first for producer_id, first in begun.items() if first >= 0}
    return snapshot.log_start_offset, {}


def _transactional(
    snapshot: PartitionSnapshot, start: int, passed: list[Location]
) -> Iterator[tuple[Chunk, NDArray[np.void]]]:
    """The sound transactional batches from an offset on; `passed` collects the files with parts that cannot be read."""
    for slot, segment in enumerate(snapshot.segments):
        end = snapshot.end_of(slot)
        if end <= start:
            continue
        location = snapshot.files.path(segment)
        damage = PassedDamage(location, start)
        try:
            with follow(location) as log:
                position, stop = hint_for(snapshot.files, segment, log, start), snapshot.batches_end(slot, log)
                for chunk in walk_past(log, position, stop, segment.base_offset, damage.see_gap):
                    rows = transactional(chunk.table)
                    yield chunk, rows[(last_offsets(rows) >= start) & (rows["base_offset"] < end)]
                    damage.see(chunk, len(chunk.table))
        except FileNotFoundError:
            raise
        except OSError:  # the segment's reader will report the reason
            passed.append(location)
        passed += [location] if damage.notes() else []


def _read_index(snapshot: PartitionSnapshot, segment: ListedSegment, notes: list[Note]) -> TxnIndex | None:
    """A segment's transaction index; None if it is missing or damaged."""
    if segment.txn_index is None and segment is not snapshot.segments[-1]:
        return None  # only the last segment's index may have been created since the listing
    location = snapshot.files.path(segment, FileKind.TXN_INDEX)
    try:
        return read_small(location, txn_index.decode)
    except CorruptionError as error:
        notes.append(Note(str(location), f"not read: {error.problem}"))
        return None
