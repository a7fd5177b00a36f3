"""`octavo copy`: appends the batches of topics to another log directory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    config_option,
    echo,
    include_option,
    json_option,
    many,
    path_type,
    print_json,
    say_notes,
    topics_option,
)
from octavo.cli.owner import Ownership, lost_text, owned, warnings_on_stderr, without_reason
from octavo.cli.progress import progress_bar
from octavo.errors import OctavoError, ScanError, first_of
from octavo.format.names import CLUSTER_METADATA_TOPIC, TopicPartition
from octavo.jobs import copy as job
from octavo.jobs.copy import Copied, CopyTask
from octavo.jobs.copy_target import check_target
from octavo.jobs.source_configs import source_configs
from octavo.scanner.log_dirs import LogDirs, open_log_dirs
from octavo.scanner.places.selection import TopicSelection
from octavo.storage.log_manager import LogManager
from octavo.system.runner import Progress, ThreadRunner


@declare("copy")
@click.argument("source", metavar="SRC", type=path_type)
@click.argument("target", metavar="DST", type=path_type)
@topics_option
@include_option
@config_option
@click.option(
    "--into-existing",
    is_flag=True,
    help="Copy even if DST may belong to another cluster, or has topics that octavo did not create.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be copied, and change nothing; takes no lock.")
@json_option
def command(
    source: str,
    target: str,
    topics: tuple[str, ...],
    include: re.Pattern[str] | None,
    configs: dict[str, str],
    into_existing: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Append every batch of the topics in SRC to the log directory DST, like a follower: offsets and bytes are kept.

    All topics are copied, internal ones too, except the cluster's metadata; --topic and --include choose some.
    Segments, indexes and producer state are built again, under the configs that the topic has in DST. A new topic gets
    the id and the configs of the one in SRC; --config changes them, and those of an existing topic. If a partition
    exists in DST, the copy continues at its end, unless it does not fit: its topic id or its last batch may differ from
    SRC's. SRC may be in use or damaged: a damaged batch is skipped and reported on stderr, and flushed offsets that are
    missing at a log's end are reported too; the exit code is then 1.

    A DST is refused if it has topics that octavo did not create, or no topics and perhaps another cluster's id: SRC and
    DST may have been swapped.
    """
    if topics and include:
        raise click.UsageError("--topic and --include cannot be used together")
    log_dirs = _listed(source, topics, include)
    check_target(log_dirs, target, into_existing=into_existing)
    say_notes(log_dirs.notes)
    with warnings_on_stderr():
        known = source_configs(directory.root.location for directory in log_dirs.directories)
    tasks = job.plan(log_dirs.partitions.values(), known)
    names = sorted({task.topic_partition.topic for task in tasks})
    done: list[tuple[CopyTask, Copied]] = []
    problems, runner, failed = 0, ThreadRunner(), list(log_dirs.unreadable())
    with owned([target], Ownership(only=names, create=True, dry_run=dry_run)) as logs:
        for topic in names:
            own = {} if topic in logs.topics else known.inherited(topic)
            of_topic = [task for task in tasks if task.topic_partition.topic == topic]
            job.prepare(logs, topic, of_topic, {**own, **configs})
        with progress_bar("copying", sum(task.size for task in tasks)) as progress:
            for outcome in runner.run(partial(_run, logs, progress, runner, dry_run), tasks):
                try:
                    copied = outcome.get()
                except OctavoError as error:
                    failed.append(outcome.task.topic_partition)
                    echo(f"octavo: {outcome.task.topic_partition}: {without_reason(error, logs)}", err=True)
                    continue
                problems += copied.damage_count
                done.append((outcome.task, copied))
                say_notes(copied.notes)
                _print(outcome.task, copied, logs, as_json=as_json, dry_run=dry_run)
    if done and not as_json:
        echo(_summary(done, failed, dry_run=dry_run))
    return 1 if problems or failed else 0


def _listed(source: str, topics: Sequence[str], include: re.Pattern[str] | None) -> LogDirs:
    """What to copy: the named topics, those whose whole name matches, or all; the metadata only if it is named."""
    if topics:
        selection = TopicSelection.of(topics)
        log_dirs = open_log_dirs(source, selection.wants)
        selection.check(log_dirs.topic_partitions(), log_dirs.shown())
        return log_dirs
    pattern = include or re.compile(".*")
    log_dirs = open_log_dirs(
        source, lambda wanted: wanted.topic != CLUSTER_METADATA_TOPIC and bool(pattern.fullmatch(wanted.topic))
    )
    if not log_dirs.partitions and not log_dirs.unreadable():
        there = first_of(sorted(log_dirs.topics())) or "none"
        raise ScanError(f"{log_dirs.shown()}: there is no topic to copy; the topics are: {there}")
    return log_dirs


def _run(logs: LogManager, progress: Progress, runner: ThreadRunner, dry_run: bool, task: CopyTask) -> Copied:
    return job.run(task, logs.log(*task.topic_partition), progress, lambda: runner.is_ending, dry_run=dry_run)


def _print(task: CopyTask, copied: Copied, logs: LogManager, *, as_json: bool, dry_run: bool) -> None:
    topic_partition, log = task.topic_partition, logs.log(*task.topic_partition)
    if as_json:
        print_json(
            {
                **topic_partition._asdict(),
                "startOffset": copied.start_offset,
                "batches": copied.batches,
                "bytes": copied.size,
                "damages": copied.damage_count,
                "lostOffsets": _lost_offsets(copied),
                "bytesAfterEnd": copied.after_end.size,
                "segments": None if dry_run else len(log.segments),
                "logStartOffset": min(task.snapshot.log_start_offset, copied.end_offset),
                "logEndOffset": copied.end_offset,
            }
        )
        return
    offsets = f"from offset {copied.start_offset} to {copied.end_offset}"
    found = f"{many(copied.batches, 'batch', 'batches')}, {many(copied.size, 'byte')}, {offsets}"
    end = " would be copied" if dry_run else f"; {many(len(log.segments), 'segment')}"
    echo(f"{topic_partition}: {found}{end}")


def _summary(done: Sequence[tuple[CopyTask, Copied]], failed: Sequence[TopicPartition], *, dry_run: bool) -> str:
    batches = many(sum(copied.batches for _, copied in done), "batch", "batches")
    size = many(sum(copied.size for _, copied in done), "byte")
    topics = {task.topic_partition.topic for task, _ in done}
    where = f"{many(len(done), 'partition')} of {many(len(topics), 'topic')}"
    parts = [(task.topic_partition, part) for task, copied in done for part in copied.lost]
    parts += [(task.topic_partition, copied.after_end) for task, copied in done if copied.after_end.size]
    lost = [f"{name} {lost_text(part)}" for name, part in parts]
    gaps = [f"{task.topic_partition} {lost_text(part)}" for task, copied in done for part in copied.gaps]
    is_damaged = any(copied.damage_count for _, copied in done)
    named = first_of(lost) or ("unknown offsets, see the notes" if is_damaged else "nothing")
    incomplete = f"; failed: {first_of([*map(str, sorted(failed))])}" if failed else ""
    absent = f"; missing in SRC: {first_of(gaps)}" if gaps else ""
    return f"{batches}, {size} of {where} {'would be ' if dry_run else ''}copied; lost: {named}{absent}{incomplete}"


def _lost_offsets(copied: Copied) -> list[list[int]]:
    lost = [(part.first_offset, part.last_offset) for part in (*copied.lost, copied.after_end)]
    return [[first, last] for first, last in lost if first is not None and last is not None]
