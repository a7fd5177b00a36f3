"""Writes records to Parquet or Arrow files: one file for all of them, or a folder with one file per task.

A crash after any of these steps leaves only complete files, and hidden ones that readers of folders ignore.

1. `run` writes the records of a task to a hidden file next to its target, and syncs it. Every attempt at a task uses
   its own name.
2. `commit` waits for all tasks. If one failed, it removes the hidden files, and no target has changed.
3. It renames the files into place; an existing file of the same name is replaced. In a folder, a file's name consists
   of topic, partition and offset.
4. It syncs the folder, and removes what other attempts at the tasks left.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from octavo.errors import OctavoError
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.pool import pool_of_thread
from octavo.scanner.reading.read import wanted_columns
from octavo.scanner.reading.read_ahead import read_ahead
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.os_errors import placed
from octavo.system.runner import TaskOutcome

ExportForm = Literal["arrow", "parquet"]
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to write and where; `limit` counts the records of all tasks together."""

    output: Path
    into_folder: bool
    form: ExportForm
    columns: tuple[str, ...]
    limit: int | None = None
    text: bool = False  # keys, values and header values as strings


@dataclass(frozen=True, slots=True)
class ExportTask:
    """Write one file. Picklable."""

    request: ExportRequest
    reads: tuple[ReadTask, ...]
    target: Path
    token: str  # identifies this export in the names of its files until they are in place

    @property
    def size(self) -> int:
        return sum(read.size for read in self.reads)


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A file that was written, and what was noted on the way."""

    path: Path
    rows: int
    size: int  # in bytes
    notes: tuple[Note, ...]
    damage_count: int


def plan(reads: Sequence[ReadTask], request: ExportRequest) -> list[ExportTask]:
    """One task per file. In a folder, each task of the scan has its own file, unless there is a limit."""
    token = uuid.uuid4().hex
    if not request.into_folder:
        return [ExportTask(request, tuple(reads), request.output, token)]
    groups = [tuple(reads)] if request.limit is not None and reads else [(read,) for read in reads]
    return [ExportTask(request, group, request.output / _name(group[0], request.form), token) for group in groups]


def prepare(request: ExportRequest, filesystem: FileSystem | None = None) -> None:
    """Create the folder, if one is wanted; raises if it already has files of the same format.

    Readers of the folder would take those for part of the export.
    """
    filesystem = filesystem or LocalFileSystem()
    if not request.into_folder:
        return
    filesystem.mkdir(request.output)
    found = [name for name in filesystem.names(request.output) if name.endswith(f".{request.form}")]
    if found:
        raise OctavoError(f"{request.output}: it holds {found[0]}; choose a folder without {request.form} files")


def run(task: ExportTask, advance: Advance | None = None) -> ExportResult:
    """Write the records of a task to a hidden file; `advance` is called with the size of each scan task after it is
    read."""
    from octavo.scanner.reading.arrow import first_rows, read_tasks, schema_of  # pyarrow is slow to import
    from octavo.scanner.reading.arrow_files import write_file

    staged = task.target.with_name(f".{task.target.name}.{task.token}.{uuid.uuid4().hex[:8]}")
    request, findings = task.request, ScanFindings("skip")
    reads = task.reads if advance is None else _reporting(task.reads, advance)
    dictionaries = request.form == "parquet"  # Parquet writes plain columns; an Arrow file would keep the dictionaries
    reads_ahead = len(task.reads) > 1  # one thread writes a file, so let another one read
    pool = None if reads_ahead else pool_of_thread(wanted_columns(request.columns))
    batches = read_tasks(reads, request.columns, findings, dictionaries=dictionaries, text=request.text, pool=pool)
    if reads_ahead:
        batches = read_ahead(batches)
    schema = schema_of(request.columns, dictionaries=dictionaries, text=request.text)
    with placed(task.target):
        rows = write_file(request.form, staged, schema, first_rows(batches, request.limit))
    return ExportResult(staged, rows, staged.stat().st_size, tuple(findings.notes), findings.damage_count)


def commit(
    tasks: Sequence[ExportTask],
    outcomes: Iterable[TaskOutcome[ExportTask, ExportResult]],
    filesystem: FileSystem | None = None,
) -> list[ExportResult]:
    """Rename the files into place once all are written; raises the error of the first task that failed."""
    filesystem = filesystem or LocalFileSystem()
    try:
        results = [outcome.get() for outcome in outcomes]
        for task, result in zip(tasks, results, strict=True):
            filesystem.rename(result.path, task.target)
        return [replace(result, path=task.target) for task, result in zip(tasks, results, strict=True)]
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()  # wait for tasks that are still writing
        for folder, token in {(task.target.parent, task.token) for task in tasks}:
            filesystem.fsync_folder(folder)
            _sweep(filesystem, folder, token)


def _sweep(filesystem: FileSystem, folder: Path, token: str) -> None:
    for name in filesystem.names(folder):
        if name.startswith(".") and f".{token}." in name:
            filesystem.unlink(folder / name)


def _reporting(reads: Iterable[ReadTask], advance: Advance) -> Iterator[ReadTask]:
    for read in reads:
        yield read
        advance(read.size)


def _name(read: ReadTask, form: ExportForm) -> str:
    return f"{read.topic}-{read.partition}-{read.start_offset:020}.{form}"
