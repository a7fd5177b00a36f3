"""What a client can read of each partition: exact counts of batches, records and bytes from the log start offset on.

Batches are counted by their headers, once their CRC is found good. Only those that reach beyond the bounds, and the
compressed wrappers of old formats, whose header has no count, are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError, ScanError
from octavo.format import kafka_uuid
from octavo.format.decoder import Decoder
from octavo.format.names import TopicPartition
from octavo.jobs.runner import Outcome, Progress, Runner
from octavo.kernels.layout import CODEC_MASK, CONTROL, NO_TIMESTAMP, Column
from octavo.scan.bounds import OffsetRange
from octavo.scan.files import PartitionFiles
from octavo.scan.findings import Findings
from octavo.scan.notes import Note
from octavo.scan.partition import PartitionSnapshot, look_at, retrying
from octavo.scan.plan import ReadTask, plan_partition
from octavo.scan.read import sound_batches
from octavo.scan.rows import AbortedRanges, delivered
from octavo.scan.segment_log import last_offsets
from octavo.scan.source import Source, SourceChunk

SPLIT_BYTES = 64 << 20
_NONE_ABORTED = AbortedRanges(())


@dataclass(slots=True)
class Tally:
    """The counts of one task, or of a whole partition."""

    batches: int = 0
    records: int = 0
    size: int = 0
    first_timestamp: int | None = None
    max_timestamp: int = NO_TIMESTAMP
    magics: set[int] = field(default_factory=set)
    codecs: set[int] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    damages: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of what comes behind."""
        self.batches += other.batches
        self.records += other.records
        self.size += other.size
        self.first_timestamp = other.first_timestamp if self.first_timestamp is None else self.first_timestamp
        self.max_timestamp = max(self.max_timestamp, other.max_timestamp)
        self.magics |= other.magics
        self.codecs |= other.codecs
        self.notes += other.notes
        self.damages += other.damages


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """A partition's row."""

    topic_partition: TopicPartition
    topic_id: str | None
    segments: int
    log_start_offset: int
    log_end_offset: int
    tally: Tally


class PartitionPlan(NamedTuple):
    """A partition's tasks, and what is known of it without reading its batches."""

    snapshot: PartitionSnapshot
    topic_id: str | None
    tasks: list[ReadTask]
    notes: list[Note]


def plan(
    partitions: Iterable[PartitionFiles], split_bytes: int = SPLIT_BYTES, findings: Findings | None = None
) -> list[PartitionPlan]:
    """The tasks of each partition, of about `split_bytes`. Of one that cannot be read the findings are told."""
    findings = findings or Findings()
    plans: list[PartitionPlan] = []
    for files in partitions:
        try:
            plans.append(retrying(files, lambda listed: _plan(listed, split_bytes)))
        except ScanError:
            continue  # deleted since it was listed
        except OSError as error:
            findings.unreadable(files.location, error)
    return plans


def _plan(files: PartitionFiles, split_bytes: int) -> PartitionPlan:
    snapshot = look_at(files)
    notes = list(snapshot.notes)
    offsets = OffsetRange(snapshot.log_start_offset, snapshot.log_end_offset)
    try:
        topic_id = files.topic_id()
    except CorruptionError as error:
        notes.append(Note(error.path or "", f"not read: {error.problem}"))
        topic_id = None
    shown = None if topic_id is None else kafka_uuid.to_text(topic_id)
    return PartitionPlan(snapshot, shown, plan_partition(snapshot, offsets, None, (), split_bytes), notes)


def run(task: ReadTask) -> Tally:
    """Count the batches and records of a task."""
    findings = Findings("skip")
    counter = _Counter(task, findings)
    source = Source(task, findings)
    for found in source:
        counter.take(found, source.next_offset)
    counter.tally.notes = findings.notes
    counter.tally.damages = findings.damages
    return counter.tally


def commit(
    plans: Sequence[PartitionPlan], outcomes: Iterable[Outcome[ReadTask, Tally]]
) -> Iterator[PartitionCount | Note]:
    """A row a partition, as soon as its tasks are done; of one that went away meanwhile, a note."""
    done = iter(outcomes)
    for planned in plans:
        finished = [next(done) for _ in planned.tasks]
        tally = Tally(notes=list(planned.notes))
        try:
            for outcome in finished:
                tally.add(outcome.get())
        except ScanError as error:
            yield Note(str(planned.snapshot.topic_partition), f"not counted: {error}")
            continue
        snapshot = planned.snapshot
        yield PartitionCount(
            snapshot.topic_partition,
            planned.topic_id,
            len(snapshot.segments),
            snapshot.log_start_offset,
            snapshot.log_end_offset,
            tally,
        )


def count(
    plans: Sequence[PartitionPlan], runner: Runner, progress: Progress | None = None
) -> Iterator[PartitionCount | Note]:
    """Run the plans' tasks and give a row a partition, in their order."""
    tasks = [task for planned in plans for task in planned.tasks]
    return commit(plans, runner.run(run, tasks, progress))


class _Counter:
    """Counts the batches of one task."""

    def __init__(self, task: ReadTask, findings: Findings) -> None:
        self.tally = Tally()
        self._end = task.end_offset
        self._findings = findings
        self._decoder = Decoder(Column.OFFSET | Column.TIMESTAMP)

    def take(self, found: SourceChunk, start: int) -> None:
        """Count the batches of a chunk that hold offsets from `start` on."""
        sound = sound_batches(found, start, self._end, self._findings)
        markers = sound[(sound["magic"] >= 2) & (sound["attributes"] & CONTROL != 0)]
        markers = markers[(last_offsets(markers) >= start) & (markers["base_offset"] < self._end)]
        self._add_batches(markers)
        data = delivered(sound, start, self._end, _NONE_ABORTED)
        if not len(data):
            return
        self._add_batches(data)
        self.tally.codecs.update(np.unique(data["attributes"] & CODEC_MASK).tolist())
        data = data[data["count"] != 0]
        while self.tally.first_timestamp is None and len(data):  # the header's is another one after compaction
            self._add_decoded(found, data[0], start)
            data = data[1:]
        whole = (data["base_offset"] >= start) & (last_offsets(data) < self._end) & (data["count"] > 0)
        for row in data[~whole]:
            self._add_decoded(found, row, start)
        by_header = data[whole]
        if len(by_header):
            self.tally.records += int(by_header["count"].sum(dtype=np.int64))
            self.tally.max_timestamp = max(self.tally.max_timestamp, int(by_header["max_timestamp"].max()))

    def _add_batches(self, rows: NDArray[np.void]) -> None:
        self.tally.batches += len(rows)
        self.tally.size += int(rows["size"].sum(dtype=np.int64))
        self.tally.magics.update(np.unique(rows["magic"]).tolist())

    def _add_decoded(self, found: SourceChunk, row: np.void, start: int) -> None:
        try:
            columns = self._decoder.decode_one(found.chunk.data, row)
        except CorruptionError as error:
            position = found.chunk.file_position + (error.position or 0)
            self._findings.damage(error.at(position=position, path=str(found.location)))
            return
        offsets, timestamps = columns.offset[: columns.rows], columns.timestamp[: columns.rows]
        timestamps = timestamps[(offsets >= start) & (offsets < self._end)]
        if not len(timestamps):
            return
        self.tally.records += len(timestamps)
        self.tally.max_timestamp = max(self.tally.max_timestamp, int(timestamps.max()))
        if self.tally.first_timestamp is None:
            self.tally.first_timestamp = int(timestamps[0])
