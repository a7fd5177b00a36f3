"""`octavo compact`: one cleaner round, or why there is none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import NamedTuple

import click

from octavo.cli.compact_output import Row, print_row
from octavo.cli.listing import check_topics, known_topics
from octavo.cli.options import command as declare
from octavo.cli.options import configs_option, json_option, key_values, logdirs_argument, now_option, topic_configs
from octavo.cli.owner import Terms, owned, say_recoveries
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.config import BrokerConfig
from octavo.errors import ConfigError
from octavo.jobs.choose_compaction import Judged, judge
from octavo.jobs.compact import compact
from octavo.kernels.offset_table import KeyHash
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.log_dir import LogDir


class _Configs(NamedTuple):
    """The configs of topics, and those of the cleaner's memory."""

    topics: dict[str, str]
    broker: BrokerConfig


def _configs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> _Configs:
    of_broker = [text for text in given if text.startswith("log.cleaner.")]
    of_topics = topic_configs(context, option, tuple(text for text in given if text not in of_broker))
    try:
        return _Configs(of_topics, BrokerConfig.of(key_values(context, option, tuple(of_broker))))
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


@declare("compact", SparkCommand)
@logdirs_argument
@click.option("--topic", "topics", multiple=True, metavar="T", help="A topic; may be repeated. Default: all compacted.")
@configs_option(_configs)
@now_option
@click.option("--force", is_flag=True, help="Clean whatever the dirty ratio.")
@click.option("--dry-run", is_flag=True, help="Say what would be cleaned and why, and change nothing; takes no lock.")
@click.option(
    "--key-hash",
    type=click.Choice([key_hash.name.lower() for key_hash in KeyHash]),
    default=KeyHash.SIPHASH.name.lower(),
    help="How keys are told apart; md5 is Kafka's.",
)
@spark_option
@json_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    configs: _Configs,
    now_ms: int | None,
    force: bool,
    dry_run: bool,
    key_hash: str,
    master: str | None,
    as_json: bool,
) -> int:
    """Let the cleaner go once over each partition: of every key the last record stays. A line a partition.

    A partition is cleaned if its dirty ratio is above min.cleanable.dirty.ratio, or max.compaction.lag.ms is over. Each
    line says what was done or why nothing was, and what holds the cleaner back from the rest: the active segment, an
    open transaction, min.compaction.lag.ms. --config takes configs of topics, and log.cleaner.dedupe.buffer.size and
    log.cleaner.io.buffer.load.factor, which bound the memory for keys: where they do not fit, the round ends before
    the dirty part does, and the next one goes on.
    """
    if dry_run and master is not None:
        raise click.UsageError("--dry-run runs here, expected it without --spark")
    check_topics(logdirs, topics)
    explicit = dict.fromkeys(topics or known_topics(logdirs), configs.topics) if configs.topics else {}
    terms = Terms(only=topics or None, topic_configs=explicit, now_ms=now_ms, dry_run=dry_run)
    limits = MapLimits.of(configs.broker, secrets.token_bytes(16), KeyHash[key_hash.upper()])
    failed = 0
    with owned(logdirs, terms) as logs:
        say_recoveries(logs, dry_run=dry_run)
        judged = [each for each in judge(logs, limits, force=force) if topics or each.explanation.is_compacted]
        for row in _rows(judged, logs, master, dry_run):
            failed += row.error is not None or not row.explanation.is_compacted
            print_row(row, as_json=as_json)
    return 1 if failed else 0


def _rows(judged: list[Judged], logs: LogDir, master: str | None, dry_run: bool) -> Iterator[Row]:
    """What became of each partition, in their order."""
    candidates = [each.candidate for each in judged if each.candidate is not None]
    total = sum(each.plan.size + sum(segment.size for segment in each.plan.segments) for each in candidates)
    with job_runner(master) as runner, progress_bar("compacting", total) as progress:
        filesystem = logs.environment.filesystem if master is None else None
        done = compact(candidates, runner, progress, filesystem)
        for each in judged:
            compacted = next(done) if each.candidate is not None else None
            cleaned, error = (compacted.cleaned, compacted.error) if compacted is not None else (None, None)
            yield Row(each.name, each.explanation, cleaned, error, dry_run)
