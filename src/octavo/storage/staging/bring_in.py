"""Brings the staged files of one partition into its log, from the start or from where a crash interrupted it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
    or an adopted segment. Nothing is cut off, so readers never see records that disappear again.
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
    """The offset up to which what the log has from the part's start offset on is known to be the part's own."""
    offset = part.start_offset
    for file in part.files:
        path = find(log.environment.filesystem, file.name, [log.folder, *roots])
        if path is None:
            if not _is_adopted(log, file, offset):
                return offset
            offset += file.records
            continue
        for chunk in LogFile(log.environment.filesystem, path).chunks(check_crc=False):
            there = _count_there(log, chunk, offset)
            offset += int(chunk.table["count"][:there].sum(dtype=np.int64))
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
            first = _count_there(log, chunk, offset)
            offset += int(chunk.table["count"][:first].sum(dtype=np.int64))
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


def _count_there(log: PartitionLog, chunk: Chunk, offset: int) -> int:
    """How many of a chunk's batches the log already has from the offset on.

    Their records are compared, and of their headers only the base offset and the count.
    """
    found = 0
    for row in chunk.table:
        position, size, count = int(row["position"]), int(row["size"]), int(row["count"])
        if offset >= log.log_end_offset:
            break
        if offset < log.log_start_offset:  # a broker that ran in between has deleted it
            found, offset = found + 1, offset + count
            continue
        data = log.read(offset, size, Isolation.LOG_END).read()
        mine = chunk.data[position + BATCH_OVERHEAD : position + size]
        if len(data) < size or not _begins_at(walk(data[:size], check_crc=False).table, offset, count):
            break
        if memoryview(data)[BATCH_OVERHEAD:size] != mine:
            break
        found, offset = found + 1, offset + count
    return found


def _begins_at(table: NDArray[np.void], offset: int, count: int) -> bool:
    return len(table) == 1 and table["base_offset"][0] == offset and table["count"][0] == count


def _is_adopted(log: PartitionLog, file: PendingFile, offset: int) -> bool:
    """Whether the segment at the offset begins with as many bytes and records as the file had."""
    segment = log.segments.floor(offset)
    if segment is None or segment.base_offset != offset or segment.size < file.size:
        return False
    following = segment.find_batch(offset + file.records)
    return (segment.size if following is None else following.position) == file.size
