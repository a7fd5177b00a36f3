"""Counts batches, records and bytes.

Batches are counted by their headers, if their CRC matches. Only three kinds are decoded: the first batch with records,
for its first timestamp; batches that reach beyond the bounds; and compressed wrappers in old formats, whose headers
have no count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.decoder import Decoder
from octavo.kernels.layout import CODEC_MASK, CONTROL, NO_TIMESTAMP, Column
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.reading.aborted import AbortedRanges
from octavo.scanner.reading.read import sound_batches
from octavo.scanner.reading.rows import delivered

_NONE_ABORTED = AbortedRanges(())


@dataclass(slots=True)
class Tally:
    """The counts of one task, or of a whole partition."""

    batches: int = 0
    records: int = 0
    size: int = 0  # in bytes
    first_timestamp: int | None = None
    max_timestamp: int = NO_TIMESTAMP
    magics: set[int] = field(default_factory=set)
    codecs: set[int] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    damage_count: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of the part that follows."""
        self.batches += other.batches
        self.records += other.records
        self.size += other.size
        self.first_timestamp = other.first_timestamp if self.first_timestamp is None else self.first_timestamp
        self.max_timestamp = max(self.max_timestamp, other.max_timestamp)
        self.magics |= other.magics
        self.codecs |= other.codecs
        self.notes += other.notes
        self.damage_count += other.damage_count


class Counter:
    """Counts the batches of one task, up to but not including `end_offset`."""

    def __init__(self, end_offset: int, findings: ScanFindings) -> None:
        self.tally = Tally()
        self._end = end_offset
        self._findings = findings
        self._decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)

    def take(self, chunk: Chunk, start: int) -> None:
        """Count the batches of a chunk that hold offsets from `start` on."""
        sound = sound_batches(chunk, start, self._end, self._findings)
        markers = sound[(sound["magic"] >= 2) & (sound["attributes"] & CONTROL != 0)]
        markers = markers[(last_offsets(markers) >= start) & (markers["base_offset"] < self._end)]
        self._add_batches(markers)
        data = delivered(sound, start, self._end, _NONE_ABORTED)
        if not len(data):
            return
        self._add_batches(data)
        self.tally.codecs.update(np.unique(data["attributes"] & CODEC_MASK).tolist())
        data = data[data["count"] != 0]
        while self.tally.first_timestamp is None and len(data):  # compaction changes the one in the header
            self._add_decoded(chunk, data[0], start)
            data = data[1:]
        whole = (data["base_offset"] >= start) & (last_offsets(data) < self._end) & (data["count"] > 0)
        for row in data[~whole]:
            self._add_decoded(chunk, row, start)
        by_header = data[whole]
        if len(by_header):
            self.tally.records += int(by_header["count"].sum(dtype=np.int64))
            self.tally.max_timestamp = max(self.tally.max_timestamp, int(by_header["max_timestamp"].max()))

    def _add_batches(self, rows: NDArray[np.void]) -> None:
        self.tally.batches += len(rows)
        self.tally.size += int(rows["size"].sum(dtype=np.int64))
        self.tally.magics.update(np.unique(rows["magic"]).tolist())

    def _add_decoded(self, chunk: Chunk, row: np.void, start: int) -> None:
        try:
            columns = self._decoder.decode_one(chunk.data, row)
        except CorruptionError as error:
            self._findings.damage(chunk.located(error))
            return
        offsets, timestamps = columns.offset[: columns.rows], columns.timestamp[: columns.rows]
        timestamps = timestamps[(offsets >= start) & (offsets < self._end)]
        if not len(timestamps):
            return
        self.tally.records += len(timestamps)
        self.tally.max_timestamp = max(self.tally.max_timestamp, int(timestamps.max()))
        if self.tally.first_timestamp is None:
            self.tally.first_timestamp = int(timestamps[0])
