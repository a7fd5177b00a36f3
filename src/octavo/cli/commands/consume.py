"""`octavo consume`: prints the records that a group has not read yet."""

from __future__ import annotations

import re
import sys
from typing import BinaryIO, cast

import click

from octavo.cli.cat.options import max_messages_option, shown_option
from octavo.cli.cat.text import write_text
from octavo.cli.options import command as declare
from octavo.cli.options import include_option, isolation_option, key_values, logdirs_argument, offset_or
from octavo.cli.owner import Ownership, owned_as
from octavo.cli.settings import UsageError
from octavo.client.consumer.consumer import Consumer
from octavo.client.log_dir import LogDir
from octavo.coordinator.internal_topics import CONSUMER_OFFSETS
from octavo.format.names import TopicPartition
from octavo.jobs.directories import check_topics

_RECORDS_AT_ONCE = 4096


@declare("consume")
@logdirs_argument
@click.option("--topic", "topics", multiple=True, metavar="T", help="A topic; may be repeated.")
@include_option
@click.option("--group", metavar="G", help="The group whose offsets are read and committed. Default: none.")
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Read only this partition of the topic.")
@click.option(
    "--offset", metavar="N|earliest|latest", callback=offset_or("earliest", "latest"),
    help="Begin at this offset of the partition, whatever the group has committed.",
)  # fmt: skip
@click.option(
    "--from-beginning", is_flag=True, help="Without committed offsets, begin with the earliest record (default)."
)
@max_messages_option
@click.option(
    "--timeout-ms", type=click.IntRange(min=0), default=0, metavar="MS",
    help="How long to wait for another record; default: 0, since nobody else can write to the directory.",
)  # fmt: skip
@isolation_option
@click.option(
    "--format", "form", type=click.Choice(["json", "raw", "csv"]), default="json",
    help="json: one object per line (default); raw: values, each with a line break; "
    "csv: a line with the columns' names, then one line per record.",
)  # fmt: skip
@shown_option
@click.option(
    "--consumer-property", "properties", multiple=True, metavar="KEY=VALUE", callback=key_values,
    help="A consumer config, such as auto.offset.reset=latest; may be repeated.",
)  # fmt: skip
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    include: re.Pattern[str] | None,
    group: str | None,
    partition: int | None,
    offset: int | str | None,
    from_beginning: bool,
    max_messages: int | None,
    timeout_ms: int,
    isolation_level: str,
    form: str,
    shown: str,
    properties: dict[str, str],
) -> None:
    """Print the records that a group has not read yet, and commit its offsets to __consumer_offsets.

    Offsets are committed after their records have been written to stdout, unless enable.auto.commit is false.
    """
    if topics and include:
        raise UsageError("give either --topic or --include, not both; see `octavo consume --help`")
    if not topics and not include:
        raise UsageError("no topic is given: use --topic or --include")
    if partition is not None and len(topics) != 1:
        raise UsageError("--partition needs exactly one --topic")
    if offset is not None and (partition is None or from_beginning):
        raise UsageError("--offset needs --partition, and cannot be used with --from-beginning")
    if group is not None and properties.get("group.id", group) != group:
        raise UsageError(f"--group is {group!r}, but group.id is {properties['group.id']!r}: give only one of them")
    configs = {"isolation.level": isolation_level, "consumer.timeout.ms": str(timeout_ms), **properties}
    if from_beginning:
        configs["auto.offset.reset"] = "earliest"
    commits = configs.pop("enable.auto.commit", "true").lower() != "false"
    # A pattern may match any topic. Opening all topics also ends the transactions that a crash interrupted, which
    # decides what a read_committed reader sees.
    whole = include is not None or configs["isolation.level"] == "read_committed"
    only = None if whole else [*topics, CONSUMER_OFFSETS]
    check_topics(logdirs, topics)
    with owned_as(LogDir, logdirs, Ownership(only=only)) as logs:
        consumer = logs.consumer(group=group, configs={**configs, "enable.auto.commit": "false"})
        if partition is not None:
            topic_partition = TopicPartition(topics[0], partition)
            consumer.assign([topic_partition])
            _seek(consumer, topic_partition, offset)
        else:
            consumer.subscribe(topics, pattern=None if include is None else include.pattern)
        with cast("BinaryIO", open(sys.stdout.fileno(), "wb", closefd=False)) as sink:
            _write(consumer, sink, form, shown, max_messages, commits=commits and consumer.config.group_id is not None)


def _seek(consumer: Consumer, topic_partition: TopicPartition, offset: int | str | None) -> None:
    """Start at the offset, if one is given."""
    match offset:
        case "earliest":
            consumer.seek_to_beginning(topic_partition)
        case "latest":
            consumer.seek_to_end(topic_partition)
        case int():
            consumer.seek(topic_partition, offset)


def _write(consumer: Consumer, sink: BinaryIO, form: str, shown: str, limit: int | None, *, commits: bool) -> None:
    """Write records as they come, flush, then commit."""
    left, first = sys.maxsize if limit is None else limit, True
    timeout_ms = consumer.config.consumer_timeout_ms
    while left and (found := consumer.poll(timeout_ms, min(left, _RECORDS_AT_ONCE))):
        records = [record for several in found.values() for record in several]
        write_text(records, sink, form, shown, with_header=first)
        sink.flush()
        left, first = left - len(records), False
        if commits:
            consumer.commit()
