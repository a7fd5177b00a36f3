"""The options of `octavo cat`."""

from __future__ import annotations

from typing import cast

import click

from octavo.cli.cat.text import SHOWN
from octavo.cli.options import (
    in_order,
    include_option,
    isolation_option,
    offset_or,
    partitions_option,
    path_type,
    timestamp,
    unpacked_option,
    user_topics_option,
)
from octavo.cli.runner import spark_option
from octavo.scanner.lookup.bounds import FromEnd, Offset


def _start(context: click.Context, option: click.Parameter, text: str | None) -> Offset | None:
    if text is not None and text.startswith("-") and text[1:].isascii() and text[1:].isdigit():
        return FromEnd(int(text[1:]))
    return cast("Offset | None", offset_or("earliest", "latest")(context, option, text))


max_messages_option = click.option(
    "--max-messages", type=click.IntRange(min=0), metavar="N", help="Stop after this many records."
)
shown_option = click.option(
    "--bytes", "shown", type=click.Choice(list(SHOWN)), default="text",
    help='How json and csv show keys and values; text (default) shows bytes that are not UTF-8 as {"base64": …}.',
)  # fmt: skip
cat_options = in_order(
    user_topics_option,
    include_option,
    partitions_option,
    click.option(
        "--offset", metavar="N|earliest|latest", callback=_start,
        help="Begin with this offset; default: earliest. -N: N offsets before the end of each partition.",
    ),
    click.option(
        "--tail", type=click.IntRange(min=0), metavar="N",
        help="Begin N offsets before the end of each partition; the same as --offset -N.",
    ),
    click.option(
        "--to-offset", default="latest", metavar="N|latest|highWatermark",
        callback=offset_or("latest", "highWatermark"),
        help="End before this offset; default: latest, the end of the log.",
    ),
    click.option(
        "--from-timestamp", metavar="MS|ISO", callback=timestamp,
        help="Begin with the first record of this time or later.",
    ),
    click.option(
        "--to-timestamp", metavar="MS|ISO", callback=timestamp,
        help="End before the first record of this time or later.",
    ),
    click.option("--key", metavar="K", help="Only records with this key, in the form given by --bytes."),
    click.option(
        "--grep", metavar="PATTERN", help="Only records whose value matches this regular expression (RE2) somewhere."
    ),
    max_messages_option,
    click.option(
        "--follow", is_flag=True,
        help="Wait for more records at the end, as tail -f does; also on a running broker's disk.",
    ),
    isolation_option,
    click.option(
        "--format", "given_form", type=click.Choice(["json", "raw", "csv", "arrow", "parquet"]),
        help="json: one object per line (default); raw: values, each with a line break; arrow: an IPC stream.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option(
        "--output", "given_output", type=path_type, metavar="FILE|FOLDER/",
        help="Write to this file instead of stdout (-); arrow and parquet can also fill a folder, in parallel.",
    ),
    shown_option,
    click.option(
        "--text", is_flag=True,
        help="In arrow and parquet: keys, values and header values as strings; U+FFFD replaces what is not UTF-8.",
    ),
    unpacked_option,
    spark_option,
)  # fmt: skip
