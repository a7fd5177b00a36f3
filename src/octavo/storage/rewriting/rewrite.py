"""Rewrites a segment as v2 or with another codec, next to the old one: the same records at the same offsets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from octavo.config import LogConfig
from octavo.format.batches.batch_summary import last_offset
from octavo.format.batches.recode import Recoder
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.rewriting.cleaned_segments import create_cleaned, finish_cleaned, remove_cleaned
from octavo.storage.rewriting.source import SourceSegment, located, read_chunks
from octavo.storage.segment.segment import Segment
from octavo.system.filesystem import FileSystem, LocalFileSystem


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """Rewrite one segment. Picklable."""

    folder: Path
    config: LogConfig
    segment: SourceSegment
    aborted: tuple[AbortedTxn, ...]
    codec: Codec | None  # None: batches keep their own

    @property
    def size(self) -> int:
        return self.segment.size


@dataclass(frozen=True, slots=True)
class Rewritten:
    """How a segment was rewritten; if nothing had to change, `base_offsets` is empty and the segment stays as it is."""

    segment: SourceSegment
    base_offsets: tuple[int, ...]  # of the segments that replace it, first as `.cleaned` files
    size: int  # in bytes
    changed_batches: int


def rewrite_segment(task: RewriteTask, filesystem: FileSystem | None = None) -> Rewritten:
    """Rewrite the segment if any of its batches has to change.

    1. Remove leftovers of an earlier run. 2. Append the batches to the `.cleaned` files of a new segment, and begin
    another one before segment.bytes is exceeded. 3. Write the transaction indexes and the closing time index entries,
    trim and sync. 4. Give log files and indexes the modification time of the old segment. If any of this fails, the
    files are removed again.
    """
    filesystem, recoder = filesystem or LocalFileSystem(), Recoder(task.codec)
    path = task.segment.path(task.folder)
    changed = sum(
        int(recoder.changes(chunk.table).sum()) for chunk in read_chunks(filesystem, path, task.size, check_crc=True)
    )
    if not changed:
        return Rewritten(task.segment, (), task.size, 0)
    writer = _Writer(task, filesystem)
    try:
        for chunk in read_chunks(filesystem, path, task.size):
            with located(path, chunk):
                writer.append(b"".join(recoder.recode(chunk.data, chunk.table)))
        writer.finish()
    except BaseException:
        for segment in writer.segments:
            segment.files.release()
        remove_cleaned(filesystem, task.folder, [segment.base_offset for segment in writer.segments])
        raise
    bases = tuple(segment.base_offset for segment in writer.segments)
    return Rewritten(task.segment, bases, sum(segment.size for segment in writer.segments), changed)


class _Writer:
    """Appends batches to one new segment after another."""

    def __init__(self, task: RewriteTask, filesystem: FileSystem) -> None:
        self._task = task
        self._filesystem = filesystem
        self.segments: list[Segment] = []
        self._begin(task.segment.base_offset)

    def append(self, data: bytes) -> None:
        """Append batches, with one write for all that go into the same segment."""
        table, first = walk(data, check_crc=False).table, 0
        ends = table["position"].astype(np.int64) + table["size"]
        while first < len(table):
            active, start = self.segments[-1], int(table[first]["position"])
            room = self._task.config.segment_bytes - active.size
            end = int(np.searchsorted(ends, start + room, side="right"))
            if end <= first and active.size:
                self._begin(int(table[first]["base_offset"]))
                continue
            end = max(end, first + 1)  # a batch larger than a segment gets its own segment
            rows = table[first:end].copy()
            rows["position"] -= start
            active.append(last_offset(rows[-1]), memoryview(data)[start : int(ends[end - 1])], rows)
            first = end

    def finish(self) -> None:
        ends = [*(segment.base_offset for segment in self.segments[1:]), None]
        for segment, end in zip(self.segments, ends, strict=True):
            for aborted in self._task.aborted:
                if aborted.last_offset >= segment.base_offset and (end is None or aborted.last_offset < end):
                    segment.files.txn_index.append(aborted)
            finish_cleaned(segment, self._filesystem, self._task.segment.mtime_ms)

    def _begin(self, base_offset: int) -> None:
        folder, config = self._task.folder, self._task.config
        self.segments.append(create_cleaned(self._filesystem, folder, base_offset, config))
