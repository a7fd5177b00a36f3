"""Partitions copied batch by batch, as a follower takes them from its leader: offsets and bytes stay as they are.

The reading side may be in use, or damaged: what cannot be read is passed over and told. A destination that has the
first part of a partition goes on at its end (`copy_start`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from octavo.config import Given
from octavo.errors import CorruptionError, CorruptRecordError, UnexpectedAppendOffsetError
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.names import TopicPartition
from octavo.jobs.append_run import run_length
from octavo.jobs.copy_start import begin
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import PartitionSnapshot, take_snapshot
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import plan_partition
from octavo.scanner.reading.read import sound_batches
from octavo.scanner.reading.source import Source
from octavo.storage.log.shorten import advance_log_start
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.runner import Progress


@dataclass(frozen=True, slots=True)
class CopyTask:
    """A partition as it is now: what is appended to it later is not copied."""

    snapshot: PartitionSnapshot
    topic_id: bytes | None
    is_compacted: bool  # as far as is known

    @property
    def topic_partition(self) -> TopicPartition:
        return self.snapshot.topic_partition

    @property
    def size(self) -> int:
        return sum(segment.log.size for segment in self.snapshot.segments)


@dataclass(slots=True)
class Copied:
    """What became of a partition."""

    start_offset: int  # where the copying began
    batches: int = 0
    size: int = 0
    damage_count: int = 0
    notes: list[Note] = field(default_factory=list)


def plan(partitions: Iterable[PartitionFiles], configs: TopicConfigs | None = None) -> list[CopyTask]:
    """A task a partition. `configs` are those of the source, where something is known of them."""
    tasks = []
    for files in partitions:
        snapshot = take_snapshot(files)
        try:
            topic_id = snapshot.files.topic_id()
        except CorruptionError:
            topic_id = None
        topic = snapshot.topic_partition.topic
        is_compacted = configs is not None and "compact" in configs.of(topic).cleanup_policy
        tasks.append(CopyTask(snapshot, topic_id, is_compacted))
    return tasks


def prepare(logs: LogManager, topic: str, tasks: Sequence[CopyTask], configs: Mapping[str, Given]) -> None:
    """Make the topic in the destination, with the source's id and partition numbers, or what it lacks of them.

    A topic that is there keeps its configs, but for those that are given. One with another id is refused.
    """
    numbers = [task.topic_partition.partition for task in tasks]
    topic_id = next((task.topic_id for task in tasks if task.topic_id is not None), None)
    if topic not in logs.topics:
        logs.create_topic(topic, numbers, configs, topic_id)
        return
    if topic_id is not None:
        for partition in logs.topics[topic]:
            logs.log(topic, partition).check_topic_id(topic_id)
    if configs:
        logs.alter_configs(topic, configs)
    if not set(numbers) <= set(logs.topics[topic]):
        logs.create_partitions(topic, numbers)


def run(task: CopyTask, log: PartitionLog, progress: Progress, is_ending: Callable[[], bool] = lambda: False) -> Copied:
    """Append the partition's batches to a log, as if one after the other, and let it start where the source does.

    `progress` is told how many bytes were read; where `is_ending` says so, the rest is left to another time.
    """
    source, findings = task.snapshot, ScanFindings("skip")
    findings.take(source.notes)
    if source.failure is not None:
        findings.unreadable(source.files.location, source.failure)
    start = begin(source, log, is_compacted=task.is_compacted)
    copied = Copied(start)
    offsets = OffsetRange(start, source.log_end_offset)
    for part in plan_partition(source, offsets, None, ()):
        for chunk in Source(part, findings):
            if is_ending():
                break
            _append(chunk, log, part.end_offset, findings, copied)
            progress(int(chunk.table["size"].sum(dtype=np.int64)))
    advance_log_start(log, min(source.log_start_offset, log.log_end_offset))
    copied.damage_count, copied.notes = findings.damage_count, findings.notes
    return copied


def _append(chunk: Chunk, log: PartitionLog, end: int, findings: ScanFindings, copied: Copied) -> None:
    start, data = log.log_end_offset, memoryview(chunk.data)
    sound = sound_batches(chunk, start, end, findings)
    left = sound[(last_offsets(sound) >= start) & (sound["base_offset"] < end)]
    while len(left):
        count = run_length(log, left)
        position, stop = int(left[0]["position"]), int(left[count - 1]["position"] + left[count - 1]["size"])
        try:
            _append_batches(data[position:stop], int(left[0]["base_offset"]), log)
            copied.batches += count
            copied.size += stop - position
        except UnexpectedAppendOffsetError as error:
            place = chunk.file_position + position
            findings.damage(CorruptRecordError(str(error), position=place, path=chunk.path))
        left = left[count:]


def _append_batches(data: memoryview, base_offset: int, log: PartitionLog) -> None:
    try:
        log.append_as_follower(data)
    except UnexpectedAppendOffsetError as error:
        if log.size or error.last_offset < error.log_end_offset:
            raise
        # The source starts in the middle of its first batch: a follower's log begins with that batch.
        log.truncate_fully(base_offset)
        log.append_as_follower(data)
