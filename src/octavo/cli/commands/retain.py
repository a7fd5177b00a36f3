"""`octavo retain`: runs one round of retention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    config_option,
    echo,
    json_option,
    logdirs_argument,
    many,
    now_option,
    print_json,
    topics_option,
)
from octavo.cli.owner import Ownership, owned
from octavo.format.names import TopicPartition
from octavo.jobs.directories import check_topics, known_topics
from octavo.storage.log.retain import Verdict
from octavo.storage.log_manager import LogManager


class _Row(NamedTuple):
    """What happens to a segment."""

    topic_partition: TopicPartition
    size: int
    verdict: Verdict

    @property
    def goes(self) -> bool:
        return self.verdict.reason is not None


@declare("retain")
@logdirs_argument
@topics_option
@config_option
@now_option
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and change nothing; takes no lock.")
@json_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    configs: dict[str, str],
    now_ms: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete segments that lie before the log start offset, or that exceed retention.bytes or retention.ms.

    The two configs count only for topics whose cleanup.policy has delete. Prints one line per segment, with the
    decision and its reason. --config overrides the topics' own configs for this round only: with --dry-run it shows
    what a limit would do.
    """
    check_topics(logdirs, topics)
    explicit = dict.fromkeys(topics or known_topics(logdirs), configs) if configs else {}
    ownership = Ownership(only=topics or None, topic_configs=explicit, now_ms=now_ms, dry_run=dry_run)
    gone = kept = size = 0
    with owned(logdirs, ownership) as logs:
        for row in _rows(logs, dry_run=dry_run):
            gone, kept, size = gone + row.goes, kept + (not row.goes), size + row.size * row.goes
            _print(row, as_json=as_json, dry_run=dry_run)
    if not as_json:
        deleted, stay = "would be deleted" if dry_run else "deleted", "stays" if kept == 1 else "stay"
        echo(f"{many(gone, 'segment')} of {many(size, 'byte')} {deleted}, {kept} {stay}")


def _rows(logs: LogManager, *, dry_run: bool) -> Iterator[_Row]:
    for topic_partition, log in sorted(logs.logs.items()):
        sizes = {segment.base_offset: segment.size for segment in log.segments}
        for verdict in log.retain(dry_run=dry_run):
            yield _Row(topic_partition, sizes[verdict.base_offset], verdict)


def _print(row: _Row, *, as_json: bool, dry_run: bool) -> None:
    topic_partition, verdict = row.topic_partition, row.verdict
    if not as_json:
        fate = "stays" if not row.goes else "would be deleted" if dry_run else "deleted"
        reason = f"{verdict.reason}: {verdict.detail}" if row.goes else verdict.detail
        echo(f"{topic_partition}: segment {verdict.base_offset}, {many(row.size, 'byte')}, {fate}: {reason}")
        return
    print_json(
        {
            "topic": topic_partition.topic,
            "partition": topic_partition.partition,
            "segment": verdict.base_offset,
            "bytes": row.size,
            "decision": "delete" if row.goes else "keep",
            "limit": verdict.reason,
            "reason": verdict.detail,
        }
    )
