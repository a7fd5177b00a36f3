"""Finds the first offset from a given time on, through the time indexes."""

from __future__ import annotations

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.sound import unreadable
from octavo.kernels.layout import CONTROL, Column
from octavo.scanner.damage.passed_damage import PassedDamage, not_read
from octavo.scanner.damage.salvage import walk_past
from octavo.scanner.findings import Note
from octavo.scanner.partition.index_files import hint_for, read_time_index
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.places.segment_log import follow


def first_offset_from(snapshot: PartitionSnapshot, timestamp: int, notes: list[Note]) -> int | None:
    """The offset of the first record with this timestamp or a later one; None if there is none.

    Transaction markers, which carry the broker's time, do not count as records here, although they do in a broker's
    lookup. `notes` collects skipped damage that may have held such a record.
    """
    for slot in range(snapshot.slot_of(snapshot.log_start_offset), len(snapshot.segments)):
        try:
            offset = _in_segment(snapshot, slot, timestamp, notes)
        except FileNotFoundError:
            raise
        except OSError as error:
            notes.append(not_read(snapshot.files.path(snapshot.segments[slot]), error))
            continue
        if offset is not None:
            return offset
    return None


def _in_segment(snapshot: PartitionSnapshot, slot: int, timestamp: int, notes: list[Note]) -> int | None:
    segment, end = snapshot.segments[slot], snapshot.end_of(slot)
    index = read_time_index(snapshot.files, segment)
    sealed = segment is not snapshot.segments[-1]
    if sealed and len(index) and index.last().timestamp < timestamp:
        return None  # the last entry, written when the segment was rolled, has its largest timestamp
    start = max(index.lookup(timestamp).offset, snapshot.log_start_offset)
    decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)
    passed = PassedDamage(snapshot.files.path(segment), start)
    with follow(snapshot.files.path(segment)) as log:
        position, stop = hint_for(snapshot.files, segment, log, start), snapshot.batches_end(slot, log)
        for chunk in walk_past(log, position, stop, segment.base_offset, passed.see_gap):
            rows, offset = _in_chunk(chunk, decoder, snapshot.log_start_offset, end, timestamp)
            passed.see(chunk, rows)
            if offset is not None:
                break
        else:
            offset = None
    notes += passed.notes()
    return offset


def _in_chunk(chunk: Chunk, decoder: Decoder, start: int, end: int, timestamp: int) -> tuple[int, int | None]:
    """How many batches were examined, and the offset of the record if the last of them has it; otherwise None."""
    table = chunk.table
    late = ~unreadable(table) & (table["max_timestamp"] >= timestamp) & (last_offsets(table) >= start)
    late &= (table["magic"] < 2) | (table["attributes"] & CONTROL == 0)
    for row in np.flatnonzero(late).tolist():
        try:
            columns = decoder.decode_one(chunk.data, table[row])
        except CorruptionError:
            continue
        offsets = columns.offset[: columns.rows]
        matching = np.flatnonzero(
            (columns.timestamp[: columns.rows] >= timestamp) & (offsets >= start) & (offsets < end)
        )
        if len(matching):
            return row + 1, int(offsets[matching[0]])
    return len(table), None
