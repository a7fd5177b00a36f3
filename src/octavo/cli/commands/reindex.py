"""`octavo reindex`: rebuilds the indexes of segments from their logs."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    config_option,
    echo,
    json_option,
    logdirs_argument,
    many,
    print_json,
    say_notes,
    topics_option,
)
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.errors import CorruptionError
from octavo.jobs import reindex as job
from octavo.jobs.directories import directories
from octavo.jobs.reindex import ReindexResult, ReindexTask


@declare("reindex", SparkCommand)
@logdirs_argument
@topics_option
@config_option
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing; takes no lock.")
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
    """Rebuild the offset and time indexes of LOGDIR, as appending the same batches would make them.

    Prints one line per segment whose indexes change or whose log is damaged or torn. index.interval.bytes and
    segment.index.bytes are the topic's, unless --config gives others. Logs do not change: the indexes of a damaged or
    torn log end before that place; the exit code is then 1. A directory that a broker or another process has locked is
    refused, except with --dry-run.
    """
    with directories(logdirs, topics, write=not dry_run) as found:
        tasks = [task for directory in found for task in job.plan(directory, configs, write=not dry_run)]
        notes = [note for directory in found for note in directory.notes]
        say_notes(notes)
        changed, failed = 0, sum(note.is_damage for note in notes)
        total = sum(task.size for task in tasks)
        with job_runner(master, in_place=not dry_run) as runner, progress_bar("indexing", total) as progress:
            for outcome in job.commit(runner.run(job.run, tasks, progress)):
                result = outcome.get()
                changed += bool(result.changed)
                failed += result.problem is not None
                if result.changed or result.problem is not None:
                    _print(outcome.task, result, as_json)
    if not as_json:
        verb = "would get" if dry_run else "got"
        echo(f"{changed} of {many(len(tasks), 'segment')} {verb} new indexes")
    return 1 if failed else 0


def _print(task: ReindexTask, result: ReindexResult, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                **task.topic_partition._asdict(),
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
    offsets, times = result.offset_entries, result.time_entries
    entries = f"{many(offsets, 'offset entry', 'offset entries')}, {many(times, 'time entry', 'time entries')}"
    line = f"{place}: {entries}; changed: {', '.join(result.changed) or 'none'}"
    if result.problem is not None:
        error = CorruptionError(result.problem, position=result.stop_position)
        line += f"; the log can be read only up to {error}"
    echo(line)
