"""`octavo cat`: which records are chosen, how those of internal topics are shown, and text columns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import octavo as library
from octavo.errors import ScanError
from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record
from octavo.scanner.api import scan
from tests.cli.cat_process import cat, rows
from tests.cli.runs import octavo
from tests.golden import archives
from tests.scanner.segments import write_segment


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    words = ["apple", "grün", "banana", "apple pie", "plum"]
    several = [Record(number, number, b"k%d" % (number % 2), word.encode()) for number, word in enumerate(words)]
    write_segment(root / "fruit-0", 0, build_batch(several))
    write_segment(root / "fruit-1", 0, build_batch([Record(0, 0, None, b"\xffapple"), Record(1, 1, b"k1", None)]))
    write_segment(root / "other-0", 0, build_batch([Record(0, 0, b"k1", b"x", (Header("h", b"\xe9"),))]))
    return root


def offsets(*arguments: object) -> list[tuple[Any, Any]]:
    return [(row["partition"], row["offset"]) for row in rows(*arguments)]


def test_the_last_of_each_partition(logs: Path) -> None:
    assert offsets(logs, "--topic", "fruit", "--tail", 1) == [(0, 4), (1, 1)]
    assert offsets(logs, "--topic", "fruit", "--offset", -2) == [(0, 3), (0, 4), (1, 0), (1, 1)]
    assert offsets(logs, "--topic", "fruit", "--tail", 100) == offsets(logs, "--topic", "fruit")
    assert offsets(logs, "--topic", "fruit", "--tail", 0) == []


def test_the_last_committed_ones_lie_before_an_open_transaction() -> None:
    place = archives.unpack("v431-clean")
    found = offsets(
        place, "--topic", "txn.orders-1", "--partition", 0, "--tail", 3, "--isolation-level", "read_committed"
    )
    assert found
    assert all(174 <= offset < 177 for _, offset in found)


def test_topics_by_pattern(logs: Path) -> None:
    assert {row["topic"] for row in rows(logs, "--include", "fr.*|oth")} == {"fruit"}
    run = octavo("cat", str(logs), "--include", "no.*")
    assert (run.exit, run.stderr) == (
        1,
        f"octavo: {logs}: no topic's name matches 'no.*'; the topics are: fruit, other\n",
    )


def test_a_pattern_matches_no_internal_topic() -> None:
    place = archives.unpack("v431-clean")
    for pattern in ("__cluster.*", "__consumer.*"):
        run = octavo("cat", str(place), "--include", pattern)
        assert (run.exit, run.stdout) == (1, "")
        assert f"no topic's name matches {pattern!r}; the topics are: append.time, " in run.stderr


def test_only_one_key(logs: Path) -> None:
    assert offsets(logs, "--topic", "fruit", "--key", "k1") == [(0, 1), (0, 3), (1, 1)]
    assert offsets(logs, "--topic", "fruit", "--key", "6b31", "--bytes", "hex", "--tail", 2) == [(0, 3), (1, 1)]
    assert offsets(logs, "--topic", "fruit", "--key", "k1", "--max-messages", 1) == [(0, 1)]
    assert offsets(logs, "--key", "no such key") == []


def test_only_values_that_match(logs: Path) -> None:
    assert offsets(logs, "--topic", "fruit", "--grep", "^apple") == [(0, 0), (0, 3)]
    assert offsets(logs, "--topic", "fruit", "--grep", "apple") == [(0, 0), (0, 3), (1, 0)]
    assert offsets(logs, "--topic", "fruit", "--grep", "^gr.n$") == [(0, 1)]
    assert offsets(logs, "--topic", "fruit", "--grep", "pie", "--key", "k1") == [(0, 3)]


def test_filters_hold_for_every_form(logs: Path, tmp_path: Path) -> None:
    stream = pa.ipc.open_stream(cat(logs, "--grep", "apple", "--format", "arrow").stdout).read_all()
    assert stream["offset"].to_pylist() == [0, 3, 0]
    assert cat(logs, "--grep", "^apple", "--format", "raw").stdout == b"apple\napple pie\n"
    done = cat(logs, "--grep", "apple", "--format", "parquet", "--output", f"{tmp_path}/out/")
    assert done.stderr.decode().startswith(f"{tmp_path}/out/: 3 files, 3 records, ")
    assert sorted(pq.read_table(tmp_path / "out")["offset"].to_pylist()) == [0, 0, 3]


def test_filters_of_a_scan(logs: Path) -> None:
    assert scan(logs, "fruit", key="k1").to_table()["offset"].to_pylist() == [1, 3, 1]
    assert [record.offset for record in scan(logs, "fruit", key=b"k1", grep="pie")] == [3]
    assert scan(logs, "fruit", key="k1").count() == 3
    with pytest.raises(ScanError, match="is not a regular expression"):
        scan(logs, grep="(")
    with pytest.raises(ScanError, match="keep key and value in columns"):
        scan(logs, key="k", columns=["offset"])


def test_many_rows_are_filtered_in_order(tmp_path: Path) -> None:
    records = [Record(number, 0, b"%d" % (number % 3), b"v%d" % number) for number in range(10_000)]
    write_segment(tmp_path / "t-0", 0, *(build_batch(records[at : at + 500]) for at in range(0, 10_000, 500)))
    expected = list(range(1, 10_000, 3))
    assert [record.offset for record in scan(tmp_path, key="1", from_offset=0)] == expected
    assert scan(tmp_path, key="1", from_offset=700).to_table()["offset"].to_pylist() == [
        n for n in expected if n >= 700
    ]


def test_text_columns(logs: Path, tmp_path: Path) -> None:
    file = tmp_path / "fruit.parquet"
    assert cat(logs, "--format", "parquet", "--output", file, "--text").returncode == 0
    table = pq.read_table(file)
    assert table.schema.field("key").type == table.schema.field("value").type == pa.string()
    assert table["value"].to_pylist() == ["apple", "grün", "banana", "apple pie", "plum", "\ufffdapple", None, "x"]
    assert table["headers"].to_pylist()[-1] == [{"key": "h", "value": "\ufffd"}]
    stream = pa.ipc.open_stream(cat(logs, "--format", "arrow", "--text").stdout).read_all()
    assert stream["key"].to_pylist()[-3:] == [None, "k1", "k1"]
    assert cat(logs, "--format", "csv", "--text").stdout == cat(logs, "--format", "csv").stdout
    assert library.scan(logs, "fruit", text=True).to_table().schema.field("value").type == pa.string()


def test_internal_topics_are_decoded() -> None:
    place = archives.unpack("v431-clean")
    (row,) = rows(place, "--topic", "__consumer_offsets", "--partition", 1, "--tail", 1)
    assert row["key"] == {"type": "1", "data": {"group": "admin-group", "topic": "edge.records", "partition": 0}}
    assert row["value"]["data"]["metadata"] == "by admin"
    (row,) = rows(place, "--topic", "__transaction_state", "--partition", 0, "--tail", 1)
    assert row["key"] == {"type": "0", "data": {"transactionalId": "tx-12"}}
    (row,) = rows(place, "--topic", "__cluster_metadata", "--tail", 1)
    assert (row["key"], row["value"]["type"]) == (None, "BROKER_REGISTRATION_CHANGE_RECORD")
    (row,) = rows(place, "--topic", "__cluster_metadata", "--tail", 1, "--bytes", "hex")
    assert isinstance(row["value"], str)
    line = cat(place, "--topic", "__cluster_metadata", "--tail", 1, "--format", "csv").stdout.decode().splitlines()[1]
    assert '"{""type"":""BROKER_REGISTRATION_CHANGE_RECORD""' in line


def test_what_cannot_be_decoded_is_shown_as_it_is(tmp_path: Path) -> None:
    write_segment(tmp_path / "__consumer_offsets-0", 0, build_batch([Record(0, 0, b"\x00\x63?", b"v")]))
    (row,) = rows(tmp_path, "--topic", "__consumer_offsets")
    assert (row["key"], row["value"]) == ("\x00c?", "v")


def test_the_decoded_keys_are_those_that_dump_log_prints() -> None:
    place = archives.unpack("v431-clean")
    dump = octavo(
        "dump-log", "--offsets-decoder", "--files", str(place / "__consumer_offsets-1" / f"{0:020}.log")
    ).stdout
    found = rows(place, "--topic", "__consumer_offsets", "--partition", 1)
    assert found
    for row in found:
        assert f"key: {json.dumps(row['key'], separators=(',', ':'))} payload: " in dump


def test_follow_prints_what_is_appended_and_ends_quietly(tmp_path: Path) -> None:
    with library.LogDir(tmp_path) as store, store.producer() as producer:
        store.create_topic("t")
        producer.send("t", b"before").result()
        line = [sys.executable, "-m", "octavo", "cat", str(tmp_path), "--topic", "t", "--follow", "--format", "raw"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None and running.stderr is not None
            assert running.stdout.readline() == b"before\n"
            producer.send("t", b"after").result()
            assert running.stdout.readline() == b"after\n"
            os.kill(running.pid, signal.SIGINT)
            assert (running.stdout.read(), running.stderr.read()) == (b"", b"")
            assert running.wait() == -signal.SIGINT
        producer.send("t", b"x").result()
    assert cat(tmp_path, "--follow", "--tail", 2, "--max-messages", 2, "--format", "raw").stdout == b"after\nx\n"
    assert cat(tmp_path, "--follow", "--grep", "^a", "--max-messages", 1, "--format", "raw").stdout == b"after\n"


def test_what_was_written_as_text_is_reported_too(logs: Path, tmp_path: Path) -> None:
    done = cat(logs, "--format", "raw", "--grep", "apple", "--output", tmp_path / "out")
    assert done.stderr.decode() == f"{tmp_path}/out: 1 file, 3 records, 23 bytes\n"
    assert cat(logs, "--output", "/dev/null").stderr == b""
