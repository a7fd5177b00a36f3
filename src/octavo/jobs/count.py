"""Counts the batches, records and bytes of each partition from the log start offset on.

This module divides partitions into tasks and adds up their results; `tally` does the counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo.errors import ScanError
from octavo.format import kafka_uuid
from octavo.format.names import TopicPartition
from octavo.jobs.tally import Counter, Tally
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.selection import TopicSelection
from octavo.scanner.reading.plan import ReadTask, plan_partition
from octavo.scanner.reading.source import Source
from octavo.system.runner import Progress, Runner

SPLIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """The counts of one partition."""

    topic_partition: TopicPartition
    topic_id: str | None
    segments: int
    log_start_offset: int
    log_end_offset: int
    tally: Tally


class CountPlan(NamedTuple):
    """The tasks of a partition, and what is known about it without reading its batches."""

    snapshot: PartitionSnapshot
    topic_id: str | None
    tasks: list[ReadTask]
    notes: list[Note]


class TopicCounts:
    """The counts of the named topics, or of all. The constructor plans, and `rows` counts.

    `planned` has the notes from planning, `counted` those from counting. `counted` and `damage_count` are complete once
    `rows` has ended.
    """

    def __init__(
        self, places: Place | Sequence[Place], topics: Sequence[str] = (), split_bytes: int = SPLIT_BYTES
    ) -> None:
        self._log_dirs = open_log_dirs(places, (lambda wanted: wanted.topic in topics) if topics else None)
        TopicSelection.of(topics or None).check(self._log_dirs.topic_partitions(), self._log_dirs.shown())
        findings = ScanFindings("skip")
        self._plans = plan(self._log_dirs.partitions.values(), split_bytes, findings)
        self.planned: list[Note] = [*self._log_dirs.notes, *findings.notes]
        self.counted: list[Note] = []
        self.damage_count = findings.damage_count + len(self._log_dirs.unreadable())

    @property
    def size(self) -> int:
        """How many bytes will be read."""
        return sum(task.size for planned in self._plans for task in planned.tasks)

    def rows(self, runner: Runner, progress: Progress | None = None) -> Iterator[PartitionCount]:
        """Yield the partitions in order; one that was deleted in the meantime only gets a note in `counted`."""
        outcomes = runner.run(run, [task for planned in self._plans for task in planned.tasks], progress)
        row_notes: list[Note] = []
        for snapshot, topic_id, tasks, notes in self._plans:
            topic_partition, finished = snapshot.files.topic_partition, [next(outcomes) for _ in tasks]
            tally = Tally(notes=list(notes), damage_count=sum(note.is_damage for note in notes))
            try:
                for outcome in finished:
                    tally.add(outcome.get())
            except ScanError as error:
                self.counted.append(Note(str(topic_partition), f"not counted: {error}"))
                continue
            row_notes += tally.notes
            self.damage_count += tally.damage_count
            ends = snapshot.log_start_offset, snapshot.log_end_offset
            yield PartitionCount(topic_partition, topic_id, len(snapshot.segments), *ends, tally)
        root_notes = self._log_dirs.root_notes()
        self.counted += row_notes + root_notes
        self.damage_count += sum(note.is_damage for note in root_notes)


def plan(partitions: Iterable[PartitionFiles], split_bytes: int, findings: ScanFindings) -> list[CountPlan]:
    """The tasks of each partition, of about `split_bytes` each; `findings` collects partitions that cannot be read."""
    plans: list[CountPlan] = []
    for files in partitions:
        try:
            planned = retrying(files, lambda listed: _plan(listed, split_bytes))
            plans.append(planned)
            if planned.snapshot.failure is not None:
                findings.unreadable(files.location, planned.snapshot.failure)
        except ScanError:
            continue  # deleted since it was listed
        except OSError as error:
            findings.unreadable(files.location, error)
    return plans


def _plan(files: PartitionFiles, split_bytes: int) -> CountPlan:
    snapshot = look_at(files)
    notes = list(snapshot.notes)
    offsets = OffsetRange(snapshot.log_start_offset, snapshot.log_end_offset)
    topic_id = files.topic_id_or_note(notes)
    shown = None if topic_id is None else kafka_uuid.to_text(topic_id)
    return CountPlan(snapshot, shown, plan_partition(snapshot, offsets, split_bytes), notes)


def run(task: ReadTask) -> Tally:
    """Count the batches and records of a task."""
    findings = ScanFindings("skip")
    counter = Counter(task.end_offset, findings)
    source = Source(task, findings)
    for chunk in source:
        counter.take(chunk, source.next_offset)
    counter.tally.notes = findings.notes
    counter.tally.damage_count = findings.damage_count
    return counter.tally
