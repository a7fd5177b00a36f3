"""The four checkpoints of a log directory: recovery points, log start offsets, high watermarks, cleaner offsets."""

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

_Offsets = Mapping[TopicPartition, int]
Logs = Mapping[TopicPartition, PartitionLog]

_log = logging.getLogger(__name__)


def read_offsets(filesystem: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """A checkpoint's offsets. A missing or damaged checkpoint counts as empty."""
    if not filesystem.exists(path):
        return {}
    try:
        return checkpoint.decode_offsets(filesystem.read_bytes(path))
    except CorruptionError as error:
        _log.warning("%s; the checkpoint counts as empty", error.at(path=str(path)))
        return {}


class OffsetCheckpoints:
    """The checkpoint files of one directory. Lines of partitions that were not opened are kept."""

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
        self._cleaner_lock = threading.Lock()  # held from reading the cleaner's checkpoint to replacing it

    def read(self) -> None:
        """Read what the last owner wrote."""
        self.recovery_points = self._read(RECOVERY_POINT_CHECKPOINT)
        self.log_start_offsets = self._read(LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = self._read(REPLICATION_OFFSET_CHECKPOINT)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Drop what was read about a partition: it describes an earlier one of the same name."""
        for offsets in (self.recovery_points, self.log_start_offsets, self.high_watermarks):
            offsets.pop(topic_partition, None)

    def write(self, logs: Logs) -> None:
        """Write all checkpoints except the cleaner's."""
        self.write_recovery_points(logs)
        self.write_log_start_offsets(logs)
        self.write_high_watermarks(logs)

    def write_recovery_points(self, logs: Logs) -> None:
        points = {topic_partition: log.recovery_point for topic_partition, log in logs.items()}
        self._write(RECOVERY_POINT_CHECKPOINT, points, self.recovery_points)

    def write_log_start_offsets(self, logs: Logs) -> None:
        """Write the log start offsets, but only for logs that start after the base offset of their first segment."""
        starts = {
            topic_partition: start
            for topic_partition, log in logs.items()
            if (start := log.log_start_offset) > log.segments.first.base_offset
        }
        self._write(LOG_START_OFFSET_CHECKPOINT, starts, self.log_start_offsets)

    def write_high_watermarks(self, logs: Logs) -> None:
        watermarks = {topic_partition: log.high_watermark for topic_partition, log in logs.items()}
        self._write(REPLICATION_OFFSET_CHECKPOINT, watermarks, self.high_watermarks)

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """The first dirty offset of each partition, which is clean up to there."""
        return self._read(CLEANER_OFFSET_CHECKPOINT)

    def write_cleaner_offset(self, topic_partition: TopicPartition, offset: int) -> None:
        """Record how far a partition is clean, and drop the lines of partitions that no longer exist."""
        with self._cleaner_lock:
            kept = {other: known for other, known in self.cleaner_offsets().items() if other in self._existing}
            self._replace(CLEANER_OFFSET_CHECKPOINT, {**kept, topic_partition: offset})

    def limit_cleaner_offset(self, topic_partition: TopicPartition, offset: int) -> None:
        """Make the cleaner start at the offset or before it."""
        with self._cleaner_lock:
            offsets = self.cleaner_offsets()
            if offsets.get(topic_partition, offset) > offset:
                self._replace(CLEANER_OFFSET_CHECKPOINT, {**offsets, topic_partition: offset})

    def forget_cleaner_offsets(self, deleted: Collection[TopicPartition]) -> None:
        """Drop the cleaner's lines for deleted partitions."""
        with self._cleaner_lock:
            offsets = self.cleaner_offsets()
            kept = {
                topic_partition: offset for topic_partition, offset in offsets.items() if topic_partition not in deleted
            }
            if len(kept) < len(offsets):
                self._replace(CLEANER_OFFSET_CHECKPOINT, kept)

    def _read(self, name: str) -> dict[TopicPartition, int]:
        return read_offsets(self._files, self._root / name)

    def _write(self, name: str, offsets: _Offsets, read: _Offsets) -> None:
        others = {partition: offset for partition, offset in read.items() if not self._is_opened(partition)}
        self._replace(name, {**others, **offsets})

    def _replace(self, name: str, offsets: _Offsets) -> None:
        replace_file(self._files, self._root / name, checkpoint.encode_offsets(offsets))
