"""What a client can read of each partition: exact counts of batches, records and bytes from the log start offset on.

`tally` counts; here are the tasks that partitions are cut into, and the rows that come of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo.errors import CorruptionError, ScanError
from octavo.format import kafka_uuid
from octavo.format.names import TopicPartition
from octavo.jobs.tally import Counter, Tally
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import ReadTask, plan_partition
from octavo.scanner.reading.source import Source
from octavo.system.runner import Outcome, Progress, Runner

SPLIT_BYTES = 64 << 20


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
    partitions: Iterable[PartitionFiles], split_bytes: int = SPLIT_BYTES, findings: ScanFindings | None = None
) -> list[PartitionPlan]:
    """The tasks of each partition, of about `split_bytes`. Of one that cannot be read the findings are told."""
    findings = findings or ScanFindings()
    plans: list[PartitionPlan] = []
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
    findings = ScanFindings("skip")
    counter = Counter(task.end_offset, findings)
    source = Source(task, findings)
    for chunk in source:
        counter.take(chunk, source.next_offset)
    counter.tally.notes = findings.notes
    counter.tally.damage_count = findings.damage_count
    return counter.tally


def commit(
    plans: Sequence[PartitionPlan], outcomes: Iterable[Outcome[ReadTask, Tally]]
) -> Iterator[PartitionCount | Note]:
    """A row a partition, as soon as its tasks are done; of one that went away meanwhile, a note."""
    done = iter(outcomes)
    for planned in plans:
        finished = [next(done) for _ in planned.tasks]
        tally = Tally(notes=list(planned.notes), damage_count=sum(note.is_damage for note in planned.notes))
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
