"""A writer to two partitions, for tests: it stages numbered values and publishes them batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from octavo.config import Given
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.batch_run import BatchEncoder, BatchSettings, RunFacts
from octavo.format.batches.row_columns import from_records
from octavo.format.batches.walker import walk
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.storage.environment import Environment
from octavo.storage.log.read import Isolation
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.publish import Publisher
from octavo.storage.staging.commit import CommitRequest, CommitStep, OnStep
from octavo.storage.staging.stage import Stage, StagedPart, StagingPlace
from octavo.storage.staging.sweep import all_folders
from octavo.system.clock import ManualClock
from octavo.system.filesystem import FileSystem
from tests.storage.worlds import NOW_MS, ManualScheduler, Stopped

WRITER = "query 1"


class Scene:
    """Log directories on a filesystem, a topic with two partitions and small segments, and a writer."""

    def __init__(self, *roots: Path, filesystem: FileSystem, segment_bytes: int = 2000, batch_size: int = 400) -> None:
        self.roots = roots
        self.root = roots[0]
        self.filesystem = filesystem
        self.segment_bytes = segment_bytes
        self.clock = ManualClock(NOW_MS)
        self.settings = BatchSettings(batch_size)
        self.publisher = Publisher(roots=roots, environment=self.environment, pause=lambda seconds: None)
        self.attempts = 0

    def environment(self) -> Environment:
        return Environment(ManualScheduler(self.clock), self.clock, self.filesystem)

    def create(self, partitions: int = 2, *, index_bytes: int = 240) -> None:
        with LogManager(self.roots, environment=self.environment()) as log_dir:
            configs = {"segment.bytes": self.segment_bytes, "segment.index.bytes": index_bytes}
            log_dir.create_topic("t", partitions, configs)

    def stage(
        self, values: dict[int, list[bytes]], *, writer: str = WRITER, topic: str = "t", timestamp: int = NOW_MS
    ) -> list[StagedPart]:
        """Stage values by partition, as one task does."""
        self.attempts += 1
        stage = Stage(self.filesystem, writer, f"{self.attempts:032x}")
        for partition, some in values.items():
            name = TopicPartition(topic, partition)
            folders = [root / str(name) for root in self.roots]
            folder = next(filter(self.filesystem.exists, folders), folders[0])
            stage.append(StagingPlace(name, folder, self.segment_bytes), *self.encode(some, timestamp))
        return stage.finish()

    def encode(self, values: list[bytes], timestamp: int = NOW_MS) -> tuple[memoryview, RunFacts]:
        columns = from_records([Record(0, timestamp, b"k", value) for value in values])
        columns.timestamp = np.full(len(values), timestamp)
        return BatchEncoder().encode_runs(columns, None, np.full(1, columns.rows), self.settings)[0]

    def publish(
        self,
        batch_id: int | None,
        staged: list[StagedPart],
        on_step: OnStep | None = None,
        topic_configs: Mapping[str, Given] | None = None,
    ) -> bool:
        return self.publisher.publish(CommitRequest(WRITER, batch_id, staged, topic_configs or {}), on_step)

    def values(self) -> dict[int, list[bytes]]:
        """What each partition holds, after finishing what a crash interrupted; checks that offsets have no gaps."""
        with LogManager(self.roots, environment=self.environment()) as log_dir:
            return {partition: read_values(log_dir.log("t", partition)) for partition in log_dir.topics.get("t", [])}

    def staged_files(self) -> list[str]:
        folders = all_folders(self.filesystem, self.roots)
        return [name for folder in folders for name in self.filesystem.names(folder) if name.endswith(".staged")]


def read_values(log: PartitionLog) -> list[bytes]:
    found: list[Record] = []
    while len(found) < log.log_end_offset:
        data = log.read(len(found), 1 << 20, Isolation.LOG_END).read()
        for row in walk(data).table:
            found += decode_batch(data, int(row["position"]))[1]
    assert [record.offset for record in found] == list(range(log.log_end_offset))
    return [record.value or b"" for record in found]


def batch_values(batch_id: int, records: int = 6, size: int = 90) -> dict[int, list[bytes]]:
    """Values for two partitions, different from those of all other batches."""
    return {p: [b"%d-%d-%d " % (batch_id, p, n) + bytes(size) for n in range(records)] for p in range(2)}


class StopAt:
    """Ends the commit at a step, after that step has passed `time` times."""

    def __init__(self, step: CommitStep, time: int = 0) -> None:
        self._left = [step] * (time + 1)

    def __call__(self, step: CommitStep) -> None:
        if step is self._left[0]:
            self._left.pop()
            if not self._left:
                raise Stopped
