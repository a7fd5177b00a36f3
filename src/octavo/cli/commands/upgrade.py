"""`octavo upgrade`: rewrites old formats as v2, or everything with another codec."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, many, print_json, topics_option, unpacked_option
from octavo.cli.owner import Ownership, owned
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.format.compression.codec import CODECS, codec_named
from octavo.jobs.directories import check_topics
from octavo.jobs.upgrade import Upgraded, plan, upgrade


@declare("upgrade", SparkCommand)
@logdirs_argument
@topics_option
@click.option(
    "--compression-type",
    type=click.Choice([row.name for row in CODECS.values()]),
    help="Write all batches with this codec; default: each keeps its own.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing; takes no lock.")
@spark_option
@json_option
@unpacked_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    compression_type: str | None,
    dry_run: bool,
    master: str | None,
    as_json: bool,
) -> int:
    """Rewrite v0 and v1 messages of LOGDIR as v2 batches, and with --compression-type every batch with that codec.

    Records keep their offsets, times and order, and segments keep their age. Uncompressed messages, which stood alone
    in old formats, are collected into batches of about 16 KB; a segment that grows beyond segment.bytes is split.
    Markers are never compressed, and segments that need no change stay as they are. A partition changes as a whole or
    not at all: if it has a damaged batch it stays as it is, which is reported; the exit code is then 1. The log of the
    cluster's metadata is never changed.
    """
    if dry_run and master is not None:
        raise click.UsageError("--dry-run and --spark cannot be used together")
    check_topics(logdirs, topics)
    codec = None if compression_type is None else codec_named(compression_type)
    failed = 0
    with owned(logdirs, Ownership(only=topics or None, dry_run=dry_run)) as logs:
        plans = plan(logs, codec)
        total = sum(task.size for planned in plans for task in planned.tasks)
        with job_runner(master, in_place=True) as runner, progress_bar("upgrading", total) as progress:
            filesystem = logs.environment.filesystem if master is None else None
            for done in upgrade(plans, runner, progress, filesystem):
                failed += done.error is not None
                _print(done, dry_run=dry_run, as_json=as_json)
    return 1 if failed else 0


def _print(done: Upgraded, *, dry_run: bool, as_json: bool) -> None:
    topic_partition = done.topic_partition
    changed = [segment for segment in done.segments if segment.base_offsets]
    before, after = sum(segment.segment.size for segment in changed), sum(segment.size for segment in changed)
    batches = sum(segment.changed_batches for segment in changed)
    if as_json:
        print_json(
            {
                **topic_partition._asdict(),
                "segments": len(done.plan.tasks),
                "changedSegments": len(changed),
                "newSegments": sum(len(segment.base_offsets) for segment in changed),
                "changedBatches": batches,
                "bytesBefore": before,
                "bytesAfter": after,
                "problem": None if done.error is None else str(done.error),
            }
        )
    elif done.error is not None:
        echo(f"{topic_partition}: stays as it is: {done.error}")
    elif not changed:
        echo(f"{topic_partition}: nothing to change")
    else:
        verb = "would be" if dry_run else "was" if batches == 1 else "were"
        sizes = f"{many(before, 'byte')} before, {many(after, 'byte')} after"
        where = f"{many(batches, 'batch', 'batches')} in {many(len(changed), 'segment')}"
        echo(f"{topic_partition}: {where} {verb} rewritten: {sizes}")
