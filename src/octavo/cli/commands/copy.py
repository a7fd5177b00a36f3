"""`octavo copy`: appends the batches of topics to another log directory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from octavo.cli.options import command as declare
from octavo.cli.options import config_option, echo, json_option, many, path_type, print_json, say_notes
from octavo.cli.owner import Ownership, owned, warnings_on_stderr
from octavo.cli.progress import progress_bar
from octavo.errors import LogDirError, OctavoError
from octavo.jobs import copy as job
from octavo.jobs.copy import Copied, CopyTask
from octavo.jobs.source_configs import source_configs
from octavo.scanner.log_dirs import LogDirs, open_log_dirs
from octavo.scanner.places.location import LOCAL, Location
from octavo.scanner.places.selection import TopicSelection
from octavo.storage.log_manager import LogManager
from octavo.system.runner import Progress, ThreadRunner


@declare("copy")
@click.argument("source", metavar="SRC", type=path_type)
@click.argument("target", metavar="DST", type=path_type)
@click.option("--topic", "topics", multiple=True, required=True, metavar="T", help="A topic; may be repeated.")
@config_option
@json_option
def command(source: str, target: str, topics: tuple[str, ...], configs: dict[str, str], as_json: bool) -> int:
    """Append every batch of a topic in SRC to the log directory DST, like a follower: offsets and bytes are kept.

    Batches are appended one by one: segments, indexes and producer state are made again, by the configs that the topic
    has in DST. A new topic takes over id and configs of the one in SRC; --config sets more. A partition that exists in
    DST is continued at its end, unless its topic id or its last batch differs from SRC's. SRC may be in use or damaged:
    a damaged batch is skipped and reported on stderr; the exit code is then 1.
    """
    log_dirs = _listed(source, target, topics)
    say_notes(log_dirs.notes)
    with warnings_on_stderr():
        known = source_configs(directory.root.location for directory in log_dirs.directories)
    tasks = job.plan(log_dirs.partitions.values(), known)
    with owned([target], Ownership(only=topics, create=True)) as logs:
        for topic in topics:
            own = {} if topic in logs.topics else known.inherited(topic)
            of_topic = [task for task in tasks if task.topic_partition.topic == topic]
            job.prepare(logs, topic, of_topic, {**own, **configs})
        with progress_bar("copying", sum(task.size for task in tasks)) as progress:
            problems, runner = 0, ThreadRunner()
            for outcome in runner.run(partial(_run, logs, progress, runner), tasks):
                try:
                    copied = outcome.get()
                except OctavoError as error:
                    problems += 1
                    echo(f"octavo: {outcome.task.topic_partition}: {error}", err=True)
                    continue
                problems += copied.damage_count
                say_notes(copied.notes)
                _print(outcome.task, copied, logs, as_json)
    return 1 if problems else 0


def _listed(source: str, target: str, topics: Sequence[str]) -> LogDirs:
    selection = TopicSelection.of(topics)
    log_dirs = open_log_dirs(source, selection.wants)
    selection.check(list(log_dirs.partitions), log_dirs.topics(), log_dirs.shown())
    for directory in log_dirs.directories:
        if _local(directory.root.location) == Path(target).resolve():
            raise LogDirError(f"{target}: it holds what is to be copied; choose another log directory")
    return log_dirs


def _local(location: Location) -> Path | None:
    return Path(location.path).resolve() if location.file_system == LOCAL else None


def _run(logs: LogManager, progress: Progress, runner: ThreadRunner, task: CopyTask) -> Copied:
    return job.run(task, logs.log(*task.topic_partition), progress, lambda: runner.is_ending)


def _print(task: CopyTask, copied: Copied, logs: LogManager, as_json: bool) -> None:
    name, log = task.topic_partition, logs.log(*task.topic_partition)
    if as_json:
        print_json(
            {
                "topic": name.topic,
                "partition": name.partition,
                "startOffset": copied.start_offset,
                "batches": copied.batches,
                "bytes": copied.size,
                "damages": copied.damage_count,
                "segments": len(log.segments),
                "logStartOffset": log.log_start_offset,
                "logEndOffset": log.log_end_offset,
            }
        )
        return
    offsets = f"from offset {copied.start_offset} to {log.log_end_offset}"
    found = f"{many(copied.batches, 'batch', 'batches')}, {copied.size} bytes, {offsets}"
    echo(f"{name}: {found}; {many(len(log.segments), 'segment')}")
