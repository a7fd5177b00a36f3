"""Determines where the copy of a partition begins: at the destination's end, if the source has the same batch before
it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.errors import OctavoError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.walker import walk
from octavo.scanner.findings import ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import PartitionSnapshot
from octavo.scanner.reading.plan import plan_partition
from octavo.scanner.reading.read import sound_batches
from octavo.scanner.reading.source import Source
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog

# The fields of a batch that compaction keeps. It may remove records, which changes the size and the CRC.
_LASTING = ["base_offset", "last_offset_delta", "partition_leader_epoch", "producer_id", "producer_epoch"]


def copy_start_offset(source: PartitionSnapshot, log: PartitionLog, *, is_compacted: bool) -> int:
    """The offset from which to read the source: the log's end. An empty log that ends before the source begins is moved
    to its start. OctavoError if what the log has is not from this source, or the source now begins after it.

    If either is compacted, its last batch may have changed since it was copied, so only what compaction keeps is
    compared.
    """
    end = log.log_end_offset
    if end > source.log_end_offset:
        raise OctavoError(
            f"{log.folder}: the log ends at offset {end}, but its source {source.files.location} ends before it, at "
            f"{source.log_end_offset}; copy to another directory"
        )
    if end >= source.log_start_offset:
        keeps_records = not is_compacted and "compact" not in log.config.cleanup_policy
        _check_last_batch(source, log, [*_LASTING, "size", "crc"] if keeps_records else _LASTING)
        return end
    if log.size:
        raise OctavoError(
            f"{log.folder}: the log ends at offset {end}, but its source {source.files.location} starts after it, at "
            f"{source.log_start_offset}; copy to another directory"
        )
    log.truncate_fully(source.log_start_offset)
    return source.log_start_offset


def _check_last_batch(source: PartitionSnapshot, log: PartitionLog, fields: list[str]) -> None:
    """Raise if the log's last batch is not the source's. If either has no batch there, nothing can be compared."""
    end = log.log_end_offset
    if end <= max(log.log_start_offset, source.log_start_offset):
        return
    mine, theirs = walk(log.read(end - 1, 1, Isolation.LOG_END).read()).table, _batch_at(source, end - 1)
    if not len(mine) or theirs is None:
        return
    found = mine[:1]
    if found[fields].tolist() != theirs[fields].tolist():
        raise OctavoError(
            f"{log.folder}: the last batch, at offset {found[0]['base_offset']}, is not the one that its source "
            f"{source.files.location} has there; copy to another directory"
        )


def _batch_at(source: PartitionSnapshot, offset: int) -> NDArray[np.void] | None:
    """The sound batch that holds an offset; None if compaction or damage has removed it."""
    ignored = ScanFindings("skip")
    for task in plan_partition(source, OffsetRange(offset, offset + 1)):
        for chunk in Source(task, ignored):
            table = sound_batches(chunk, offset, offset + 1, ignored)
            holding = table[(table["base_offset"] <= offset) & (last_offsets(table) >= offset)]
            if len(holding):
                return holding[:1]
    return None
