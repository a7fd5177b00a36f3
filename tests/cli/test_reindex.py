"""`octavo reindex`: its output, dry runs, locked directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavo.format.names import FileKind
from tests.cli.owners import locked
from tests.cli.runs import Run, octavo
from tests.scanner.refusals import unlisted
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

INTERVAL = ("--config", "index.interval.bytes=200")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *(batch(number, timestamp=1000 + number) for number in range(10)))
    write_segment(tmp_path / "other-0", 0, batch(0))
    return tmp_path


def contents(logs: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in logs.rglob("*") if file.is_file()}


def test_only_what_differs_is_written(logs: Path) -> None:
    before = contents(logs)
    path(logs / "orders-0", 0, FileKind.OFFSET_INDEX).unlink()
    run = octavo("reindex", str(logs), *INTERVAL)
    assert (run.exit, run.stderr) == (0, "")
    changed = f"{logs}/orders-0/{0:020}: 4 offset entries, 5 time entries; changed: {0:020}.index"
    assert run.stdout.splitlines() == [changed, "1 of 2 segments got new indexes"]
    assert contents(logs) == before


def test_a_topic_that_is_not_there_is_refused(logs: Path) -> None:
    run = octavo("reindex", str(logs), "--topic", "other", "--topic", "order")
    assert run == Run(1, "", f"octavo: {logs}: there is no topic 'order' (did you mean orders?)\n")


def test_a_dry_run_changes_nothing_and_takes_no_lock(logs: Path) -> None:
    with locked(logs):
        before = contents(logs)
        run = octavo("reindex", str(logs), "--config", "index.interval.bytes=0", "--dry-run", "--json")
        assert contents(logs) == before
    assert json.loads(run.stdout) == {
        "topic": "orders",
        "partition": 0,
        "segment": 0,
        "offsetIndexEntries": 9,
        "timeIndexEntries": 9,
        "changed": [f"{0:020}.index", f"{0:020}.timeindex"],
        "problem": None,
        "position": None,
    }


def test_only_the_named_topics(logs: Path) -> None:
    for folder in ("orders-0", "other-0"):
        path(logs / folder, 0, FileKind.TIME_INDEX).write_bytes(b"rubbish")
    run = octavo("reindex", str(logs), "--topic", "other")
    assert run.stdout.splitlines()[-1] == "1 of 1 segment got new indexes"
    assert path(logs / "orders-0", 0, FileKind.TIME_INDEX).read_bytes() == b"rubbish"


def test_a_damaged_log_is_reported_and_the_exit_code_is_1(logs: Path) -> None:
    log = path(logs / "orders-0", 0, FileKind.LOG)
    content = log.read_bytes()
    log.write_bytes(content[:-10])
    run = octavo("reindex", str(logs), *INTERVAL)
    assert run.exit == 1
    assert "; the log can be read only up to position " in run.stdout
    assert log.read_bytes() == content[:-10]


@pytest.mark.parametrize("place", [".", "orders-0", f"orders-0/{0:020}.log"])
def test_a_locked_directory_is_refused_and_nothing_changes(logs: Path, place: str) -> None:
    path(logs / "orders-0", 0, FileKind.OFFSET_INDEX).write_bytes(b"rubbish")
    with locked(logs):
        before = contents(logs)
        run = octavo("reindex", place, folder=logs)
        assert (run.exit, run.stdout) == (1, "")
        assert "holds .lock" in run.stderr
        assert contents(logs) == before
    assert octavo("reindex", place, folder=logs).exit == 0
    assert not (logs / ".lock").exists()


def test_a_config_that_does_not_exist(logs: Path) -> None:
    run = octavo("reindex", str(logs), "--config", "index.interval.bytes")
    assert (run.exit, run.stdout) == (2, "")
    assert "expected KEY=VALUE" in run.stderr
    run = octavo("reindex", str(logs), "--config", "index.interval.byte=1")
    assert (run.exit, run.stdout) == (2, "")
    assert "index.interval.bytes" in run.stderr


def test_a_url_is_refused() -> None:
    run = octavo("reindex", "memory://somewhere")
    assert run.exit == 1
    assert run.stderr.count("\n") == 1


def test_a_partition_that_cannot_be_listed_is_reported(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlisted(monkeypatch, "orders-0")
    run = octavo("reindex", str(logs), "--dry-run")
    assert run.exit == 1
    assert run.stderr == f"octavo: {logs}/orders-0: not read: Permission denied; run as the broker's user\n"
