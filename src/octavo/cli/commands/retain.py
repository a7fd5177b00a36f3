"""`octavo retain`: runs one round of retention."""

from __future__ import annotations

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
        for topic_partition, log in sorted(logs.logs.items()):
            sizes = {segment.base_offset: segment.size for segment in log.segments}
            for verdict in log.retain(dry_run=dry_run):
                if verdict.reason is None:
                    kept += 1
                else:
                    gone, size = gone + 1, size + sizes[verdict.base_offset]
                _print(topic_partition, verdict, sizes[verdict.base_offset], as_json=as_json, dry_run=dry_run)
    if not as_json:
        deleted, stay = "would be deleted" if dry_run else "deleted", "stays" if kept == 1 else "stay"
        echo(f"{many(gone, 'segment')} of {many(size, 'byte')} {deleted}, {kept} {stay}")


def _print(topic_partition: TopicPartition, verdict: Verdict, size: int, *, as_json: bool, dry_run: bool) -> None:
    stays = verdict.reason is None
    if not as_json:
        fate = "stays" if stays else "would be deleted" if dry_run else "deleted"
        reason = verdict.detail if stays else f"{verdict.reason}: {verdict.detail}"
        echo(f"{topic_partition}: segment {verdict.base_offset}, {many(size, 'byte')}, {fate}: {reason}")
        return
    print_json(
        {
            **topic_partition._asdict(),
            "segment": verdict.base_offset,
            "bytes": size,
            "decision": "keep" if stays else "delete",
            "limit": verdict.reason,
            "reason": verdict.detail,
        }
    )
