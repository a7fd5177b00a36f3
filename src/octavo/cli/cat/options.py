"""The options of `octavo cat`."""

from __future__ import annotations

import click

from octavo.cli.cat.text import SHOWN
from octavo.cli.options import Function, isolation_option, offset_or, path_type, unpacked_option
from octavo.cli.runner import spark_option
from octavo.errors import ScanError
from octavo.scanner.lookup.bounds import to_milliseconds

FORMS = ["json", "raw", "csv", "arrow", "parquet"]


def _timestamp(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else to_milliseconds(text)
    except ScanError as error:
        raise click.BadParameter(str(error)) from error


_OPTIONS = (
    click.option(
        "--topic", "topics", multiple=True, metavar="T",
        help="A topic; may be repeated. Default: all but Kafka's internal ones.",
    ),
    click.option(
        "--partition", "partitions", multiple=True, type=click.IntRange(min=0), metavar="P",
        help="A partition; may be repeated. Default: all.",
    ),
    click.option(
        "--offset", default="earliest", metavar="N|earliest|latest", callback=offset_or("earliest", "latest"),
        help="Begin with this offset; default: earliest.",
    ),
    click.option(
        "--to-offset", default="latest", metavar="N|latest|highWatermark",
        callback=offset_or("latest", "highWatermark"),
        help="End before this offset; default: latest, the end of the log.",
    ),
    click.option(
        "--from-timestamp", metavar="MS|ISO", callback=_timestamp,
        help="Begin with the first record of this time or later.",
    ),
    click.option(
        "--to-timestamp", metavar="MS|ISO", callback=_timestamp,
        help="End before the first record of this time or later.",
    ),
    click.option("--max-messages", type=click.IntRange(min=0), metavar="N", help="Stop after this many records."),
    isolation_option,
    click.option(
        "--format", "given_form", type=click.Choice(FORMS),
        help="json: one object per line (default); raw: values, each with a line break; arrow: an IPC stream.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option(
        "--output", type=path_type, metavar="FILE|FOLDER/",
        help="Write here instead of to stdout (-); arrow and parquet may go to a folder: several files, in parallel.",
    ),
    click.option(
        "--bytes", "shown", type=click.Choice(list(SHOWN)), default="text",
        help='How json and csv show keys and values; text (default) shows bytes that are not UTF-8 as {"base64": …}.',
    ),
    unpacked_option,
    spark_option,
)  # fmt: skip


def cat_options(function: Function) -> Function:
    """All options, in the order in which the help lists them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
