"""Checks a segment's log file: checksums, fields and offsets of its batches, and the bytes between and after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.jobs.verify import severities
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.jobs.verify.view import LogPart, SegmentView, UnreadableRanges
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import MAX_FILE_BYTES, Flaw, Stop
from octavo.scanner.damage.resync import are_zeros, next_sound_position
from octavo.scanner.places.location import ReadableFile
from octavo.scanner.places.segment_log import walk_file
from octavo.system.shown import count


class _LastBatch(NamedTuple):
    """The last sound batch so far, and the last offset of the batch before it."""

    position: int
    base_offset: int
    max_timestamp: int
    offset_before: int


def flaw_of(batch: np.void) -> tuple[FindingKind, str]:
    """What is wrong with a flawed batch, judging by its header and its CRC."""
    flaws = Flaw(int(batch["flaws"]))
    if flaws & Flaw.UNKNOWN_MAGIC:
        return FindingKind.INVALID_BATCH, f"magic {batch['magic']}, expected 0, 1 or 2"
    if flaws & Flaw.TOO_SHORT:
        return FindingKind.INVALID_BATCH, f"a batch of {batch['size']} bytes, too short for its header"
    detail = f"the CRC of the batch at offset {batch['base_offset']} is not the stored {batch['crc']}"
    return FindingKind.CRC_MISMATCH, detail


class LogCheck:
    """Walks a log file; `next_offset` and `position` are where its sound batches end.

    A batch's CRC does not cover its offset: it is compared with its neighbours' and the segment's bounds.
    """

    def __init__(self, view: SegmentView, log: ReadableFile, findings: FindingCollector) -> None:
        self.next_offset = view.base_offset
        self.position = 0
        self.size = log.size()
        self.unreadable = UnreadableRanges()
        self.batches = 0
        self._view = view
        self._path = view.path()
        self._log = log
        self._findings = findings
        self._out_of_range = False  # whether the last batch was: then the next one is not compared with it
        self._last_batch: _LastBatch | None = None

    def parts(self, untrimmed: bool) -> Iterator[LogPart]:
        """The sound batches. `untrimmed`: the segment's indexes look like those of a segment still being written."""
        if self.size > MAX_FILE_BYTES:
            self._add(None, FindingKind.SEGMENT_SIZE, f"{self.size} bytes, expected at most {MAX_FILE_BYTES}")
        start = 0
        while True:
            stop, stop_position = Stop.END, self.size
            for chunk in walk_file(self._log, start, self.size):
                part = self._part(chunk)
                if len(part.table):
                    yield part
                if chunk.stop is not None:
                    stop, stop_position = chunk.stop, chunk.stop_position
            if stop is Stop.END:
                return
            resumed = next_sound_position(self._log, stop_position + 1, self.size, self.next_offset)
            if resumed is None:
                self._check_tail(stop, stop_position, untrimmed)
                return
            self._add(stop_position, FindingKind.NO_BATCH, f"{resumed - stop_position} bytes that are not a batch")
            self.unreadable.add(stop_position, resumed, self.next_offset)
            start = resumed

    def check_last_batch(self, by_position: Mapping[int, int], by_timestamp: Mapping[int, int]) -> None:
        """Report the last batch if index entries that seem wrong show that its offset jumped.

        There is no later batch that could show it.
        """
        batch = self._last_batch
        if batch is None:
            return
        for offset in (by_position.get(batch.position), by_timestamp.get(batch.max_timestamp)):
            if offset is not None and batch.offset_before < offset < batch.base_offset:
                detail = f"offset {batch.base_offset}, expected at most {offset} according to an index"
                self._add(batch.position, FindingKind.OFFSET_ORDER, detail)
                return

    def has_grown(self) -> bool:
        """Whether a broker has appended to the file since its size was taken."""
        return self._log.size() > self.size

    def _part(self, chunk: Chunk) -> LogPart:
        table = chunk.table
        self.batches += len(table)
        flaws = table["flaws"]
        if flaws.any():
            self._check_flaws(chunk)
            table = table[flaws == 0]
        positions = table["position"] + chunk.file_position
        part = LogPart(chunk.data, table, chunk.file_position, positions, last_offsets(table))
        if len(table):
            self.unreadable.close(int(table[0]["base_offset"]))
            last, before = table[-1], int(part.last_offsets[-2]) if len(table) > 1 else self.next_offset - 1
            fields = int(positions[-1]), int(last["base_offset"]), int(last["max_timestamp"]), before
            self._last_batch = _LastBatch(*fields)
            self._check_fields(part)
            self._check_offsets(part)
            self.position = int(positions[-1]) + int(table[-1]["size"])
        return part

    def _check_flaws(self, chunk: Chunk) -> None:
        table = chunk.table
        sound = np.flatnonzero(table["flaws"] == 0)
        for slot in np.flatnonzero(table["flaws"]):
            row, following = table[slot], int(np.searchsorted(sound, slot))
            position = chunk.file_position + int(row["position"])
            self._add(position, *flaw_of(row))
            before = int(last_offsets(table[sound[following - 1]])) + 1 if following else self.next_offset
            after = int(table[sound[following]]["base_offset"]) if following < len(sound) else None
            self.unreadable.add(position, position + int(row["size"]), before, after)

    def _check_fields(self, part: LogPart) -> None:
        table = part.table
        deltas, counts = table["last_offset_delta"].astype(np.int64), table["count"]
        wrong = (table["magic"] >= 2) & ((deltas < 0) | (counts < 0) | (counts > deltas + 1))
        for row in np.flatnonzero(wrong):
            detail = f"a batch of {counts[row]} records with last offset delta {deltas[row]}"
            self._add(int(part.positions[row]), FindingKind.INVALID_BATCH, detail)

    def _check_offsets(self, part: LogPart) -> None:
        """Compare offsets with the segment's bounds, and each batch with the one before it.

        An offset outside the bounds is not trusted: neither the order nor the end of the log is judged by it.
        """
        first, last, view = part.table["base_offset"], part.last_offsets, self._view
        # A wrapper has the offset of its last message; its first one is checked when the wrapper is decoded.
        outside = (first < view.base_offset) | (last < first) | (last - view.base_offset > INT32_MAX)
        if view.next_base_offset is not None:
            outside |= last >= view.next_base_offset
        before = np.concatenate([[self.next_offset - 1], last[:-1]])
        after_outside = np.concatenate([[self._out_of_range], outside[:-1]])
        unordered = (first <= before) & ~outside & ~after_outside
        self._out_of_range = bool(outside[-1])
        if not outside.any():
            self.next_offset = int(last[-1]) + 1
        elif not outside.all():
            self.next_offset = int(last[~outside][-1]) + 1
        if not (outside | unordered).any():
            return
        end = view.base_offset + INT32_MAX if view.next_base_offset is None else view.next_base_offset - 1
        for row in np.flatnonzero(outside):
            expected = f"expected offsets of the segment, {view.base_offset} to {end}"
            self._add(
                int(part.positions[row]), FindingKind.OFFSET_ORDER, f"offsets {first[row]} to {last[row]}, {expected}"
            )
        for row in np.flatnonzero(unordered):
            detail = f"offset {first[row]} after offset {before[row]}, expected a larger one"
            self._add(int(part.positions[row]), FindingKind.OFFSET_ORDER, detail)

    def _check_tail(self, stop: Stop, position: int, untrimmed: bool) -> None:
        """Report what follows the last batch."""
        is_zero = are_zeros(self._log, position, self.size)
        is_unused = is_zero and not self.batches
        severity = severities.of_tail(self._view, self.next_offset, are_untrimmed=untrimmed, is_unused=is_unused)
        left = self.size - position
        self.unreadable.add(position, self.size, self.next_offset)
        if is_zero:
            self._add(position, FindingKind.ZEROS, f"{count(left, 'byte')} of zeros after the last batch", severity)
        elif stop is Stop.SIZE_TOO_SMALL:
            self._add(position, FindingKind.NO_BATCH, f"{left} bytes after the last batch that are not a batch")
        else:
            what = "header" if stop is Stop.INCOMPLETE_HEADER else "batch"
            detail = f"{count(left, 'byte')} of a {what} that the end of the file cuts off"
            self._add(position, FindingKind.INCOMPLETE_BATCH, detail, severity)

    def _add(
        self, position: int | None, problem: FindingKind, detail: str, severity: Severity = Severity.PROBLEM
    ) -> None:
        self._findings.add(self._path, position, problem, detail, severity)
