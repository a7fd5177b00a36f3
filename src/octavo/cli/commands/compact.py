"""`octavo compact`: cleans what is due, and explains why the rest is not."""

from __future__ import annotations

import click

from octavo.cli.commands.compact_output import print_row
from octavo.cli.options import command as declare
from octavo.cli.options import (
    configs_option,
    json_option,
    key_values,
    logdirs_argument,
    now_option,
    topic_configs,
    unpacked_option,
)
from octavo.cli.owner import owned
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.config import BrokerConfig
from octavo.errors import ConfigError
from octavo.jobs.compact import Compaction, CompactRequest
from octavo.kernels.offset_table import KeyHash


def _configs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The configs of topics, and those of the cleaner's memory."""
    of_cleaner = tuple(text for text in given if text.startswith("log.cleaner."))
    of_topics = topic_configs(context, option, tuple(text for text in given if text not in of_cleaner))
    cleaner = key_values(context, option, of_cleaner)
    try:
        BrokerConfig.of(cleaner)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return {**of_topics, **cleaner}


@declare("compact", SparkCommand)
@logdirs_argument
@click.option("--topic", "topics", multiple=True, metavar="T", help="A topic; may be repeated. Default: all compacted.")
@configs_option(_configs)
@now_option
@click.option("--force", is_flag=True, help="Clean whatever the dirty ratio is.")
@click.option("--dry-run", is_flag=True, help="Say what would be cleaned and why, and change nothing; takes no lock.")
@click.option(
    "--key-hash",
    type=click.Choice([key_hash.name.lower() for key_hash in KeyHash]),
    default=KeyHash.SIPHASH.name.lower(),
    help="The hash that tells keys apart; md5 is Kafka's.",
)
@spark_option
@json_option
@unpacked_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    configs: dict[str, str],
    now_ms: int | None,
    force: bool,
    dry_run: bool,
    key_hash: str,
    master: str | None,
    as_json: bool,
) -> int:
    """Clean each partition once: the last record of every key stays. Prints one line per partition.

    A partition is cleaned if its dirty ratio is above min.cleanable.dirty.ratio, or max.compaction.lag.ms is over. Each
    line says what was done or why nothing was, and what the cleaner could not go beyond: the active segment, an open
    transaction, min.compaction.lag.ms. --config takes configs of topics, and log.cleaner.dedupe.buffer.size and
    log.cleaner.io.buffer.load.factor, which limit the memory for keys. If the keys do not fit, the round ends before
    the dirty part does, and the next round goes on from there.
    """
    if dry_run and master is not None:
        raise click.UsageError("--dry-run works only on this machine: leave out --spark")
    request = CompactRequest(
        topics=topics,
        configs=configs,
        now_ms=now_ms,
        force=force,
        dry_run=dry_run,
        key_hash=KeyHash[key_hash.upper()],
    )
    failed = 0
    with owned(logdirs, request.ownership(logdirs)) as logs:
        compaction = Compaction(request, logs)
        with (
            job_runner(master, in_place=True) as runner,
            progress_bar("compacting", compaction.size) as progress,
        ):
            for row in compaction.rows(runner, progress):
                failed += row.error is not None or not row.explanation.is_compacted
                print_row(row, as_json=as_json)
    return 1 if failed else 0
