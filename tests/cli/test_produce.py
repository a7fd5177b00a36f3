"""`octavo produce`: every form of input, where records go, what is refused; and `octavo consume` beside it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import octavo as library
from octavo.format.record import Header
from octavo.scan.api import IsolationLevel
from octavo.scan.records import ConsumerRecord
from octavo.storage.append import AppendResult
from octavo.storage.partition_log import PartitionLog
from tests.cli.owners import locked, rows, state
from tests.cli.runs import Run, octavo

LINES = b"k1\tv1\nk2\tv2\r\n\tempty key\n"
JSON = """{"topic":"x","partition":1,"offset":9,"timestamp":7,"timestampType":"CreateTime","key":"k","value":"é",\
"headers":[{"key":"h","value":null}]}

{"key":null,"value":{"base64":"/wA="},"timestamp":-1,"headers":[]}
{"partition":0}
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert octavo("create", str(tmp_path / "logs"), "--topic", "t", "--partitions", "2").exit == 0
    return tmp_path / "logs"


def produce(store: Path, given: bytes, *options: str, topic: str = "t") -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return octavo("produce", str(store), "--topic", topic, *options)


def records(
    store: Path, topic: str = "t", isolation_level: IsolationLevel = "read_uncommitted"
) -> list[ConsumerRecord]:
    return list(library.scan(store, topics=[topic], isolation_level=isolation_level).records())


def test_lines_are_values(store: Path) -> None:
    run = produce(store, b"one\ntwo\nthree", "--json")
    (row,) = rows(run)
    assert row["nextOffset"] - row["baseOffset"] == 3
    assert [(record.key, record.value) for record in records(store)] == [
        (None, b"one"), (None, b"two"), (None, b"three")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [("--key-separator", "\\t"), ("--property", "parse.key=true"), ("--reader-property", "parse.key=TRUE")],
)
def test_keys_before_values(store: Path, options: tuple[str, ...]) -> None:
    run = produce(store, LINES, *options)
    assert run.exit == 0 and run.stdout == "t-1: 3 offsets, 0 to 2\n"
    found = {(record.key, record.value) for record in records(store)}
    assert found == {(b"k1", b"v1"), (b"k2", b"v2"), (b"", b"empty key")}


def test_headers_and_nulls(store: Path) -> None:
    properties = ["parse.key=true", "key.separator=|", "parse.headers=true", "headers.delimiter=;", "null.marker=NULL"]
    options = [word for name in properties for word in ("--property", name)]
    produce(store, b"a:1,b:NULL;key|NULL\nNULL;NULL|v\n", *options)
    first, second = sorted(records(store), key=lambda record: record.value or b"")
    assert (first.key, first.value, first.headers) == (b"key", None, (Header("a", b"1"), Header("b", None)))
    assert (second.key, second.value, second.headers) == (None, b"v", ())


def test_json_as_cat_prints_it(store: Path) -> None:
    assert produce(store, JSON.encode(), "--format", "json").exit == 0
    found = sorted(records(store), key=lambda record: record.value or b"")
    assert [(record.key, record.value) for record in found] == [(None, None), (b"k", "é".encode()), (None, b"\xff\0")]
    assert (found[1].partition, found[1].timestamp, found[1].headers) == (1, 7, (Header("h", None),))
    assert found[0].partition == 0 and found[2].timestamp > 10**12


@pytest.mark.parametrize("form", ["json", "arrow", "parquet"])
@pytest.mark.parametrize("shown", ["text", "base64", "hex"])
def test_what_cat_prints_comes_back(store: Path, tmp_path: Path, form: str, shown: str) -> None:
    produce(store, JSON.encode(), "--format", "json")
    produce(
        store,
        b"".join(b'{"key":"%d","value":"v%d","timestamp":%d}\n' % (n, n, n) for n in range(100)),
        "--format",
        "json",
    )
    octavo("create", str(store), "--topic", "u", "--partitions", "2")
    file = tmp_path / f"records.{form}"
    octavo("cat", str(store), "--topic", "t", "--format", form, "--output", str(file), "--bytes", shown)
    assert octavo("produce", str(store), "--topic", "u", "--file", str(file), "--bytes", shown).exit == 0
    assert [record._replace(topic="t") for record in records(store, "u")] == records(store)


def test_arrow_through_a_pipe(store: Path) -> None:
    table = pa.table({"key": ["a"], "value": ["b"]})
    for writer in (pa.ipc.new_stream, pa.ipc.new_file):
        sink = io.BytesIO()
        with writer(sink, table.schema) as written:
            written.write_table(table)
        assert produce(store, sink.getvalue(), "--format", "arrow").exit == 0
    sink = io.BytesIO()
    pq.write_table(table, sink)
    assert produce(store, sink.getvalue(), "--format", "parquet").exit == 0
    assert len(records(store)) == 3


def test_partitions_can_be_chosen_anew(store: Path) -> None:
    line = b'{"key":"a","value":"v","partition":%d}\n'
    produce(store, line % 0 + line % 1, "--format", "json", "--repartition")
    assert len({record.partition for record in records(store)}) == 1
    refused = produce(store, line % 2, "--format", "json")
    assert refused.exit == 1 and "there is no partition t-2, expected 0 to 1" in refused.stderr


def test_codecs_and_configs(store: Path) -> None:
    run = produce(
        store, b"x" * 100 + b"\n" + b"x" * 100, "--compression-type", "zstd", "--producer-property", "batch.size=1"
    )
    assert run.exit == 0
    listed = [row for row in rows(octavo("topics", str(store), "--json")) if row["batches"]]
    assert {codec for row in listed for codec in row["codecs"]} == {"zstd"}


