"""`octavo topics`: rows, the width of the table, notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavo.cli.table import TableColumn, print_table
from tests.cli.runs import Run, json_lines, octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden.archives import entry, unpack
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


def test_a_row_has_every_field(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0, 3, timestamp=5), batch(3, timestamp=4))
    (tmp_path / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: lRfNxyBxRLu7tt5Z0UBPpQ")
    run = octavo("topics", str(tmp_path), "--json")
    assert (run.exit, run.stderr) == (0, "")
    assert json.loads(run.stdout) == {
        "topic": "orders",
        "partition": 0,
        "topicId": "lRfNxyBxRLu7tt5Z0UBPpQ",
        "segments": 1,
        "batches": 2,
        "records": 4,
        "bytes": len(batch(0, 3)) + len(batch(3)),
        "logStartOffset": 0,
        "logEndOffset": 4,
        "firstTimestamp": 5,
        "maxTimestamp": 7,
        "magics": [2],
        "codecs": ["none"],
    }


def test_counts_of_a_brokers_directory() -> None:
    rows = json_lines(octavo("topics", str(unpack("v431-clean")), "--json").stdout)
    for topic, answers in entry("v431-clean")["offsets"].items():
        expected = answers["read_uncommitted"]
        mine = [row for row in rows if row["topic"] == topic]
        assert {str(row["partition"]): row["logStartOffset"] for row in mine} == expected["begin"]
        assert {str(row["partition"]): row["logEndOffset"] for row in mine} == expected["end"]
        assert sum(row["records"] for row in mine) == expected["records"]


def test_a_pipe_gets_every_column(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0, 3, timestamp=5))
    write_segment(tmp_path / "empty-0", 0)
    run = octavo("topics", str(tmp_path))
    head, empty, orders = run.stdout.splitlines()
    assert len(head.split()) == 13
    assert empty.split()[-4:] == ["-", "-", "-", "-"]
    assert "1970-01-01T00:00:00.005Z" in orders


def test_only_the_named_topics(tmp_path: Path) -> None:
    for name in ("a-0", "b-0", "c-0"):
        write_segment(tmp_path / name, 0, batch(0))
    run = octavo("topics", str(tmp_path), "--topic", "a", "--topic", "c", "--json")
    assert [json.loads(line)["topic"] for line in run.stdout.splitlines()] == ["a", "c"]


def test_a_topic_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0))
    run = octavo("topics", str(tmp_path), "--topic", "order")
    assert run == Run(1, "", f"octavo: {tmp_path}: there is no topic 'order' (did you mean orders?)\n")


def test_damage_is_reported_on_stderr_and_the_exit_code_is_1(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0", 0, batch(0), batch(1))
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    run = octavo("topics", str(tmp_path), "--json")
    assert (run.exit, json.loads(run.stdout)["records"]) == (1, 1)
    assert run.stderr.startswith(f"octavo: {path}: position 0: a batch at offset 0 (up to")


def test_damage_at_the_end_is_reported_and_the_exit_code_is_1(tmp_path: Path) -> None:
    damaged = bytearray(batch(1))
    damaged[70] ^= 1
    path = write_segment(tmp_path / "orders-0", 0, batch(0), bytes(damaged), closed=False)
    run = octavo("topics", str(tmp_path), "--json")
    assert (run.exit, json.loads(run.stdout)["records"]) == (1, 1)
    assert run.stderr.startswith(f"octavo: {path}: a damaged batch at the end")


def test_a_torn_end_is_reported_and_is_not_a_failure(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0", 0, batch(0), closed=False, tail=batch(1)[:30])
    run = octavo("topics", str(tmp_path), "--json")
    assert (run.exit, json.loads(run.stdout)["records"]) == (0, 1)
    assert run.stderr.startswith(f"octavo: {path}: an incomplete batch at the end")


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_the_table_fits_the_terminal(columns: int) -> None:
    lines = octavo_on_terminal(columns, "topics", str(unpack("v431-two-dirs") / "disk1")).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= columns
    assert lines[0].startswith("topic")
    assert "records" in lines[0]
    assert ("topicId" in lines[0]) == (columns == 300)


def test_a_long_name_is_cut_in_the_middle(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_table([TableColumn("topic"), TableColumn("records", right=True)], [["a" * 20 + "b" * 20, "7"]])
    assert capsys.readouterr().out == f"{'topic':<21}  records\n{'a' * 10}…{'b' * 10}        7\n"


def test_hidden_columns_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    columns = [TableColumn("topic"), TableColumn("records", importance=2), TableColumn("codecs", importance=1)]
    said = "hidden, since the terminal is too narrow"
    for width, hint in (
        (23, ""),
        (20, f"octavo: 1 column {said}: codecs; --json has it\n"),
        (10, f"octavo: 2 columns {said}: records, codecs; --json has them\n"),
    ):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(columns, [["orders", "7", "none"]])
        assert capsys.readouterr().err == hint
