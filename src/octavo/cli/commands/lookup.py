"""`octavo lookup`: shows where an offset or a time is found in a partition, and how."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    isolation_option,
    json_option,
    logdirs_argument,
    partitions_option,
    print_json,
    say_notes,
    timestamp,
    user_topics_option,
)
from octavo.cli.settings import UsageError
from octavo.cli.table import TableColumn, iso_time, print_table
from octavo.format.names import TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.scanner.damage.passed_damage import not_read
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


def _timestamp(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    found = timestamp(context, parameter, text)
    if found is not None and found < SpecialTimestamp.MAX_TIMESTAMP:
        raise click.BadParameter(f"{text} is before 1970, and is not -1, -2 or -3")
    return found


_COLUMNS = (
    TableColumn("topic"),
    TableColumn("partition", right=True),
    TableColumn("offset", right=True),
    TableColumn("time"),
    TableColumn("segment", importance=1),
    TableColumn("batch at", right=True, importance=2),
)


@declare("lookup")
@logdirs_argument
@user_topics_option
@partitions_option
@click.option(
    "--offset", type=click.IntRange(min=0), metavar="N", help="Find the first record at or after this offset."
)
@click.option(
    "--timestamp",
    metavar="MS|ISO",
    callback=_timestamp,
    help="Find the first record of this time or later; -1: the end, -2: the start, -3: the largest timestamp.",
)
@isolation_option
@click.option("--human", is_flag=True, help="Print a table, as on a terminal, instead of JSON.")
@json_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    offset: int | None,
    timestamp: int | None,
    isolation_level: str,
    human: bool,
    as_json: bool,
) -> int:
    """Show where an offset or a time is found in the partitions of LOGDIR, and how, as one JSON object per line.

    Each object has the segment, the entries of the time index and the offset index, the position where reading begins,
    the position of the batch, and the record's offset and timestamp. For a time, the answer is the one that a broker
    gives (ListOffsets). With read_committed the search ends at the last stable offset. Offset -1 means that no record
    matches. Damage is reported on stderr; the exit code is 1 if the answer might differ without it. On a terminal the
    output is a table, unless --json is given.
    """
    if (offset is None) == (timestamp is None):
        raise UsageError("give either --offset or --timestamp; see `octavo lookup --help`")
    if human and as_json:
        raise UsageError("--human and --json cannot be used together; see `octavo lookup --help`")
    selection = TopicSelection.of(topics or None, partitions or None)
    log_dirs = open_log_dirs(logdirs, selection.wants)
    unreadable = log_dirs.unreadable()
    selection.check(log_dirs.topic_partitions(), log_dirs.shown())
    if unreadable:
        raise next(iter(unreadable.values()))
    question = _Question(offset, timestamp, isolation_level == "read_committed")
    wanted = selection.among(log_dirs.partitions, log_dirs.given())
    say_notes(log_dirs.notes)
    is_one = len(topics) == 1 and len(partitions) == 1
    rows, uncertain = [], False
    for topic_partition in wanted:
        files = log_dirs.partitions[topic_partition]
        found, end_notes = retrying(files, lambda listed: _look_up(listed, question))
        say_notes((*end_notes, *found.notes))
        uncertain = uncertain or _is_uncertain(files, question, found, end_notes)
        if human or (sys.stdout.isatty() and not as_json):
            rows.append(_cells(topic_partition, found))
        else:
            place = {} if is_one else topic_partition._asdict()
            print_json({**place, **_fields(found)})
    say_notes(note for directory in log_dirs.directories for note in directory.root.notes)
    if rows:
        print_table(_COLUMNS, rows)
    return int(uncertain)


def _is_uncertain(files: PartitionFiles, question: _Question, found: LookupResult, end_notes: list[Note]) -> bool:
    """Whether damage may have changed the answer."""
    decisive = list(found.notes)
    if found.offset == NOT_FOUND or question.timestamp in (SpecialTimestamp.LATEST, SpecialTimestamp.MAX_TIMESTAMP):
        decisive += end_notes
    if question.timestamp != SpecialTimestamp.LATEST:
        decisive += files.root.notes
    return any(note.is_damage for note in decisive)


def _cells(topic_partition: TopicPartition, found: LookupResult) -> tuple[object, ...]:
    if found.offset == NOT_FOUND:
        return *topic_partition, None, None, None, None
    segment = None if found.segment is None else found.segment.name()
    return *topic_partition, found.offset, iso_time(found.timestamp), segment, found.batch_position


def _look_up(files: PartitionFiles, question: _Question) -> tuple[LookupResult, list[Note]]:
    """The answer, and notes about the log's end, where the search stops."""
    snapshot = look_at(files, is_committed=question.committed)
    end, notes = snapshot.readable_end, snapshot.notes_up_to(snapshot.log_end_offset)
    if snapshot.failure is not None:
        notes.append(not_read(snapshot.failure.filename or files.location, snapshot.failure))
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
