"""Rewrites a group of segments as one, next to the old ones."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from octavo.format.batches.batch_summary import last_offsets
from octavo.storage.cleaner.filter import ChunkFilter
from octavo.storage.cleaner.map_keys import GroupTask, aborted_in, ignore_bytes
from octavo.storage.cleaner.verdicts import verdicts
from octavo.storage.rewriting.cleaned_segments import create_cleaned, finish_cleaned, remove_cleaned
from octavo.storage.rewriting.source import OnBytes, SourceSegment, located, read_chunks
from octavo.storage.segment.segment import Segment
from octavo.system.filesystem import FileSystem, LocalFileSystem


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """The new segment of a group: the `.cleaned` files of its base offset."""

    base_offset: int
    segments: tuple[SourceSegment, ...]  # the old ones
    size: int
    records_read: int
    records_kept: int
    records_without_key: int

    @property
    def old_size(self) -> int:
        return sum(segment.size for segment in self.segments)


def clean_group(
    task: GroupTask, filesystem: FileSystem | None = None, on_bytes: OnBytes = ignore_bytes
) -> CleanedGroup:
    """Write what remains of the group's batches into a new segment.

    1. Remove leftovers of an earlier run. 2. Create the `.cleaned` files. 3. Append what remains, segment by segment.
    4. Write the transaction index and the closing time index entry, trim and sync. 5. Give the log file and its indexes
    the modification time of the last old segment, by which tombstones of magic 0 and 1 are judged. If a step from 3 on
    fails, the files are removed again.
    """
    filesystem, plan = filesystem or LocalFileSystem(), task.plan
    new = create_cleaned(filesystem, plan.folder, task.base_offset, plan.config)
    try:
        counts = _fill(new, task, filesystem, on_bytes)
        finish_cleaned(new, filesystem, task.segments[-1].mtime_ms)
    except BaseException:
        new.files.release()
        remove_cleaned(filesystem, plan.folder, [task.base_offset])
        raise
    return CleanedGroup(task.base_offset, task.segments, new.size, *counts)


def _fill(new: Segment, task: GroupTask, filesystem: FileSystem, on_bytes: OnBytes) -> list[int]:
    """Append what remains; returns the counts of the filter."""
    plan, transactions = task.plan, copy.deepcopy(task.transactions)
    chunks = ChunkFilter(task.offset_map.table, plan.now_ms, plan.delete_horizon_ms)
    for place, segment in enumerate(task.segments):
        transactions.add_aborted(aborted_in(plan, task.segments, place, filesystem))
        path, keeps_old = segment.path(plan.folder), segment.mtime_ms > plan.legacy_horizon_ms
        for chunk in read_chunks(filesystem, path, segment.size, check_crc=True):
            on_bytes(chunk.stop_position - chunk.file_position)
            with located(path, chunk):
                judged = verdicts(plan, transactions, chunk)
                data, table = chunks.filter(chunk, judged, keeps_legacy_tombstones=keeps_old)
            if len(table):
                new.append(int(last_offsets(table[-1:])[0]), data, table)
                on_bytes(len(data))
    for aborted in transactions.retained:
        new.files.txn_index.append(aborted)
    return chunks.counts
