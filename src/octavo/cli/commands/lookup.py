"""`octavo lookup`: shows where an offset or a time is found in a partition, and how."""

from __future__ import annotations

from typing import NamedTuple

import click

from octavo.cli.app import UsageError
from octavo.cli.options import command as declare
from octavo.cli.options import isolation_option, json_option, logdirs_argument, print_json, say_notes
from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.scanner.damage.passed import not_read
from octavo.scanner.findings import Note
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.lookup.lookup import NOT_FOUND, LookupResult, find_offset, find_timestamp
from octavo.scanner.partition.snapshot import look_at, retrying
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.selection import TopicSelection


class _Question(NamedTuple):
    offset: int | None
    timestamp: int | None
    committed: bool


@declare("lookup")
@logdirs_argument
@click.option("--topic", required=True, help="The topic.")
@click.option("--partition", required=True, type=click.IntRange(min=0), help="Its partition.")
@click.option("--offset", type=click.IntRange(min=0), help="Find the first record at or after this offset.")
@click.option(
    "--timestamp", type=click.IntRange(min=-3), metavar="MS",
    help="Find the first record of this time or later; -1: the end, -2: the start, -3: the largest timestamp.",
)  # fmt: skip
@isolation_option
@json_option
def command(
    logdirs: tuple[str, ...],
    topic: str,
    partition: int,
    offset: int | None,
    timestamp: int | None,
    isolation_level: str,
    as_json: bool,
) -> int:
    """Show where an offset or a time is found in a partition of LOGDIR, and how, as one JSON object.

    It has the segment, the entries of the time index and the offset index, the position where reading begins, the
    position of the batch, offset and timestamp of the record. The answer to a time is a broker's (ListOffsets). With
    read_committed the search ends at the last stable offset. Offset -1: no record fits. Damage is reported on stderr;
    the exit code is 1 if the answer might differ without it.
    """
    if (offset is None) == (timestamp is None):
        raise UsageError("expected either --offset or --timestamp; see `octavo lookup --help`")
    wanted = TopicPartition(topic, partition)
    log_dirs = open_log_dirs(logdirs, wanted.__eq__)
    files = log_dirs.partitions.get(wanted)
    if files is None:
        if wanted in log_dirs.unreadable():
            raise log_dirs.unreadable()[wanted]
        TopicSelection.of(topic, partition).check((), log_dirs.topics(), log_dirs.shown())
        raise ScanError(f"{log_dirs.shown()}: there is no partition {partition} of topic {topic!r}")
    question = _Question(offset, timestamp, isolation_level == "read_committed")
    found, end_notes = retrying(files, lambda listed: _look_up(listed, question))
    say_notes((*log_dirs.notes, *files.root.notes, *end_notes, *found.notes))
    print_json(_fields(found))
    decisive = list(found.notes)
    if found.offset == NOT_FOUND or question.timestamp in (SpecialTimestamp.LATEST, SpecialTimestamp.MAX_TIMESTAMP):
        decisive += end_notes
    if question.timestamp != SpecialTimestamp.LATEST:
        decisive += files.root.notes
    return int(any(note.is_damage for note in decisive))


def _look_up(files: PartitionFiles, question: _Question) -> tuple[LookupResult, list[Note]]:
    """The answer, and notes about the log's end."""
    snapshot = look_at(files)
    end, notes = snapshot.log_end_offset, list(snapshot.notes)
    if snapshot.failure is not None:
        notes.append(not_read(snapshot.failure.filename or files.location, snapshot.failure))
    if question.committed:
        from octavo.scanner.partition.transactions import (
            read_transactions,  # it imports what decoding markers needs
        )

        transactions = read_transactions(snapshot)
        end, notes = transactions.last_stable_offset, [*notes, *transactions.notes]
    if question.offset is not None:
        return find_offset(snapshot, question.offset, end), notes
    assert question.timestamp is not None
    return find_timestamp(snapshot, question.timestamp, end), notes


def _fields(found: LookupResult) -> dict[str, object]:
    time_entry, offset_entry = found.time_index_entry, found.offset_index_entry
    return {
        "segment": None if found.segment is None else found.segment.name(),
        "timeIndexEntry": None if time_entry is None else time_entry._asdict(),
        "offsetIndexEntry": None if offset_entry is None else offset_entry._asdict(),
        "startPosition": found.start_position,
        "batchPosition": found.batch_position,
        "offset": found.offset,
        "timestamp": found.timestamp,
    }
