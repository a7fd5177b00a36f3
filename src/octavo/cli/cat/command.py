"""`octavo cat`: prints records, follows a log, or exports records to files."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, cast

from octavo.cli.cat.export import CountedRecords, export_records, say_written
from octavo.cli.cat.options import cat_options
from octavo.cli.cat.output import is_replaceable, opened
from octavo.cli.cat.request import TEXT_FORMS, CatRequest
from octavo.cli.cat.text import write_text
from octavo.cli.options import command as declare
from octavo.cli.options import logdirs_argument, say_notes
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner
from octavo.jobs.export import ExportForm
from octavo.scanner.api import SCAN_LOG, Scan
from octavo.scanner.reading.plan import ReadTask

_RECORDS_AT_ONCE = 4096
_FOREVER_MS = -1


@declare("cat", SparkCommand)
@logdirs_argument
@cat_options
def command(**options: Any) -> int:
    """Print the records of LOGDIR, partition by partition, each from its earliest record on.

    LOGDIR is a log directory, a partition's folder, a segment file, or a URL of one. A damaged batch is skipped and
    reported on stderr; the exit code is then 1. A time means the first offset whose record has that time or a later
    one, as in Kafka's offsetsForTimes: older records may follow it. Internal topics are decoded: json and csv show
    their keys and values as JSON, as Kafka's tools print them; --bytes base64 or hex shows the bytes.
    """
    request = CatRequest(**options)
    request.check()
    records = request.scan()
    logging.getLogger(SCAN_LOG).addHandler(logging.NullHandler())  # its warning is among the notes, which are printed
    if request.follow:
        return _follow(records, request)
    tasks = records.plan()
    said = _say_notes(records, 0)
    output, form = request.output, request.form
    if output is not None and form not in TEXT_FORMS and is_replaceable(output):
        with job_runner(request.master) as runner:
            limit, text = request.max_messages, request.text
            damage_count = export_records(records, output, cast("ExportForm", form), limit, runner, text=text)
    else:
        damage_count = 0  # the scan counts all of it
        _write(records, request, tasks)
    _say_notes(records, said)
    return 1 if damage_count or records.damage_count or records.is_beyond_end else 0


def _write(records: Scan, request: CatRequest, tasks: Sequence[ReadTask]) -> None:
    """Write to stdout or a device, or text to a file."""
    output, form, limit = request.output, request.form, request.max_messages
    if form not in TEXT_FORMS:
        from octavo.scanner.reading.arrow import first_rows  # pyarrow takes long to import
        from octavo.scanner.reading.arrow_files import WRITERS

        reader = records.to_reader()
        with opened(output) as sink:
            WRITERS[form](reader.schema, first_rows(reader, limit), sink)
        return
    found, internal = islice(records.records(), limit), _has_internal(task.topic for task in tasks)
    if output is None:
        with opened(output) as sink:
            write_text(found, sink, form, request.shown, internal=internal)
        return
    with progress_bar("reading", sum(task.size for task in tasks)) as progress, opened(output) as sink:
        counted = CountedRecords(found, tasks, progress)
        write_text(counted, sink, form, request.shown, internal=internal)
        size = sink.tell() if is_replaceable(output) else None
    if size is not None:
        say_written(output, 1, counted.count, size)


def _follow(records: Scan, request: CatRequest) -> int:
    """Print the records that exist and those that are appended later, until `--max-messages` or an interrupt."""
    said, left, first = 0, request.max_messages, True
    with opened(request.output) as sink, records.consumer() as consumer:
        internal = _has_internal(partition.topic for partition in consumer.assignment())
        while left is None or left > 0:
            limit = _RECORDS_AT_ONCE if left is None else min(left, _RECORDS_AT_ONCE)
            for several in consumer.poll(_FOREVER_MS, limit).values():
                write_text(several, sink, request.form, request.shown, with_header=first, internal=internal)
                left, first = None if left is None else left - len(several), False
            sink.flush()
            said = _say_notes(records, said)
    return 1 if records.damage_count else 0


def _has_internal(topics: Iterable[str]) -> bool:
    return any(topic.startswith("__") for topic in topics)


def _say_notes(records: Scan, said: int) -> int:
    notes = records.notes
    say_notes(notes[said:])
    return len(notes)
