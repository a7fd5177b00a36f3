"""The first offset from a time on, found through the time indexes."""

from __future__ import annotations

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.decoder import Decoder
from octavo.format.walker import Chunk
from octavo.kernels.layout import CONTROL, Column
from octavo.scan.files import SegmentFiles
from octavo.scan.index_files import hint_for, read_time_index
from octavo.scan.partition import PartitionSnapshot
from octavo.scan.segment_log import follow, last_offsets, walk_file


def first_offset_from(snapshot: PartitionSnapshot, timestamp: int) -> int | None:
    """The offset of the first record with this timestamp or a later one; None where there is none.

    Markers of transactions, which carry the broker's time, are no records here (a broker's lookup would count them).
    """
    for slot in range(snapshot.first_slot(), len(snapshot.segments)):
        found = _in_segment(snapshot, snapshot.segments[slot], snapshot.end_of(slot), timestamp)
        if found is not None:
            return found
    return None


def _in_segment(snapshot: PartitionSnapshot, segment: SegmentFiles, end: int, timestamp: int) -> int | None:
    index = read_time_index(snapshot.files, segment)
    sealed = segment is not snapshot.segments[-1]
    if sealed and len(index) and index.last().timestamp < timestamp:
        return None  # a segment's last entry, written when it was rolled, holds its largest timestamp
    start = max(index.lookup(timestamp).offset, snapshot.log_start_offset)
    decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)
    with follow(snapshot.files.path(segment)) as log:
        position = hint_for(snapshot.files, segment, log, start)
        for chunk in walk_file(log, position, log.size()):
            found = _in_chunk(chunk, decoder, snapshot.log_start_offset, end, timestamp)
            if found is not None:
                return found
    return None


def _in_chunk(chunk: Chunk, decoder: Decoder, start: int, end: int, timestamp: int) -> int | None:
    table = chunk.table
    late = (table["flaws"] == 0) & (table["max_timestamp"] >= timestamp) & (last_offsets(table) >= start)
    late &= (table["magic"] < 2) | (table["attributes"] & CONTROL == 0)
    for row in table[late]:
        try:
            columns = decoder.decode_one(chunk.data, row)
        except CorruptionError:
            continue
        offsets = columns.offset[: columns.rows]
        matching = np.flatnonzero(
            (columns.timestamp[: columns.rows] >= timestamp) & (offsets >= start) & (offsets < end)
        )
        if len(matching):
            return int(offsets[matching[0]])
    return None
