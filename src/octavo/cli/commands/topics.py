"""`octavo topics`: lists the partitions of a log directory, one row each."""

from __future__ import annotations

import sys

from octavo.cli.options import command as declare
from octavo.cli.options import json_option, logdirs_argument, print_json, say_notes, topics_option, unpacked_option
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.cli.table import TableColumn, iso_time, print_table
from octavo.cli.units import size_cell
from octavo.format.compression.codec import CODECS
from octavo.jobs.count import PartitionCount, TopicCounts
from octavo.kernels.layout import NO_TIMESTAMP

_CODEC_NAMES = {int(codec): row.name for codec, row in CODECS.items()}
_COLUMNS = (
    TableColumn("topic"),
    TableColumn("partition", right=True),
    TableColumn("topicId", importance=1),
    TableColumn("segments", right=True, importance=8),
    TableColumn("batches", right=True, importance=5),
    TableColumn("records", right=True),
    TableColumn("bytes", right=True, importance=9),
    TableColumn("logStartOffset", right=True, importance=7),
    TableColumn("logEndOffset", right=True, importance=10),
    TableColumn("firstTimestamp", importance=2),
    TableColumn("maxTimestamp", importance=6),
    TableColumn("magics", importance=4),
    TableColumn("codecs", importance=3),
)


@declare("topics", SparkCommand)
@logdirs_argument
@topics_option
@spark_option
@json_option
@unpacked_option
def command(logdirs: tuple[str, ...], topics: tuple[str, ...], master: str | None, as_json: bool) -> int:
    """List the partitions of LOGDIR with exact counts of what a client can read.

    Batches, records and bytes are counted from the log start offset on; transaction markers do not count as records,
    but messages inside compressed messages of old formats do. A damaged batch is skipped and reported on stderr; the
    exit code is then 1. On a terminal, columns that do not fit are left out; --json has all of them.
    """
    counting = TopicCounts(logdirs, topics)
    say_notes(counting.planned)
    counts: list[PartitionCount] = []
    with job_runner(master) as runner, progress_bar("counting", counting.size) as progress:
        for row in counting.rows(runner, progress):
            if as_json:
                print_json(_fields(row))
            counts.append(row)
    if not as_json and (counts or sys.stdout.isatty()):
        print_table(_COLUMNS, [_cells(row) for row in counts])
    say_notes(counting.counted)
    return 1 if counting.damage_count else 0


def _fields(row: PartitionCount) -> dict[str, object]:
    tally = row.tally
    return {
        **row.topic_partition._asdict(),
        "topicId": row.topic_id,
        "segments": row.segments,
        "batches": tally.batches,
        "records": tally.records,
        "bytes": tally.size,
        "logStartOffset": row.log_start_offset,
        "logEndOffset": row.log_end_offset,
        "firstTimestamp": NO_TIMESTAMP if tally.first_timestamp is None else tally.first_timestamp,
        "maxTimestamp": tally.max_timestamp,
        "magics": sorted(tally.magics),
        "codecs": [_CODEC_NAMES.get(codec, str(codec)) for codec in sorted(tally.codecs)],
    }


def _cells(row: PartitionCount) -> list[object]:
    first, last = row.tally.first_timestamp, row.tally.max_timestamp
    times = {"firstTimestamp": None if first is None else iso_time(first), "maxTimestamp": iso_time(last)}
    return list({**_fields(row), **times, "bytes": size_cell(row.tally.size)}.values())
