"""`octavo consume`: it prints what a group has not read yet; where it begins, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.producing import produce, records
from tests.cli.runs import octavo


def consume(store: Path, *options: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "octavo", "consume", str(store), *options]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_a_group_goes_on_where_it_was(store: Path) -> None:  # L5
    produce(store, b"k\t1\nk\t2\nk\t3\n", "--key-separator", "\\t")
    first = consume(store, "--topic", "t", "--group", "g", "--max-messages", "2", "--format", "raw")
    assert (first.returncode, first.stdout, first.stderr) == (0, "1\n2\n", "")
    produce(store, b"k\t4\n", "--key-separator", "\\t")
    second = consume(store, "--topic", "t", "--group", "g")
    assert [json.loads(line)["value"] for line in second.stdout.splitlines()] == ["3", "4"]
    assert consume(store, "--include", "t.*", "--group", "g").stdout == ""
    whole = ("--topic", "t", "--format", "csv", "--from-beginning", "--timeout-ms", "1")
    assert len(consume(store, *whole).stdout.splitlines()) == 5
    dumped = octavo("dump-log", "--offsets-decoder", "--files", str(next(store.glob("__consumer_offsets-*/*.log"))))
    assert dumped.exit == 0


def test_consumer_properties(store: Path) -> None:
    produce(store, b"k\t1\nk\t2\n", "--key-separator", "\\t")
    (partition,) = {record.partition for record in records(store)}
    latest = ("--topic", "t", "--group", "g", "--consumer-property", "auto.offset.reset=latest")
    assert consume(store, *latest).stdout == ""
    uncommitted = ("--topic", "t", "--group", "h", "--consumer-property", "enable.auto.commit=false", "--format", "raw")
    assert consume(store, *uncommitted).stdout == consume(store, *uncommitted).stdout == "1\n2\n"
    one = ("--topic", "t", "--partition", str(1 - partition), "--isolation-level", "read_committed", "--bytes", "hex")
    assert consume(store, *one).stdout == ""
    unknown = consume(store, "--topic", "u")
    assert unknown.returncode == 1 and "there is no topic 'u'" in unknown.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no topic is given"),
        (["--topic", "t", "--include", "t"], "give either --topic or --include, not both"),
        (["--include", "t", "--partition", "0"], "needs exactly one --topic"),
        (["--include", "("], "'--include': '(' is not a regular expression"),
        (["--topic", "t", "--offset", "0"], "--offset needs --partition"),
        (
            ["--topic", "t", "--partition", "0", "--offset", "earliest", "--from-beginning"],
            "used with --from-beginning",
        ),
        (
            ["--topic", "t", "--partition", "0", "--offset", "-1"],
            "'-1' is not an offset, expected a number, earliest or",
        ),
        (["--topic", "t", "--group", "a", "--consumer-property", "group.id=b"], "--group is 'a', but group.id is 'b'"),
    ],
)
def test_lines_that_consume_refuses(store: Path, options: list[str], words: str) -> None:
    run = octavo("consume", str(store), *options)
    assert run.exit == 2 and words in run.stderr


def test_a_partition_from_an_offset_on(store: Path) -> None:
    """It starts there whatever the group has committed; the next run continues where it ended."""
    produce(store, b"k\t1\nk\t2\nk\t3\n", "--key-separator", "\\t")
    (partition,) = {record.partition for record in records(store)}
    one = ("--topic", "t", "--partition", str(partition), "--format", "raw", "--group", "g")
    assert consume(store, *one, "--offset", "latest").stdout == ""
    assert consume(store, *one, "--offset", "1", "--max-messages", "1").stdout == "2\n"
    assert consume(store, *one, "--consumer-property", "group.id=g").stdout == "3\n"
    assert consume(store, *one, "--offset", "earliest").stdout == "1\n2\n3\n"


def test_records_are_printed_before_the_wait_for_more(store: Path) -> None:
    produce(store, b"value\n")
    line = [sys.executable, "-m", "octavo", "consume", str(store), "--topic", "t", "--format", "raw"]
    with subprocess.Popen([*line, "--timeout-ms", "1000000"], stdout=subprocess.PIPE) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"value\n"
        waiting.kill()


def test_records_are_printed_before_the_error_of_others(store: Path) -> None:
    produce(store, b'{"partition":0,"value":"sound"}\n{"partition":1,"value":"damaged"}', "--format", "json")
    (path,) = store.glob("t-1/*.log")
    path.write_bytes(path.read_bytes().replace(b"damaged", b"Damaged"))
    run = consume(store, "--topic", "t", "--format", "raw", "--group", "g")
    assert (run.returncode, run.stdout) == (1, "sound\n") and "t-1: the batch at offset 0 is damaged" in run.stderr
