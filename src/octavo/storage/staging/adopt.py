"""Turns a large staged file into a segment, instead of copying it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.errors import StagedFileLostError
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import broken
from octavo.format.names import FileKind, SegmentFile
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import MAGIC_POSITION
from octavo.storage.log.roll import roll
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.log_file import LogFile
from octavo.storage.segment.segment import Segment

_LEAST_BYTES = 1 << 20

Run: TypeAlias = tuple[int, NDArray[np.void]]  # a position in a file, and the batches from there on


def is_adoptable(log: PartitionLog, path: Path, size: int, records: int) -> bool:
    """Whether a file may become a segment instead of being copied: its batches need only offsets, and it is large.

    Small files would make many small segments. If the active segment is empty, a smaller file will do: it takes that
    segment's place and continues to grow.
    """
    config, active = log.config, log.segments.active
    is_near = path.parent in (log.folder, log.folder.parent)  # in the same file system, so that renaming works
    is_large = config.segment_bytes <= 2 * size or (active.size == 0 and size >= _LEAST_BYTES)
    keeps_time = config.message_timestamp_type == "CreateTime"
    return is_near and is_large and keeps_time and size <= config.segment_bytes and records <= INT32_MAX


def adopt(log: PartitionLog, staged: LogFile, leader_epoch: int) -> None:
    """Turn a staged file into the log's active segment, starting at the log's end.

    1. Write offsets and leader epoch into the batches' headers, in the staged file. 2. Sync it. 3. Roll, unless the
    active segment is empty. 4. Rename the file to the empty segment's name. 5. Build its indexes and move the log's
    end. A crash before 4 leaves a staged file and perhaps an empty segment. A crash after 4 leaves a segment without
    indexes, which recovery builds.
    """
    with log.changing("adopt a staged file"):
        filesystem = log.environment.filesystem
        first_offset = log.log_end_offset
        end_offset, runs = _stamp(staged, first_offset, leader_epoch)
        if log.segments.active.size or log.segments.active.base_offset != first_offset:
            roll(log, first_offset)
        empty = log.segments.active
        empty.files.release()
        filesystem.rename(staged.path, log.folder / SegmentFile(first_offset, FileKind.LOG).name)
        if leader_epoch >= 0:
            log.epochs.assign(leader_epoch, first_offset)
        segment = Segment(log.folder, first_offset, log.config, filesystem, log.environment.clock)
        for position, table in runs:
            segment.index(table, position)
        log.segments.add(segment)
        log.set_log_end(end_offset)
        log.producers.map_end_offset = end_offset
        log.update_high_watermark(end_offset)


def _stamp(staged: LogFile, first_offset: int, leader_epoch: int) -> tuple[int, list[Run]]:
    """Assign offsets to the batches; returns the next offset, and the batches."""
    runs: list[Run] = []
    next_offset = first_offset
    for chunk in staged.chunks():
        check_whole(chunk, staged)
        table = chunk.table
        next_offset = kernels.stamp_batches(chunk.data, table, next_offset, leader_epoch, False, None)
        for position in table["position"].tolist():
            # The CRC does not cover the changed fields.
            staged.file.pwrite(chunk.data[position : position + MAGIC_POSITION], chunk.file_position + position)
        runs.append((chunk.file_position, table.copy()))
    staged.fsync()
    return next_offset, runs


def check_whole(chunk: Chunk, staged: LogFile) -> None:
    """Refuse a staged file that has a damaged batch, or that does not end with a whole one."""
    damaged = np.flatnonzero(broken(chunk.table))
    if len(damaged):
        at = chunk.file_position + int(chunk.table["position"][damaged[0]])
        raise StagedFileLostError(f"{staged.path}: a damaged batch at position {at}")
    if chunk.stop is not None and chunk.stop_position != staged.size:
        raise StagedFileLostError(f"{staged.path}: no whole batch at position {chunk.stop_position}")
