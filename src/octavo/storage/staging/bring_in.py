"""Brings the staged files of one partition into its log, from the start or from where a crash interrupted it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from octavo.errors import StagedFileLostError
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.walker import walk
from octavo.format.small_files.commit_store import PendingFile, PendingPart
from octavo.kernels.layout import BATCH_OVERHEAD
from octavo.storage.append.append import set_bytes
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.log_file import LogFile
from octavo.storage.staging.adopt import adopt, check_whole, is_adoptable
from octavo.system.filesystem import FileSystem


def bring_in(log: PartitionLog, part: PendingPart, roots: Sequence[Path]) -> None:
    """Append the part of the files that the log does not have yet, in order.

    What the log already has begins at the part's start offset: a crash may have left any number of whole batches there,
    or an adopted segment. Nothing is cut off here, since readers may have seen it.
    """
    offset = part.start_offset
    log.segments.active.resume_index()  # with one micro-batch per second the log is opened every second
    for file in part.files:
        path = find(log.environment.filesystem, file.name, [log.folder, *roots])
        if path is None:
            if not _is_adopted(log, file, offset):
                raise StagedFileLostError(f"{log.folder / file.name}: no such file, expected {file.size} staged bytes")
        else:
            _bring_in_file(log, file, path, offset)
        offset += file.records


def own_end(log: PartitionLog, part: PendingPart, roots: Sequence[Path]) -> int:
    """Up to which offset the log's records, from the part's start offset on, are known to be the part's own."""
    offset = part.start_offset
    for file in part.files:
        path = find(log.environment.filesystem, file.name, [log.folder, *roots])
        if path is None:
            if not _is_adopted(log, file, offset):
                return offset
            offset += file.records
            continue
        for chunk in LogFile(log.environment.filesystem, path).chunks(check_crc=False):
            there, offset = _already_there(log, chunk, offset)
            if there < len(chunk.table):
                return offset
    return offset


def find(filesystem: FileSystem, name: str, folders: Sequence[Path]) -> Path | None:
    """Where a staged file is: in its partition's folder, or in the root if the topic was made later."""
    places = (folder / name for folder in folders)
    return next((path for path in places if filesystem.exists(path)), None)


def _bring_in_file(log: PartitionLog, file: PendingFile, path: Path, offset: int) -> None:
    leader_epoch = log.leader_epoch
    is_new = log.log_end_offset <= offset
    staged = LogFile(log.environment.filesystem, path)
    if staged.size != file.size:
        raise StagedFileLostError(f"{path}: {staged.size} bytes, expected {file.size}")
    if is_new and is_adoptable(log, path, file.size, file.records):
        adopt(log, staged, leader_epoch)
        return
    limit = set_bytes(log.config)
    there = not is_new
    for chunk in staged.chunks(check_crc=not is_new):
        check_whole(chunk, staged)
        first = 0
        if there:
            first, offset = _already_there(log, chunk, offset)
            there = first == len(chunk.table)
        for data in sets(chunk, first, limit):
            log.append_as_leader(data, leader_epoch=leader_epoch, trusted=True)
        # The append then reuses memory that is already mapped: fresh pages cost five times as much as the copy
        # (measured).
        staged.file.let_go(chunk.stop_position)


def sets(chunk: Chunk, first: int, limit: int) -> Iterator[memoryview]:
    """A chunk's batches from the given row on, in sets of at most `limit` bytes; a larger batch is a set of its own."""
    table = chunk.table[first:]
    ends = (table["position"] + table["size"]).tolist()
    starts = table["position"].tolist()
    row = 0
    while row < len(ends):
        last = max(int(np.searchsorted(ends, starts[row] + limit, side="right")) - 1, row)
        yield chunk.data[starts[row] : ends[last]]
        row = last + 1


def _already_there(log: PartitionLog, chunk: Chunk, offset: int) -> tuple[int, int]:
    """How many of a chunk's batches the log already has from the offset on, and the offset after them.

    Their records are compared, and of their headers only the base offset and the count.
    """
    for there, row in enumerate(chunk.table):
        position, size, count = int(row["position"]), int(row["size"]), int(row["count"])
        if offset >= log.log_end_offset:
            return there, offset
        if offset >= log.log_start_offset:  # otherwise a broker that ran in between has deleted it
            data = log.read(offset, size, Isolation.LOG_END).read()
            found = walk(data[:size], check_crc=False).table
            if len(data) < size or found[["base_offset", "count"]].tolist() != [(offset, count)]:
                return there, offset
            if memoryview(data)[BATCH_OVERHEAD:size] != chunk.data[position + BATCH_OVERHEAD : position + size]:
                return there, offset
        offset += count
    return len(chunk.table), offset


def _is_adopted(log: PartitionLog, file: PendingFile, offset: int) -> bool:
    """Whether the segment at the offset begins with as many bytes and records as the file had."""
    segment = log.segments.floor(offset)
    if segment is None or segment.base_offset != offset or segment.size < file.size:
        return False
    following = segment.find_batch(offset + file.records)
    return (segment.size if following is None else following.position) == file.size
