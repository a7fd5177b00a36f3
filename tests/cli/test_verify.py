"""`octavo verify`: lines, summary, exit codes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from octavo.scanner.places.location import Entry, LocalReadableFileSystem
from tests.cli.runs import octavo
from tests.cli.terminal import octavo_on_terminal
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


def test_a_sound_directory_is_one_line_and_the_exit_code_is_0(log: Path) -> None:
    run = octavo("verify", str(log.parent.parent))
    size = log.stat().st_size
    assert (run.exit, run.stderr) == (0, "")
    assert run.stdout == f"0 problems, 0 notes in 1 segment of 1 partition (2 batches, 4 records, {size} bytes)\n"


def test_a_problem_is_a_line_and_the_exit_code_is_1(log: Path) -> None:
    damage(log)
    run = octavo("verify", str(log.parent.parent))
    problem, summary, *steps = run.stdout.splitlines()
    assert run.exit == 1
    assert problem.startswith(f"problem: {log}, position 0: crc-mismatch: the CRC of the batch at offset 0 is not ")
    assert summary.startswith("1 problem, 0 notes in 1 segment of 1 partition ")
    root = log.parent.parent
    assert steps == [
        "next:",
        f"  octavo explain --position 0 {log}",
        f"  octavo copy {root} NEW  # keeps every sound batch",
        f"  octavo recover --all --dry-run {root}  # what recovery would cut",
    ]


def test_each_advised_command_names_the_directory_it_concerns(tmp_path: Path) -> None:
    logs = [write_segment(tmp_path / name / "orders-0", 0, batch(0, 3), batch(3)) for name in ("a", "ab")]
    index = logs[0].with_suffix(".index")
    index.write_bytes(index.read_bytes() + bytes(7))
    damage(logs[1])
    run = octavo("verify", str(tmp_path / "a"), str(tmp_path / "ab"))
    _, *steps = run.stdout[run.stdout.index("next:") :].splitlines()
    assert [step.strip() for step in steps if " explain " not in step] == [
        f"octavo reindex --dry-run {tmp_path}/a  # which indexes can be rebuilt",
        f"octavo copy {tmp_path}/ab NEW  # keeps every sound batch",
        f"octavo recover --all --dry-run {tmp_path}/ab  # what recovery would cut",
    ]


def test_json_lines(log: Path) -> None:
    damage(log)
    run = octavo("verify", str(log), "--json")
    problem, summary = map(json.loads, run.stdout.splitlines())
    assert list(problem) == ["path", "position", "problem", "detail", "severity"]
    assert (problem["path"], problem["position"], problem["severity"]) == (str(log), 0, "problem")
    assert summary["problems"] == 1
    assert set(summary) == {"problems", "infos", "partitions", "segments", "batches", "records", "bytes"}


def test_notes_alone_give_exit_code_0_and_are_counted_by_kind() -> None:
    root = unpack("v431-killed")
    run = octavo("verify", str(root))
    assert run.exit == 0
    counts, summary, *steps = run.stdout.splitlines()
    assert counts == (
        "54 notes: 29 files and folders on their way out, 24 indexes with unused entries at their end, "
        "1 log with zeros at its end; --all shows them"
    )
    assert summary.startswith("0 problems, 54 notes in 32 segments of 12 partitions (928 batches, 2991 records, ")
    assert summary.endswith(", 213362 bytes = 208.4 KiB)")
    assert steps == ["next:", f"  octavo recover --dry-run {root}  # unless a broker runs on it"]
    everything = octavo("verify", str(root), "--all").stdout.splitlines()
    assert [line for line in everything if line.startswith("note: ")] == everything[:54]
    assert everything[54:] == [summary, *steps]


def test_problems_come_before_notes() -> None:
    lines = octavo("verify", str(unpack("v431-torn")), "--all").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:59]] == ["problem"] * 2 + ["note"] * 57


def test_only_an_index_is_wrong(log: Path) -> None:
    index = log.with_suffix(".index")
    index.write_bytes(bytes([0, 0, 0, 3, 0, 0, 0, 9]))
    os.utime(index, (LONG_AGO, LONG_AGO))
    steps = octavo("verify", str(log.parent.parent)).stdout.splitlines()[-2:]
    assert steps[0].startswith(f"  octavo explain --position 0 {index}")
    assert steps[1] == f"  octavo reindex --dry-run {log.parent.parent}  # which indexes can be rebuilt"


def test_nothing_to_check_gives_exit_code_1(tmp_path: Path) -> None:
    run = octavo("verify", str(tmp_path))
    assert run.exit == 1
    assert f"{tmp_path}: " in run.stderr


@pytest.mark.parametrize(("variables", "colour"), [({}, "\x1b[31m"), ({"NO_COLOR": "1"}, ""), ({"TERM": "dumb"}, "")])
def test_colour_is_for_terminals_that_want_it(log: Path, variables: dict[str, str], colour: str) -> None:
    damage(log)
    seen = octavo_on_terminal(80, "verify", str(log), **{"NO_COLOR": "", "TERM": "xterm", **variables})
    assert seen.startswith(f"{colour}problem")


def test_a_terminal_gets_short_paths_and_the_first_problems(tmp_path: Path) -> None:
    for partition in range(20):
        damage(write_segment(tmp_path / f"orders-{partition}", 0, batch(0, 3), batch(3)))
    lines = octavo_on_terminal(80, "verify", str(tmp_path), NO_COLOR="1").splitlines()
    assert lines[0] == f"problem: orders-0/{0:020}.log, position 0:"
    assert lines[1].startswith("    crc-mismatch: the CRC of the batch at offset 0 is not ")
    assert "8 more problems: 8 crc-mismatch; --all shows all problems" in lines
    assert len(lines) < 50
    assert len([line for line in octavo("verify", str(tmp_path)).stdout.splitlines() if "problem: " in line]) == 20


def test_a_partition_that_cannot_be_read_still_counts(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = LocalReadableFileSystem.list

    def failing(self: LocalReadableFileSystem, folder: str, /) -> list[Entry]:
        if folder == str(log.parent):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return listed(self, folder)

    monkeypatch.setattr(LocalReadableFileSystem, "list", failing)
    run = octavo("verify", str(log.parent.parent))
    assert (run.exit, run.stderr) == (1, "")
    assert run.stdout.startswith(
        f"problem: {log.parent}: unreadable-file: not read: Permission denied; run as the broker's user\n"
    )
