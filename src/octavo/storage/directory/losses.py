"""What opening a log took out of it, for its owner to read: torn tails that were cut, segments that were dropped."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from octavo.format.names import FileKind, PartitionFolder, SegmentFile, TopicPartition
from octavo.storage.partition_log import PartitionLog


class Loss(NamedTuple):
    """Bytes that a log had on the disk and does not have any more."""

    topic_partition: TopicPartition
    path: Path  # the segment's log file
    position: int  # from there on; 0 for a whole segment
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.bytes} bytes cut at position {self.position}: {self.reason}"


def losses(log: PartitionLog) -> list[Loss]:
    """What was cut and what was dropped, in the order of the log."""
    name = PartitionFolder.parse(log.folder.name).topic_partition
    cut = [
        Loss(name, _path(log, segment.base_offset), segment.size, segment.bytes_cut, str(segment.problem))
        for segment in log.recovered
        if segment.bytes_cut
    ]
    dropped = [Loss(name, _path(log, gone.base_offset), 0, gone.size, gone.reason) for gone in log.dropped]
    return cut + dropped


def _path(log: PartitionLog, base_offset: int) -> Path:
    return log.folder / SegmentFile(base_offset, FileKind.LOG).name
