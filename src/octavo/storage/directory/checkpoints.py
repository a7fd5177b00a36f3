"""The four offset checkpoints of a log dir: recovery points, log start offsets, high watermarks, cleaner offsets."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Set
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.names import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
)
from octavo.format.small_files import checkpoint
from octavo.storage.files.small_file import replace_file
from octavo.storage.partition_log import PartitionLog
from octavo.system.filesystem import FileSystem

Offsets = Mapping[TopicPartition, int]
Logs = Mapping[TopicPartition, PartitionLog]

_log = logging.getLogger(__name__)


def read_offsets(filesystem: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """A checkpoint's offsets. As in Kafka, one that is missing or unreadable is empty: recovery takes longer then."""
    if not filesystem.exists(path):
        return {}
    try:
        return checkpoint.decode_offsets(filesystem.read_bytes(path))
    except CorruptionError as error:
        _log.warning("%s", error.at(path=str(path)))
        return {}


class OffsetCheckpoints:
    """The checkpoint files of one directory. The lines of partitions that are not open are kept."""

    def __init__(
        self,
        filesystem: FileSystem,
        root: Path,
        existing: Set[TopicPartition],
        is_opened: Callable[[TopicPartition], bool],
    ) -> None:
        self.recovery_points: dict[TopicPartition, int] = {}
        self.log_start_offsets: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self._files = filesystem
        self._root = root
        self._existing = existing
        self._is_opened = is_opened
        self._cleaner_lock = threading.Lock()  # the cleaner's checkpoint is changed line by line

    def read(self) -> None:
        """Read what the last owner wrote."""
        self.recovery_points = self._read(RECOVERY_POINT_CHECKPOINT)
        self.log_start_offsets = self._read(LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = self._read(REPLICATION_OFFSET_CHECKPOINT)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Drop what was read about a partition: it is about an earlier one of that name."""
        for offsets in (self.recovery_points, self.log_start_offsets, self.high_watermarks):
            offsets.pop(topic_partition, None)

    def write(self, logs: Logs) -> None:
        """Write the three checkpoints that say where logs begin and end."""
        self.write_recovery_points(logs)
        self.write_log_start_offsets(logs)
        self.write_high_watermarks(logs)

    def write_recovery_points(self, logs: Logs) -> None:
        points = {name: log.recovery_point for name, log in logs.items()}
        self._write(RECOVERY_POINT_CHECKPOINT, points, self.recovery_points)

    def write_log_start_offsets(self, logs: Logs) -> None:
        """Write where logs start, but only those that start inside a segment."""
        starts = {name: log.log_start_offset for name, log in logs.items()}
        starts = {name: start for name, start in starts.items() if start > logs[name].segments.first.base_offset}
        self._write(LOG_START_OFFSET_CHECKPOINT, starts, self.log_start_offsets)

    def write_high_watermarks(self, logs: Logs) -> None:
        watermarks = {name: log.high_watermark for name, log in logs.items()}
        self._write(REPLICATION_OFFSET_CHECKPOINT, watermarks, self.high_watermarks)

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """The offset up to which each partition is clean."""
        return self._read(CLEANER_OFFSET_CHECKPOINT)

    def write_cleaner_offset(self, topic_partition: TopicPartition, offset: int) -> None:
        """Note up to where a partition is clean; lines of partitions that no longer exist are dropped."""
        with self._cleaner_lock:
            kept = {other: known for other, known in self.cleaner_offsets().items() if other in self._existing}
            self._replace(CLEANER_OFFSET_CHECKPOINT, {**kept, topic_partition: offset})

    def limit_cleaner_offset(self, topic_partition: TopicPartition, offset: int) -> None:
        """Let the cleaner begin at the offset or before it."""
        with self._cleaner_lock:
            offsets = self.cleaner_offsets()
            if offsets.get(topic_partition, offset) > offset:
                self._replace(CLEANER_OFFSET_CHECKPOINT, {**offsets, topic_partition: offset})

    def forget_cleaner_offsets(self, deleted: Collection[TopicPartition]) -> None:
        """Drop the cleaner's lines of partitions that were deleted."""
        with self._cleaner_lock:
            offsets = self.cleaner_offsets()
            kept = {name: offset for name, offset in offsets.items() if name not in deleted}
            if len(kept) < len(offsets):
                self._replace(CLEANER_OFFSET_CHECKPOINT, kept)

    def _read(self, name: str) -> dict[TopicPartition, int]:
        return read_offsets(self._files, self._root / name)

    def _write(self, name: str, offsets: Offsets, read: Offsets) -> None:
        others = {partition: offset for partition, offset in read.items() if not self._is_opened(partition)}
        self._replace(name, {**others, **offsets})

    def _replace(self, name: str, offsets: Offsets) -> None:
        replace_file(self._files, self._root / name, checkpoint.encode_offsets(offsets))
