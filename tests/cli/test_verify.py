"""`octavo verify`: lines, summary, exit codes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from octavo.scanner.places.location import Entry, LocalReadableFileSystem
from tests.cli.runs import octavo
from tests.golden.archives import unpack
from tests.jobs.verify.verified import LONG_AGO, flipped
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_segment(tmp_path / "orders-0", 0, batch(0, 3), batch(3))


def damage(log: Path) -> None:
    flipped(log, 70)
    os.utime(log, (LONG_AGO, LONG_AGO))


def test_a_sound_directory_is_one_line_and_0(log: Path) -> None:
    run = octavo("verify", str(log.parent.parent))
    size = log.stat().st_size
    assert (run.exit, run.stderr) == (0, "")
    assert run.stdout == f"0 problems, 0 infos in 1 segment of 1 partition (2 batches, 4 records, {size} bytes)\n"


def test_a_problem_is_a_line_and_1(log: Path) -> None:
    damage(log)
    run = octavo("verify", str(log.parent.parent))
    problem, summary = run.stdout.splitlines()
    assert run.exit == 1
    assert problem.startswith(f"problem: {log}, position 0: crc-mismatch: the CRC of the batch at offset 0 is not ")
    assert summary.startswith("1 problem, 0 infos in 1 segment of 1 partition ")


def test_json_lines(log: Path) -> None:
    damage(log)
    run = octavo("verify", str(log), "--json")
    problem, summary = map(json.loads, run.stdout.splitlines())
    assert list(problem) == ["path", "position", "problem", "detail", "severity"]
    assert (problem["path"], problem["position"], problem["severity"]) == (str(log), 0, "problem")
    assert summary["problems"] == 1
    assert set(summary) == {"problems", "infos", "partitions", "segments", "batches", "records", "bytes"}


def test_infos_alone_exit_0() -> None:
    run = octavo("verify", str(unpack("v431-killed")))
    assert run.exit == 0
    assert "info: " in run.stdout
    assert "\nproblem: " not in run.stdout


def test_nothing_there() -> None:
    run = octavo("verify", "no-such-place")
    assert (run.exit, run.stdout) == (1, "")
    assert run.stderr.startswith("octavo: no-such-place: no such log directory")


@pytest.mark.parametrize(("variables", "colour"), [({}, "\x1b[31m"), ({"NO_COLOR": "1"}, ""), ({"TERM": "dumb"}, "")])
def test_colour_is_for_terminals_that_want_it(
    log: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colour: str
) -> None:
    damage(log)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    assert octavo("verify", str(log)).stdout.startswith(f"{colour}problem")


def test_a_partition_that_cannot_be_read_is_one_all_the_same(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = LocalReadableFileSystem.list

    def failing(self: LocalReadableFileSystem, folder: str, /) -> list[Entry]:
        if folder == str(log.parent):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return listed(self, folder)

    monkeypatch.setattr(LocalReadableFileSystem, "list", failing)
    run = octavo("verify", str(log.parent.parent))
    assert (run.exit, run.stderr) == (1, "")
    assert run.stdout.startswith(f"problem: {log.parent}: unreadable-file: not read: Permission denied\n")
