"""`octavo reindex`: the indexes of segments, made anew from their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from octavo.cli.options import command as declare
from octavo.cli.options import config_option, json_option, logdirs_argument, print_json
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.errors import CorruptionError, ScanError
from octavo.filesystem import LocalFileSystem
from octavo.jobs import reindex as job
from octavo.jobs.build_index import IndexLimits
from octavo.jobs.reindex import ReindexResult, ReindexTask
from octavo.scan.directory import Directory, read_directory
from octavo.scan.location import LOCAL, locate
from octavo.storage.lock import DirectoryLock
from octavo.storage.topic_configs import TopicConfigs


@declare("reindex", SparkCommand)
@logdirs_argument
@click.option("--topic", "topics", multiple=True, metavar="T", help="A topic; may be repeated. Default: all.")
@config_option
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@spark_option
@json_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    configs: dict[str, str],
    dry_run: bool,
    master: str | None,
    as_json: bool,
) -> int:
    """Write the offset and time indexes of LOGDIR anew, as appending the same batches would make them.

    A line for each segment whose indexes change. index.interval.bytes and segment.index.bytes are those of the topic.
    Logs stay as they are: the indexes of a damaged one end before the damage, which is told, and the exit code is 1
    then. A directory that a broker or another process has locked is refused.
    """
    directories = [_listed(place, topics) for place in logdirs]
    with _locked([] if dry_run else directories):
        if not dry_run:
            directories = [_listed(place, topics) for place in logdirs]  # as it is now that nobody else changes it
        tasks = [task for directory in directories for task in _plan(directory, configs, dry_run)]
        changed = failed = 0
        total = sum(task.size for task in tasks)
        with job_runner(master) as runner, progress_bar("indexing", total) as progress:
            for outcome in job.commit(runner.run(job.run, tasks, progress)):
                result = outcome.get()
                changed += bool(result.changed)
                failed += result.problem is not None
                if result.changed or result.problem is not None:
                    _print(outcome.task, result, as_json)
    if not as_json:
        verb = "would get" if dry_run else "got"
        click.echo(f"{changed} of {len(tasks)} segments {verb} new indexes")
    return 1 if failed else 0


def _listed(place: str, topics: Sequence[str]) -> Directory:
    location = locate(place)
    if location.file_system != LOCAL:
        raise ScanError(f"{location}: expected a path of this machine, since files are written")
    return read_directory(location, (lambda name: name.topic in topics) if topics else None)


@contextmanager
def _locked(directories: Sequence[Directory]) -> Iterator[None]:
    """Hold the locks of all log directories, each once."""
    with ExitStack() as stack:
        for root in dict.fromkeys(Path(directory.root.location.path).resolve() for directory in directories):
            stack.callback(DirectoryLock(root).release)
        yield


def _plan(directory: Directory, configs: dict[str, str], dry_run: bool) -> list[ReindexTask]:
    known = TopicConfigs(LocalFileSystem(), [Path(directory.root.location.path)], {})

    def limits_of(topic: str) -> IndexLimits:
        config = known.of(topic, configs)
        return IndexLimits(config.index_interval_bytes, config.segment_index_bytes)

    return job.plan(directory.partitions.values(), limits_of, write=not dry_run)


def _print(task: ReindexTask, result: ReindexResult, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "topic": task.topic_partition.topic,
                "partition": task.topic_partition.partition,
                "segment": task.base_offset,
                "offsetIndexEntries": result.offset_entries,
                "timeIndexEntries": result.time_entries,
                "changed": list(result.changed),
                "problem": result.problem,
                "position": result.stop_position if result.problem is not None else None,
            }
        )
        return
    place = task.folder / f"{task.base_offset:020}"
    entries = f"{result.offset_entries} and {result.time_entries} entries"
    line = f"{place}: {entries}, changed: {', '.join(result.changed) or 'none'}"
    if result.problem is not None:
        error = CorruptionError(result.problem, position=result.stop_position)
        line += f"; the log is followed no further than {error}"
    click.echo(line)