class SlowLines(io.BytesIO):
    """Lines each of which comes only when the one before is in the log."""

    appended = threading.Semaphore(1)

    def __next__(self) -> bytes:
        assert self.appended.acquire(timeout=60)
        return super().__next__()


def test_lines_do_not_wait_for_the_end_of_the_input(store: Path) -> None:
    """Who follows a file appends its lines after linger.ms, not when 16 KB are full."""
    append = PartitionLog.append_as_leader

    def appending(*given: Any, **named: Any) -> AppendResult:
        result = append(*given, **named)
        SlowLines.appended.release()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartitionLog, "append_as_leader", appending)
        patch.setattr(sys, "stdin", io.TextIOWrapper(SlowLines(b"a\nb\nc\n")))
        run = octavo("produce", str(store), "--topic", "t", "--producer-property", "linger.ms=0")
    assert run.exit == 0
    assert sum(row["batches"] for row in rows(octavo("topics", str(store), "--json"))) == 3


def test_a_transaction_is_all_or_nothing(store: Path) -> None:
    options = ("--format", "json", "--producer-property", "transactional.id=x")
    assert produce(store, b'{"value":"1"}\n{"value":"2"}', *options).exit == 0
    assert produce(store, b'{"value":"3"}\nnonsense', *options).exit == 1
    committed = [record.value for record in records(store, isolation_level="read_committed")]
    assert committed == [b"1", b"2"]
    with library.LogDir(store) as logs:
        ends = [log.last_stable_offset == log.log_end_offset for log in logs.logs.values()]
    assert all(ends)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (b"no tab\n", ["--key-separator", "\\t"], "line 1: no '\\t', expected one behind a key"),
        (b"", ["--property", "parse.keys=true"], "parse.keys is no property of a line, expected one of"),
        (b"", ["--property", "parse.key=yes"], "parse.key is 'yes', expected true or false"),
        (b"{}\n[]\n", ["--format", "json"], "line 2: a list, expected an object"),
        (b"{", ["--format", "json"], "line 1: no JSON"),
        (b'{"valeu":1}', ["--format", "json"], "line 1: field 'valeu', expected some of headers, key"),
        (b'{"value":1}', ["--format", "json"], "line 1: the value is a number, expected a text, null or"),
        (b'{"value":{"base64":"?"}}', ["--format", "json"], "line 1: the value cannot be read"),
        (b'{"headers":{}}', ["--format", "json", "--bytes", "hex"], ""),
        (b'{"headers":[1]}', ["--format", "json"], "line 1: headers are a list, expected a list of"),
        (b'{"timestamp":"now"}', ["--format", "json"], "line 1: timestamp is a text, expected a number"),
        (b"garbage!", ["--format", "arrow"], "no Arrow data"),
        (b"garbage!", ["--format", "parquet"], "no Parquet file"),
        (b"", ["--producer-property", "linger=5"], "linger is no producer config (nearest: linger.ms)"),
        (b"x" * (1 << 20), [], "expected at most max.request.size, 1048576"),
    ],
)
def test_what_is_refused(store: Path, given: bytes, options: list[str], words: str) -> None:
    run = produce(store, given, *options)
    if words:
        assert run.exit == 1 and words in run.stderr and "Traceback" not in run.stderr
    else:
        assert run.exit == 0


def test_an_unknown_topic(store: Path) -> None:
    run = produce(store, b"v", topic="orders")
    assert (run.exit, run.stdout) == (1, "") and "there is no topic orders" in run.stderr


def test_one_disk_of_several_gets_no_records(tmp_path: Path) -> None:
    """Keys would go to other partitions than those that Kafka chooses."""
    disks = tmp_path / "1", tmp_path / "2"
    octavo("create", *map(str, disks), "--topic", "t", "--partitions", "4")
    for disk, missing in zip(disks, (1, 0), strict=True):
        run = produce(disk, b"v")
        assert run.exit == 1 and f"partition {missing} of topic t is in none of the log directories" in run.stderr
    assert all(not path.stat().st_size for path in tmp_path.glob("*/t-*/*.log"))


def test_a_locked_directory_is_refused(store: Path) -> None:
    with locked(store):
        before = state(store)
        for command in ("produce", "consume"):
            run = octavo(command, str(store), "--topic", "t")
            assert run.exit == 1 and "lock" in run.stderr
        assert state(store) == before


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
    assert unknown.returncode == 1 and "there is no topic u" in unknown.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "which topics?"),
        (["--include", "t", "--partition", "0"], "give one --topic"),
        (["--include", "("], "--include is '(', expected a regular expression"),
        (["--topic", "t", "--offset", "0"], "give --partition"),
        (["--topic", "t", "--partition", "0", "--offset", "earliest", "--from-beginning"], "no --from-beginning"),
        (["--topic", "t", "--partition", "0", "--offset", "-1"], "'-1' is no offset, expected a number, earliest or"),
        (["--topic", "t", "--group", "a", "--consumer-property", "group.id=b"], "--group is 'a', group.id is 'b'"),
    ],
)
def test_lines_that_consume_refuses(store: Path, options: list[str], words: str) -> None:
    run = octavo("consume", str(store), *options)
    assert run.exit == 2 and words in run.stderr


def test_a_partition_from_an_offset_on(store: Path) -> None:
    """Whatever the group has committed; it goes on from there."""
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
