"""`octavo cat --format arrow|parquet --output`: runs the export job, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from octavo.cli.cat.output import is_folder, made_at
from octavo.cli.cat.written import say_written
from octavo.cli.options import say_notes
from octavo.cli.progress import progress_bar
from octavo.jobs import export
from octavo.jobs.export import ExportForm, ExportRequest, ExportResult, ExportTask
from octavo.scanner.api import Scan
from octavo.system.runner import Runner, TaskOutcome, ThreadRunner


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


def _outcomes(tasks: list[ExportTask], runner: Runner) -> Iterable[TaskOutcome[ExportTask, ExportResult]]:
    with progress_bar("exporting", sum(task.size for task in tasks)) as progress:
        if isinstance(runner, ThreadRunner):  # it also reports progress within a task
            yield from runner.run(partial(export.run, advance=progress), tasks)
        else:
            yield from runner.run(export.run, tasks, progress)
