"""`octavo lookup`: its fields, and what it says when it cannot answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavo.format.names import FileKind
from tests.cli.runs import octavo
from tests.scan.segments import path, write_segment
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
    assert run.stdout.splitlines()[-2:] == ["offset            3", "timestamp         1003"]
    assert "offsetIndexEntry  offset 2, position " in run.stdout
    assert "timeIndexEntry    -" in run.stdout


def test_none_is_minus_one(logs: Path) -> None:
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--timestamp", "9999", "--json")
    answer = json.loads(run.stdout)
    assert (run.exit, answer["offset"], answer["timestamp"], answer["segment"]) == (0, -1, -1, None)


def test_a_damaged_index_is_told_on_stderr(logs: Path) -> None:
    index = path(logs / "orders-0", 0, FileKind.OFFSET_INDEX)
    index.write_bytes(index.read_bytes()[:-1] + b"\x01")
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", "--offset", "9", "--json")
    assert (run.exit, json.loads(run.stdout)["offset"]) == (0, 9)
    assert run.stderr.startswith(f"octavo: {index}: no sound batch at position ")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "expected either --offset or --timestamp"),
        (("--offset", "1", "--timestamp", "2"), 2, "expected either --offset or --timestamp"),
        (("--timestamp", "-4"), 2, "Invalid value for '--timestamp'"),
        (("--offset", "1", "--partition", "7"), 1, "there is no partition 7 of topic 'orders'"),
    ],
)
def test_what_cannot_be_answered(logs: Path, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    run = octavo("lookup", str(logs), "--topic", "orders", "--partition", "0", *arguments)
    assert (run.exit, run.stdout) == (code, "")
    assert sentence in run.stderr
    assert run.stderr.count("\n") == 1
