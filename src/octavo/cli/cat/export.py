"""Writes the files of `octavo cat --output`: runs the export job, or counts the records that go into a text file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from octavo.cli.cat.output import is_folder, made_at
from octavo.cli.options import echo, many, say_notes
from octavo.cli.progress import progress_bar
from octavo.jobs import export
from octavo.jobs.export import ExportForm, ExportRequest, ExportResult, ExportTask
from octavo.scanner.api import Scan
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.records import ConsumerRecord
from octavo.system.runner import Progress, Runner, TaskOutcome, ThreadRunner

_RECORDS_AT_ONCE = 4096


def export_records(
    records: Scan, output: str, form: ExportForm, limit: int | None, runner: Runner, *, text: bool
) -> int:
    """Write the records to a file or a folder; returns how many damaged places were skipped."""
    path = Path(output).resolve()  # follows links, so that their target is replaced
    request = ExportRequest(path, is_folder(output), form, records.columns, limit, text)
    with made_at(path):
        export.prepare(request)
    tasks = export.plan(records.plan(), request)
    with made_at(path):
        results = export.commit(tasks, _outcomes(tasks, runner))
    for result in results:
        say_notes(result.notes)
    say_written(output, len(results), sum(result.rows for result in results), sum(result.size for result in results))
    return sum(result.damage_count for result in results)


class CountedRecords:
    """Yields the records of tasks, in order, and counts them; progress is reported in bytes of log."""

    def __init__(self, records: Iterable[ConsumerRecord], tasks: Sequence[ReadTask], progress: Progress) -> None:
        self.count = 0
        self._records = iter(records)
        self._tasks = tasks
        self._progress = progress

    def __iter__(self) -> Iterator[ConsumerRecord]:
        reported, before, slot = 0, 0, 0  # bytes, the bytes of the tasks that are done, and the task that is being read
        while several := list(islice(self._records, _RECORDS_AT_ONCE)):
            yield from several
            self.count += len(several)
            last = several[-1]
            while not _holds(self._tasks[slot], last):
                before, slot = before + self._tasks[slot].size, slot + 1
            task = self._tasks[slot]
            offsets = last.offset + 1 - task.start_offset
            done = before + task.size * offsets // (task.end_offset - task.start_offset)
            self._progress(done - reported)
            reported = done


def say_written(output: str, files: int, records: int, size: int) -> None:
    """Print on stderr what was written."""
    echo(f"{output}: {many(files, 'file')}, {many(records, 'record')}, {many(size, 'byte')}", err=True)


def _outcomes(tasks: list[ExportTask], runner: Runner) -> Iterable[TaskOutcome[ExportTask, ExportResult]]:
    with progress_bar("exporting", sum(task.size for task in tasks)) as progress:
        if isinstance(runner, ThreadRunner):  # it also reports progress within a task
            yield from runner.run(partial(export.run, advance=progress), tasks)
        else:
            yield from runner.run(export.run, tasks, progress)


def _holds(task: ReadTask, record: ConsumerRecord) -> bool:
    is_there = (task.topic, task.partition) == (record.topic, record.partition)
    return is_there and task.start_offset <= record.offset < task.end_offset
