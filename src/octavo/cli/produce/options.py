"""The options of `octavo produce`."""

from __future__ import annotations

import click

from octavo.cli.options import in_order, key_values
from octavo.cli.produce.json_lines import FORMS as SHOWN
from octavo.format.compression import CODECS

produce_options = in_order(
    click.option(
        "--file", "files", multiple=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE",
        help="Read this file instead of stdin; may be repeated.",
    ),
    click.option(
        "--format", "form", type=click.Choice(["lines", "json", "arrow", "parquet"]),
        help="lines: one value per line; json: what `octavo cat` prints; arrow: an IPC stream or file. "
        "Default: by the file's name, or lines.",
    ),
    click.option(
        "--key-separator", metavar="TEXT",
        help=r"lines: the separator of key and value; \t is a tab. Without it or parse.key=true there are no keys.",
    ),
    click.option(
        "--property", "--reader-property", "properties", multiple=True, metavar="KEY=VALUE", callback=key_values,
        help="lines: as in Kafka's console producer: parse.key, key.separator, parse.headers, headers.delimiter, "
        "headers.separator, headers.key.separator, null.marker.",
    ),
    click.option(
        "--bytes", "shown", type=click.Choice(list(SHOWN)), default="text",
        help="json: how keys and values are written, as in `octavo cat`.",
    ),
    click.option(
        "--repartition", is_flag=True,
        help="Choose partitions by key, and ignore those in json, arrow or parquet.",
    ),
    click.option(
        "--compression-type", type=click.Choice([row.name for row in CODECS.values()]),
        help="The codec of batches; default: none.",
    ),
    click.option(
        "--producer-property", "producer_properties", multiple=True, metavar="KEY=VALUE", callback=key_values,
        help="A producer config, such as linger.ms=100; may be repeated.",
    ),
)  # fmt: skip
