"""`octavo explain FILE`: an overview of a file, or the anatomy of one part of it."""

from __future__ import annotations

import click

from octavo.cli.explain.show import Form
from octavo.cli.options import command as declare
from octavo.cli.options import json_option, path_type, unpacked_option
from octavo.cli.settings import UsageError
from octavo.errors import CorruptionError, OctavoError
from octavo.format.anatomy.text_files import TEXT_FILES
from octavo.format.names import TEMPORARY_SUFFIX, FileKind, Transient
from octavo.scanner.places.location import Location, locate

_CHECKPOINT = ".checkpoint"  # a snapshot of the cluster's metadata has the format of a log


@declare("explain")
@click.argument("file", type=path_type)
@click.option(
    "--position", type=click.IntRange(min=0), metavar="N",
    help="Explain the batch or entry that contains this byte of the file.",
)  # fmt: skip
@click.option(
    "--offset", type=click.IntRange(min=0), metavar="N", help="Explain the batch or index entry for this offset."
)
@click.option(
    "--all-records", is_flag=True,
    help="Explain all records of the batch: with --position not only the first 10000, with --offset not only one.",
)  # fmt: skip
@click.option(
    "--html",
    "as_html",
    is_flag=True,
    help="Print a page to open in a browser: point at a byte to see its field. A large file is shown in part.",
)
@json_option
@unpacked_option
def command(
    file: str, position: int | None, offset: int | None, all_records: bool, as_html: bool, as_json: bool
) -> int:
    """Show what is in FILE, byte by byte: a log, an index, a transaction index, a producer snapshot, a checkpoint.

    FILE is a path or a URL; for a folder, its files are listed with their meanings. With --position or --offset: each
    field of one batch, message or entry with its position, its bytes in hex, its value and its meaning, down to the
    varints of a batch's records; a compressed batch is unpacked. With neither: one line per batch, entry or line of a
    text file, and why a log's batches end where they do. The exit code is 1 if what is shown is damaged.
    """
    if position is not None and offset is not None:
        raise UsageError("--position and --offset cannot be used together; see `octavo explain --help`")
    if all_records and position is None and offset is None:
        raise UsageError("--all-records needs --position or --offset; see `octavo explain --help`")
    if as_html and as_json:
        raise UsageError("--html and --json cannot be used together; see `octavo explain --help`")
    location = locate(file)
    form: Form = "html" if as_html else "json" if as_json else "text"
    text_name = location.name.removesuffix(TEMPORARY_SUFFIX)
    if text_name in TEXT_FILES:
        from octavo.cli.explain.entries import explain_text

        return explain_text(location, text_name, position, offset, form)
    kind = _kind(location)
    if kind is None:
        if position is not None or offset is not None or as_html:
            raise UsageError(f"{location} is a folder: --position, --offset and --html are for one of its files")
        from octavo.cli.explain.folder import explain_folder

        return explain_folder(location, as_json)
    try:
        if kind is FileKind.LOG:
            from octavo.cli.explain.log import explain_log

            return explain_log(location, position, offset, form, all_records=all_records)
        from octavo.cli.explain.entries import explain_entries

        return explain_entries(location, kind, position, offset, form)
    except CorruptionError as error:
        raise error.at(path=str(location)) from None


def _kind(file: Location) -> FileKind | None:
    """What the file is by its name; None for a folder."""
    name = file.name
    for transient in Transient:
        name = name.removesuffix(transient)
    for kind in FileKind:
        if name.endswith(kind):
            return kind
    if name.endswith(_CHECKPOINT):
        return FileKind.LOG
    known = ", ".join([*FileKind, _CHECKPOINT, *TEXT_FILES])
    if file.entry().is_folder:
        return None
    raise OctavoError(f"{file}: not a file that explain can read; it reads {known}")
