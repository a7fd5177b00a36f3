"""`octavo dump-log` compared with runs of Kafka 4.3.1's kafka-dump-log over the golden archives."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runs import Run, octavo
from tests.golden import archives

# Kafka prints a byte array by its identity hash.
ADDRESS = "[B@"


def expected(row: dict[str, Any]) -> Run:
    return Run(row["exit"], row["stdout"], row["stderr"])


def found(row: dict[str, Any], root: Path) -> Run:
    """Our run. If Kafka died with an exception or printed its usage, our stderr is checked and replaced by Kafka's."""
    run = octavo("dump-log", *row["args"], folder=root)
    run = run._replace(stdout=run.stdout.replace(str(root), "{ROOT}"), stderr=run.stderr.replace(str(root), "{ROOT}"))
    if 'Exception in thread "main"' in row["stderr"]:
        assert run.stderr.startswith("octavo: ")
        assert run.stderr.count("\n") == 1
        assert "unexpected" not in run.stderr
        return run._replace(stderr=row["stderr"])
    if "Description  " in row["stderr"]:
        assert "Option" in run.stderr
        return run._replace(stderr=row["stderr"])
    return run


def compare(rows: Iterable[dict[str, Any]], root: Path) -> None:
    for row in rows:
        assert found(row, root) == expected(row), row["args"]


def command_line_rows() -> Iterator[dict[str, Any]]:
    with lzma.open(archives.GOLDEN / "dump-log-cli.jsonl.xz", "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


@pytest.mark.parametrize("archive", [name for name in archives.archives() if archives.entry(name).get("dumps")])
def test_runs_of_the_real_tool(archive: str) -> None:  # T1
    compare(archives.dumps(archive), archives.unpack(archive))


@pytest.mark.parametrize(
    "row",
    [row for row in command_line_rows() if ADDRESS not in row["stdout"]],
    ids=lambda row: " ".join(row["args"]) or "no arguments",
)
def test_flags_and_bad_arguments(row: dict[str, Any]) -> None:
    compare([row], archives.unpack("v431-clean"))


def test_byte_arrays_are_printed_as_hashes() -> None:
    rows = [row for row in command_line_rows() if ADDRESS in row["stdout"]]
    assert rows
    for row in rows:
        run = octavo("dump-log", *row["args"], folder=archives.unpack("v431-clean"))
        without = [[line.partition(ADDRESS)[0] for line in text.splitlines()] for text in (run.stdout, row["stdout"])]
        assert without[0] == without[1]
        assert ADDRESS in run.stdout


def test_the_documents_v0_message() -> None:
    # F7: the old tool and today's say the same about it, each in its own words.
    (old,) = {row["stdout"].splitlines()[-1] for row in archives.own_dumps("seed-003-v0")}
    assert old == (
        "offset: 0 position: 0 isvalid: true payloadsize: 5 magic: 0 compresscodec: NoCompressionCodec "
        "crc: 592888119 keysize: 3"
    )
    file = "msg_format_v0-0/00000000000000000000.log"
    run = octavo("dump-log", "--files", file, "--print-data-log", folder=archives.unpack("seed-003-v0"))
    assert run == Run(
        0,
        f"Dumping {file}\nLog starting offset: 0\n"
        "offset: 0 position: 0 NoTimestampType: -1 size: 34 magic: 0 compresscodec: none crc: 592888119 isvalid: true\n"
        "| offset: 0 NoTimestampType: -1 keySize: 3 valueSize: 5 isValid: true crc: 592888119 "
        "key: key payload: value\n",
        "",
    )
