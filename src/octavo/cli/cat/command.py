"""`octavo cat`: which records, in which form, to where."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

from octavo.cli.app import UsageError
from octavo.cli.cat.options import cat_options
from octavo.cli.cat.text import write_text
from octavo.cli.options import command as declare
from octavo.cli.options import logdirs_argument
from octavo.scan.api import IsolationLevel, Scan, scan
from octavo.scan.bounds import Offset

Form = Literal["json", "raw", "csv", "arrow", "parquet"]


@declare("cat")
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
    form: Form,
    output: str | None,
    shown: str,
) -> int:
    """Print the records of LOGDIR, partition by partition, each from its earliest on.

    LOGDIR is a log directory, a partition's folder, a segment file, or a URL of one. A damaged batch is passed over
    and named on stderr; the exit code is 1 then. A time stands for the first offset from it on, as a consumer looks it
    up: behind it there may be older records.
    """
    if output is None and form in ("arrow", "parquet") and sys.stdout.isatty():
        raise UsageError(f"{form} is not for a terminal; give --output FILE or a pipe")
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
    with _opened(output) as sink:
        _write(records, sink, form, shown, max_messages)
    _say_notes(records, said)
    return 1 if records.damages else 0


def _write(records: Scan, sink: BinaryIO, form: Form, shown: str, limit: int | None) -> None:
    if form in ("json", "raw", "csv"):
        write_text(islice(records.records(), limit), sink, form, shown)
        return
    from octavo.scan.arrow import limited, write_parquet, write_stream  # pyarrow takes long to import

    write = write_stream if form == "arrow" else write_parquet
    write(limited(records.to_reader(), limit), sink)


def _say_notes(records: Scan, said: int) -> int:
    notes = records.notes
    for note in notes[said:]:
        print(f"octavo: {note}", file=sys.stderr)
    return len(notes)


def _opened(output: str | None) -> BinaryIO:
    """The file to write to. Stdout gets a buffer of our own: Python's may have none, and then writes a part only."""
    if output is not None:
        return Path(output).open("wb")
    sys.stdout.flush()
    return cast("BinaryIO", open(sys.stdout.fileno(), "wb", closefd=False))
