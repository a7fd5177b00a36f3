"""`octavo truncate`: cuts the end of a partition's log."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, partition_option, print_json, topic_option
from octavo.cli.owner import Ownership, lost_text, owned
from octavo.format.names import TopicPartition
from octavo.jobs.directories import check_topics
from octavo.jobs.losses import from_offset


@declare("truncate")
@logdirs_argument
@topic_option
@partition_option
@click.option("--offset", required=True, type=click.IntRange(min=0), metavar="N", help="Where the log is to end.")
@click.option("--dry-run", is_flag=True, help="Show what would be cut, and change nothing; takes no lock.")
@json_option
def command(logdirs: tuple[str, ...], topic: str, partition: int, offset: int, dry_run: bool, as_json: bool) -> None:
    """Cut a partition's log at an offset: drop the batch that holds it and all after it.

    Batches are dropped whole, so records before the offset are dropped too if they are in the same batch. Indexes,
    leader epochs, producer state and checkpoints are cut as well.
    """
    check_topics(logdirs, [topic], partition)
    topic_partition = TopicPartition(topic, partition)
    with owned(logdirs, Ownership(only=[topic_partition], dry_run=dry_run)) as logs:
        log = logs.log(topic, partition)
        end, size, lost = log.log_end_offset, log.size, from_offset(log, offset)
        logs.truncate(topic, partition, offset)
        cut = size - log.size
        if as_json:
            print_json(
                {
                    **topic_partition._asdict(),
                    "bytesCut": cut,
                    "recordsCut": lost.records,
                    "logStartOffset": log.log_start_offset,
                    "logEndOffset": log.log_end_offset,
                }
            )
        elif cut or log.log_end_offset != end:
            verb, would_be = ("would end", "would be ") if dry_run else ("ends", "")
            was = f"was {end}; {lost_text(lost)} {would_be}cut"
            echo(f"{topic_partition}: {verb} at offset {log.log_end_offset}, {was}")
        else:
            echo(f"{topic_partition}: ends at offset {end}; nothing to cut")
