"""The records of Kafka's internal topics, as a coordinator loads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange
from octavo.scanner.partition.snapshot import look_at, retrying
from octavo.scanner.partition.transactions import read_transactions
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import ReadTask, plan_partition
from octavo.scanner.reading.records import ConsumerRecord, read_records


def committed_records(partitions: Iterable[PartitionFiles], findings: ScanFindings) -> Iterator[ConsumerRecord]:
    """The records in effect: those outside of transactions, and those of committed ones.

    A consumer stops before an open transaction; a coordinator continues with what follows it.
    """
    for files in partitions:
        try:
            tasks = retrying(files, partial(_plan, findings=findings))
        except (ScanError, OSError) as error:
            findings.note(files.location, f"not read: {error}")
            findings.damage_count += 1
            continue
        yield from read_records(tasks, findings)


def noting(
    partitions: Mapping[TopicPartition, PartitionFiles], findings: ScanFindings
) -> Callable[[ConsumerRecord, Exception], None]:
    """A function that notes a record which cannot be decoded."""

    def note(record: ConsumerRecord, error: Exception) -> None:
        folder = partitions[TopicPartition(record.topic, record.partition)].location
        sentence = f"offset {record.offset}: a record that cannot be decoded: {error}; skipped"
        findings.count([Note(str(folder), sentence, is_damage=True)])

    return note


def _plan(files: PartitionFiles, findings: ScanFindings) -> list[ReadTask]:
    snapshot = look_at(files)
    transactions = read_transactions(snapshot)
    findings.take((*snapshot.notes, *transactions.notes))
    offsets = OffsetRange(snapshot.log_start_offset, snapshot.log_end_offset)
    return plan_partition(replace(snapshot, transactions=transactions.without_open(offsets.end)), offsets)
