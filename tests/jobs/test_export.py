"""Export: all records of a scan in files, and only complete files, whatever happens on the way."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import octavo
from octavo.errors import OctavoError
from octavo.jobs import export
from octavo.jobs.export import ExportForm, ExportRequest, ExportResult, ExportTask
from octavo.scanner.api import Scan
from octavo.scanner.reading.read import COLUMNS
from octavo.scanner.reading.read_ahead import read_ahead
from octavo.system.runner import ThreadRunner
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for partition in range(2):
        for base_offset in (0, 500):
            write_segment(
                folder / f"orders-{partition}",
                base_offset,
                *(batch(number, 10, timestamp=number) for number in range(base_offset, base_offset + 500, 10)),
            )
    return folder


def scan(logs: Path) -> Scan:
    return octavo.scan(logs, split_bytes=3000)


def exported(logs: Path, request: ExportRequest) -> list[ExportResult]:
    export.prepare(request)
    tasks = export.plan(scan(logs).plan(), request)
    tasks = [pickle.loads(pickle.dumps(task)) for task in tasks]  # as they travel to a worker
    return export.commit(tasks, ThreadRunner(2).run(export.run, tasks))


def request(
    output: Path, form: ExportForm = "parquet", limit: int | None = None, *, folder: bool = False
) -> ExportRequest:
    return ExportRequest(output, folder, form, tuple(COLUMNS), limit)


def read_parquet(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()  # pq.read_table would turn folder names into columns


def read_arrow(path: Path) -> pa.Table:
    with path.open("rb") as file:
        return pa.ipc.open_stream(file).read_all()


def test_columns_of_several_topics_in_one_file_are_plain(logs: Path, tmp_path: Path) -> None:
    # Each batch of a task has its topic as a dictionary of one value, so a row group with several topics has several.
    write_segment(logs / "payments-0", 0, batch(0, 10, timestamp=0))
    exported(logs, request(tmp_path / "out.parquet"))
    written = read_parquet(tmp_path / "out.parquet")
    assert written.schema == scan(logs).to_reader().schema
    assert written.equals(scan(logs).to_table())
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 1
    assert set(written["topic"].to_pylist()) == {"orders", "payments"}


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("arrow", read_arrow)])
@pytest.mark.parametrize("limit", [None, 0, 1, 1234, 5000])
def test_one_file_has_all_records_in_order(
    logs: Path, tmp_path: Path, form: ExportForm, read: Callable[[Path], pa.Table], limit: int | None
) -> None:
    output = tmp_path / "records"
    (result,) = exported(logs, request(output, form, limit))
    expected = scan(logs).to_table().slice(0, limit)
    assert read(output).equals(expected)
    assert (result.rows, result.size) == (expected.num_rows, output.stat().st_size)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["records"]


@pytest.mark.parametrize(("form", "read"), [("parquet", read_parquet), ("arrow", read_arrow)])
def test_a_folder_has_one_file_per_task(
    logs: Path, tmp_path: Path, form: ExportForm, read: Callable[[Path], pa.Table]
) -> None:
    output = tmp_path / "out" / "orders"
    results = exported(logs, request(output, form, folder=True))
    files = sorted(output.iterdir())
    assert len(files) == len(results) == len(scan(logs).plan()) > 8
    assert files[0].name == f"orders-0-{0:020}.{form}"
    assert pa.concat_tables(map(read, files)).equals(scan(logs).to_table())


def test_a_folder_with_a_limit_has_one_file(logs: Path, tmp_path: Path) -> None:
    exported(logs, request(tmp_path / "out", limit=1234, folder=True))
    (file,) = (tmp_path / "out").iterdir()
    assert read_parquet(file).equals(scan(logs).to_table().slice(0, 1234))


def test_a_folder_that_holds_files_of_the_form_is_refused(logs: Path, tmp_path: Path) -> None:
    exported(logs, request(tmp_path / "out", folder=True))
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(OctavoError, match="choose a folder without parquet files"):
        exported(logs, request(tmp_path / "out", folder=True))
    assert sorted((tmp_path / "out").iterdir()) == before
    exported(logs, request(tmp_path / "out", "arrow", folder=True))


def test_a_failed_task_leaves_all_as_it_was(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    wanted = request(output, folder=True)
    export.prepare(wanted)
    tasks = export.plan(scan(logs).plan(), wanted)

    def failing(task: ExportTask) -> ExportResult:
        result = export.run(task)
        if task is tasks[3]:
            raise OctavoError("the disk is full")
        return result

    with pytest.raises(OctavoError, match="the disk is full"):
        export.commit(tasks, ThreadRunner(2).run(failing, tasks))
    assert list(output.iterdir()) == []


def test_other_attempts_at_a_task_are_swept(logs: Path, tmp_path: Path) -> None:
    wanted = request(tmp_path / "out", folder=True)
    export.prepare(wanted)
    tasks = export.plan(scan(logs).plan(), wanted)
    export.run(tasks[0])
    (tmp_path / "out" / ".others").touch()
    export.commit(tasks, ThreadRunner(2).run(export.run, tasks))
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(names) == len(tasks) + 1
    assert [name for name in names if name.startswith(".")] == [".others"]


def test_progress_counts_the_bytes_of_each_read(logs: Path, tmp_path: Path) -> None:
    (task,) = export.plan(scan(logs).plan(), request(tmp_path / "out"))
    told: list[int] = []
    export.run(task, told.append)
    assert len(told) == len(task.reads)
    assert sum(told) == task.size > 0


def test_reading_ahead_gives_the_same_and_its_error_in_its_place() -> None:
    def three_then_error() -> Iterator[int]:
        yield from range(3)
        raise OctavoError("no more")

    assert list(read_ahead(range(100))) == list(range(100))
    taken = []
    with pytest.raises(OctavoError, match="no more"):
        for item in read_ahead(three_then_error()):
            taken.append(item)
    assert taken == [0, 1, 2]


def test_reading_ahead_ends_with_its_consumer() -> None:
    closed = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    ahead = read_ahead(endless())
    assert next(iter(ahead)) == 1
    ahead.close()  # type: ignore[attr-defined]
    assert closed == [True]
