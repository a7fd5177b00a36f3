"""`octavo cat`: prints records, or exports them to files."""

from __future__ import annotations

import sys
from itertools import islice
from typing import BinaryIO, Literal, cast

from octavo.cli.app import UsageError
from octavo.cli.cat.options import cat_options
from octavo.cli.cat.output import given_path, is_folder, is_replaceable, opened, place_around
from octavo.cli.cat.text import write_text
from octavo.cli.options import command as declare
from octavo.cli.options import echo, logdirs_argument
from octavo.cli.runner import SparkCommand, job_runner
from octavo.jobs.export import Form
from octavo.scanner.api import IsolationLevel, Scan, scan
from octavo.scanner.lookup.bounds import Offset

TextForm = Literal["json", "raw", "csv"]
TEXT_FORMS: tuple[TextForm, ...] = ("json", "raw", "csv")


@declare("cat", SparkCommand)
@logdirs_argument
@cat_options
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    offset: Offset,
    to_offset: Offset,
    from_timestamp: int | None,
    to_timestamp: int | None,
    max_messages: int | None,
    isolation_level: IsolationLevel,
    given_form: TextForm | Form | None,
    as_json: bool,
    output: str | None,
    shown: str,
    master: str | None,
) -> int:
    """Print the records of LOGDIR, partition by partition, each from its earliest record on.

    LOGDIR is a log directory, a partition's folder, a segment file, or a URL of one. A damaged batch is skipped and
    reported on stderr; the exit code is then 1. A time stands for the first offset with that time or later, as a
    consumer looks it up: older records may follow it.
    """
    if as_json and given_form not in (None, "json"):
        raise UsageError(f"--json and --format {given_form} exclude each other; see `octavo cat --help`")
    form, output = given_form or "json", given_path(output)
    if output is None and form not in TEXT_FORMS and sys.stdout.isatty():
        raise UsageError(f"{form} is not for a terminal; give --output FILE or a pipe")
    if output is not None and form in TEXT_FORMS and is_folder(output):
        raise UsageError(f"{output} is a folder, expected a file for {form}")
    if output is not None and is_replaceable(output) and (place := place_around(output, logdirs)) is not None:
        raise UsageError(f"--output {output} lies in {place}, which is being read: choose a place outside of it")
    if master is not None and (output is None or form in TEXT_FORMS or not is_folder(output)):
        raise UsageError("--spark writes arrow or parquet into a folder, expected --format and --output FOLDER/")
    records = scan(
        logdirs,
        topics or None,
        partitions or None,
        from_offset=offset,
        to_offset=to_offset,
        from_timestamp=from_timestamp,
        to_timestamp=to_timestamp,
        isolation_level=isolation_level,
        on_damage="skip",
    )
    records.plan()
    said = _say_notes(records, 0)
    if output is not None and form not in TEXT_FORMS and is_replaceable(output):
        from octavo.cli.cat.export import export_records

        with job_runner(master) as runner:
            damage_count = export_records(records, output, cast("Form", form), max_messages, runner)
    else:
        with opened(output) as sink:
            _write(records, sink, form, shown, max_messages)
        damage_count = records.damage_count
    _say_notes(records, said)
    return 1 if damage_count else 0


def _write(records: Scan, sink: BinaryIO, form: TextForm | Form, shown: str, limit: int | None) -> None:
    if form in TEXT_FORMS:
        write_text(islice(records.records(), limit), sink, form, shown)
        return
    from octavo.scanner.reading.arrow import first_rows  # pyarrow takes long to import
    from octavo.scanner.reading.arrow_files import WRITERS

    reader = records.to_reader()
    WRITERS[form](reader.schema, first_rows(reader, limit), sink)


def _say_notes(records: Scan, said: int) -> int:
    notes = records.notes
    for note in notes[said:]:
        echo(f"octavo: {note}", err=True)
    return len(notes)
