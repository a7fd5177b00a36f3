"""`octavo lookup`: its fields, and its messages when it cannot answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from octavo.format.names import FileKind
from tests.cli.runs import json_lines, octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden.archives import unpack
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *(batch(number, timestamp=1000 + number) for number in range(10)))
    return tmp_path


def test_an_answer_is_one_json_object(logs: Path) -> None:
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--timestamp", "1007", "--json")
    size = len(batch(0))
    assert (run.exit, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    assert json.loads(run.stdout) == {
        "segment": "00000000000000000000.log",
        "timeIndexEntry": {"timestamp": 1006, "offset": 6},
        "offsetIndexEntry": {"offset": 6, "position": 6 * size},
        "startPosition": 6 * size,
        "batchPosition": 7 * size,
        "offset": 7,
        "timestamp": 1007,
    }


@pytest.mark.parametrize("place", [".", "orders-0", "orders-0/00000000000000000000.log"])
def test_any_place_will_do(logs: Path, place: str) -> None:
    run = octavo("lookup", place, "--topic", "orders", "--partition", "0", "--offset", "3", folder=logs)
    assert run.exit == 0
    answer = json.loads(run.stdout)
    assert (answer["offset"], answer["timestamp"], answer["timeIndexEntry"]) == (3, 1003, None)
    assert answer["offsetIndexEntry"]["offset"] == 2


def test_none_is_minus_one(logs: Path) -> None:
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--timestamp", "9999", "--json")
    answer = json.loads(run.stdout)
    assert (run.exit, answer["offset"], answer["timestamp"], answer["segment"]) == (0, -1, -1, None)


def test_an_offset_below_the_log_start_offset_is_reported_on_stderr(logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--offset", "2", "--json")
    assert (run.exit, json.loads(run.stdout)["offset"]) == (0, 4)
    assert run.stderr == f"octavo: {logs}/orders-0: offset 2 is below the log start offset; looking from 4 on\n"


def test_a_damaged_index_is_reported_on_stderr(logs: Path) -> None:
    index = path(logs / "orders-0", 0, FileKind.OFFSET_INDEX)
    index.write_bytes(index.read_bytes()[:-1] + b"\x01")
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--offset", "9", "--json")
    assert (run.exit, json.loads(run.stdout)["offset"]) == (0, 9)
    assert run.stderr.startswith(f"octavo: {index}: no sound batch at position ")


@pytest.mark.parametrize(
    ("name", "question", "offset", "code"),
    [
        ("length-too-large", ("--offset", "32"), 32, 0),
        ("length-too-large", ("--offset", "21"), 22, 1),
        ("length-too-large", ("--offset", "20"), 20, 0),
        ("flip-crc", ("--offset", "1"), 3, 1),
        ("flip-crc", ("--offset", "3"), 3, 0),
        ("log-garbage-tail", ("--timestamp", "-1"), 230, 1),
        ("log-garbage-tail", ("--timestamp", "-3"), 229, 1),
        ("log-garbage-tail", ("--offset", "230"), -1, 1),
        ("log-garbage-tail", ("--offset", "229"), 229, 0),
    ],
)
def test_damage_that_the_answer_depends_on_gives_exit_code_1(
    name: str, question: tuple[str, str], offset: int, code: int
) -> None:
    run = octavo("lookup", str(unpack("v431-corrupt") / name), "--topic", name, "--partition", "0", *question)
    assert (run.exit, json.loads(run.stdout)["offset"]) == (code, offset)
    if code:
        assert f"{name}/{0:020}.log: " in run.stderr


def test_a_time_in_a_damaged_batch_gives_exit_code_1_too(logs: Path) -> None:
    log = path(logs / "orders-0", 0, FileKind.LOG)
    content = bytearray(log.read_bytes())
    content[4 * len(batch(0)) + 70] ^= 1
    log.write_bytes(content)
    question = "lookup", str(logs), "--topic", "orders", "--partition", "0", "--timestamp"
    found = [octavo(*question, str(timestamp)) for timestamp in (1003, 1004, 1007)]
    assert [(run.exit, json.loads(run.stdout)["offset"]) for run in found] == [(0, 3), (1, 5), (0, 7)]
    told = f"octavo: {log}: position {4 * len(batch(0))}: a damaged batch; skipped, though it may hold "
    assert told in found[1].stderr


def test_a_damaged_checkpoint_gives_exit_code_1_where_the_start_matters(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean") / "trimmed.topic-0", logs / "trimmed.topic-0")
    shutil.copy(unpack("v431-clean") / "log-start-offset-checkpoint", logs)
    question = "lookup", str(logs), "--topic", "trimmed.topic", "--partition", "0", "--timestamp"
    assert [octavo(*question, "-2").exit, octavo(*question, "-1").exit] == [0, 0]
    (logs / "log-start-offset-checkpoint").write_text("0\nmany\n")
    run = octavo(*question, "-2")
    assert run.exit == 1
    assert "log-start-offset-checkpoint: not read: " in run.stderr
    assert octavo(*question, "-1").exit == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "give either --offset or --timestamp"),
        (("--offset", "1", "--timestamp", "2"), 2, "give either --offset or --timestamp"),
        (("--timestamp", "-4"), 2, "Invalid value for '--timestamp'"),
        (("--offset", "1", "--partition", "7"), 1, "there is no partition 7 of topic 'orders'"),
    ],
)
def test_what_cannot_be_answered(logs: Path, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", *arguments)
    assert (run.exit, run.stdout) == (code, "")
    assert sentence in run.stderr
    assert run.stderr.count("\n") == 1


def test_all_partitions_and_iso_times(logs: Path) -> None:
    write_segment(logs / "orders-1", 0, batch(0, timestamp=500))
    write_segment(logs / "payments-0", 0, batch(0, timestamp=2000))
    run = octavo("lookup", str(logs), "--timestamp", "1970-01-01T00:00:01.007Z", "--json")
    found = json_lines(run.stdout)
    assert [(row["topic"], row["partition"], row["offset"]) for row in found] == [
        ("orders", 0, 7),
        ("orders", 1, -1),
        ("payments", 0, 0),
    ]
    run = octavo("lookup", str(logs), "--topic", "orders", "--offset", "0")
    assert [json.loads(line)["partition"] for line in run.stdout.splitlines()] == [0, 1]


def test_a_table_for_people(logs: Path) -> None:
    arguments = ("lookup", str(logs), "--topic", "orders", "--timestamp", "1007")
    lines = octavo(*arguments, "--human").stdout.splitlines()
    assert lines[0].split() == ["topic", "partition", "offset", "time", "segment", "batch", "at"]
    assert lines[1].split()[:4] == ["orders", "0", "7", "1970-01-01T00:00:01.007Z"]
    assert octavo_on_terminal(80, *arguments).splitlines()[1].split()[:3] == ["orders", "0", "7"]
    assert octavo_on_terminal(80, *arguments, "--json").startswith("{")
    assert "expected milliseconds or ISO 8601" in octavo("lookup", str(logs), "--timestamp", "soon").stderr
