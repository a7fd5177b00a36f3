"""`octavo produce`: every form of input, where records go, what is refused."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import octavo as library
from octavo.format.record import Header
from octavo.storage.append.append import AppendResult
from octavo.storage.partition_log import PartitionLog
from tests.cli.owners import locked, rows, state
from tests.cli.producing import produce, records
from tests.cli.runs import octavo

LINES = b"k1\tv1\nk2\tv2\r\n\tempty key\n"
JSON = """{"topic":"x","partition":1,"offset":9,"timestamp":7,"timestampType":"CreateTime","key":"k","value":"é",\
"headers":[{"key":"h","value":null}]}

{"key":null,"value":{"base64":"/wA="},"timestamp":-1,"headers":[]}
{"partition":0}
"""


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
    assert run.exit == 0 and run.stdout == "t-1: 3 records, offsets 0 to 2\n"
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


@pytest.mark.parametrize("headers", [b"null", b"[]", b"{}"])
def test_json_without_headers(store: Path, headers: bytes) -> None:
    assert produce(store, b'{"headers":%s}' % headers, "--format", "json").exit == 0
    assert [record.headers for record in records(store)] == [()]


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


def test_partitions_can_be_chosen_again(store: Path) -> None:
    line = b'{"key":"a","value":"v","partition":%d}\n'
    produce(store, line % 0 + line % 1, "--format", "json", "--repartition")
    assert len({record.partition for record in records(store)}) == 1
    refused = produce(store, line % 2, "--format", "json")
    assert refused.exit == 1 and "there is no partition 2 of topic 't'; it has 0 to 1" in refused.stderr


def test_codecs_and_configs(store: Path) -> None:
    run = produce(
        store, b"x" * 100 + b"\n" + b"x" * 100, "--compression-type", "zstd", "--producer-property", "batch.size=1"
    )
    assert run.exit == 0
    listed = [row for row in rows(octavo("topics", str(store), "--json")) if row["batches"]]
    assert {codec for row in listed for codec in row["codecs"]} == {"zstd"}


class SlowLines(io.BytesIO):
    """Lines that each arrive only when the previous one is in the log."""

    appended = threading.Semaphore(1)

    def __next__(self) -> bytes:
        assert self.appended.acquire(timeout=60)
        return super().__next__()


def test_lines_do_not_wait_for_the_end_of_the_input(store: Path) -> None:
    """When `produce` follows a file, lines are appended after linger.ms, not when 16 KB are full."""
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


def test_the_markers_of_a_transaction_are_not_counted(store: Path) -> None:
    options = ("--format", "json", "--producer-property", "transactional.id=x")
    lines = b'{"partition":0}\n' * 3
    assert produce(store, lines, *options).stdout == "t-0: 3 records, offsets 0 to 2\n"
    assert produce(store, lines[:16], *options).stdout == "t-0: 1 record, offset 4\n"
    assert rows(produce(store, lines, *options, "--json")) == [
        {"topic": "t", "partition": 0, "baseOffset": 6, "nextOffset": 9}
    ]


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
        (b"no tab\n", ["--key-separator", "\\t"], "line 1: no '\\t', expected one after a key"),
        (b"", ["--property", "parse.keys=true"], "unknown property parse.keys; expected one of"),
        (b"", ["--property", "parse.key=yes"], "parse.key is 'yes', expected true or false"),
        (b"{}\n[]\n", ["--format", "json"], "line 2: a list, expected an object"),
        (b"{}\n{", ["--format", "json"], "line 2, column 2: not JSON: Expecting property name"),
        (b'{"value":"a"\r\n', ["--format", "json"], "line 1, column 13: not JSON: Expecting ',' delimiter"),
        (b'"\xff"', ["--format", "json"], "line 1: not JSON: 'utf-8' codec"),
        (b'{"valeu":1}', ["--format", "json"], "line 1: unknown field 'valeu'; known fields are headers, key"),
        (b'{"value":1}', ["--format", "json"], "line 1: the value is a number, expected a string, null or"),
        (b'{"value":{"base64":"?"}}', ["--format", "json"], "line 1: the value cannot be read"),
        (b'{"headers":"h"}', ["--format", "json"], "line 1: headers are a string, expected a list of"),
        (b'{"headers":[{"key":"h"},1]}', ["--format", "json"], "line 1: header 2 is a number, expected an object"),
        (
            b'{"headers":[{"key":null}]}',
            ["--format", "json"],
            "line 1: header 1 has null as its key, expected a string",
        ),
        (
            b'{"headers":[{"key":"h","value":1}]}',
            ["--format", "json"],
            "line 1: the value of header 1 is a number, expected a string, null or",
        ),
        (b'{"timestamp":"now"}', ["--format", "json"], "line 1: timestamp is a string, expected a whole number"),
        (b'{"timestamp":1.5}', ["--format", "json"], "line 1: timestamp is 1.5, expected a whole number"),
        (b'{"timestamp":1%s}' % (b"0" * 19), ["--format", "json"], "line 1: timestamp 10000000000000000000, expected"),
        (b'\n{"timestamp":-5}', ["--format", "json"], "line 2: timestamp -5, expected 0 or more"),
        (b'{}\n{"partition":9}', ["--format", "json"], "line 2: there is no partition 9 of topic 't'; it has 0 to 1"),
        (b"", ["--key-separator", ""], "octavo: --key-separator is '', expected at least one character"),
        (b"", ["--property", "headers.separator="], "headers.separator is '', expected at least one character"),
        (b"", ["--producer-property", "zz=1"], "zz is not a producer config (expected one of acks, batch.size,"),
        (b"garbage!", ["--format", "arrow"], "not Arrow data, or damaged: "),
        (b"garbage!", ["--format", "parquet"], "not a Parquet file, or damaged: "),
        (b"", ["--producer-property", "linger=5"], "linger is not a producer config (did you mean linger.ms?)"),
        (b"x" * (1 << 20), [], "expected at most max.request.size, 1048576"),
    ],
)
def test_what_is_refused(store: Path, given: bytes, options: list[str], words: str) -> None:
    run = produce(store, given, *options)
    assert run.exit == 1 and words in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"value": [1]}, "column 'value' is of type int64, expected binary"),
        ({"key": [1.5]}, "column 'key' is of type double, expected binary"),
        ({"timestamp": ["now"]}, "column 'timestamp' is of type string, expected timestamp[ms]"),
        ({"timestamp": pa.array([1], pa.timestamp("ns"))}, "column 'timestamp' is of type timestamp[ns], expected"),
        ({"timestamp": [5, -5]}, "row 1: timestamp -5, expected 0 or more"),
        ({"partition": ["x"]}, "column 'partition' is of type string, expected int32"),
        ({"partition": [0, None, 9]}, "row 2: there is no partition 9 of topic 't'; it has 0 to 1"),
        ({"headers": ["h"]}, "column 'headers' is of type string, expected list<item"),
        ({"headers": [[{"key": 1, "value": b""}]]}, "column 'headers.key' is of type int64, expected binary"),
        ({"headers": [[{"name": "h"}]]}, "column 'headers' is of type list<"),
    ],
)
def test_columns_that_are_refused(store: Path, tmp_path: Path, columns: dict[str, object], words: str) -> None:
    file = tmp_path / "records.parquet"
    pq.write_table(pa.table(columns), file)
    run = octavo("produce", str(store), "--topic", "t", "--file", str(file))
    assert (run.exit, run.stdout) == (1, "") and run.stderr.startswith(f"octavo: {file}: {words}")


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_damaged_file_is_named(store: Path, tmp_path: Path, form: str) -> None:
    file, table = tmp_path / f"records.{form}", pa.table({"value": ["x" * 1000] * 100})
    if form == "parquet":
        pq.write_table(table, file)
        content = file.read_bytes()
        file.write_bytes(content[:20] + b"\xff" * 40 + content[60:])  # inside the first compressed page
    else:
        with pa.ipc.new_stream(str(file), table.schema) as stream:
            stream.write_table(table)
        file.write_bytes(file.read_bytes()[:5000])
    run = octavo("produce", str(store), "--topic", "t", "--file", str(file))
    assert run.exit == 1 and run.stderr.startswith(f"octavo: {file}: not ")


def test_an_error_names_the_file_and_says_what_was_appended(store: Path, tmp_path: Path) -> None:
    files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    files[0].write_text('{"partition":0}\n{"partition":0}\n')
    files[1].write_text('{"partition":1}\n{"partition":2}\n')
    run = octavo("produce", str(store), "--topic", "t", "--file", str(files[0]), "--file", str(files[1]))
    assert run.exit == 1 and run.stdout == "t-0: 2 records, offsets 0 to 1\nt-1: 1 record, offset 0\n"
    assert run.stderr == f"octavo: {files[1]}: line 2: there is no partition 2 of topic 't'; it has 0 to 1\n"


def test_what_the_log_refuses_names_line_and_partition(store: Path) -> None:
    configs = ["--config", "cleanup.policy=compact", "--config", "segment.bytes=1000"]
    octavo("create", str(store), "--topic", "u", "--partitions", "1", *configs)
    lines = b'{"key":"k"}\n\n{"value":"no key"}\n'
    run = produce(store, lines, "--format", "json", "--producer-property", "linger.ms=60000", topic="u")
    assert run.stderr.startswith("octavo: line 3: u-0: 1 of the batch's records is refused; the first is record 1: no")
    run = produce(store, b"k\t" + b"v" * 1000, "--key-separator", "\\t", topic="u")
    assert run.stderr == "octavo: line 1: u-0: a set of 1071 bytes, expected at most segment.bytes, 1000\n"
    sink = io.BytesIO()
    pq.write_table(pa.table({"key": ["k"], "value": ["v" * 1000]}), sink)
    run = produce(store, sink.getvalue(), "--format", "parquet", topic="u")
    assert run.stderr == "octavo: u-0: a set of 1071 bytes, expected at most segment.bytes, 1000\n"


def test_an_unknown_topic(store: Path) -> None:
    run = produce(store, b"v", topic="orders")
    assert (run.exit, run.stdout) == (1, "") and "there is no topic 'orders'" in run.stderr


def test_a_missing_directory(tmp_path: Path) -> None:
    logs = tmp_path / "my logs"
    run = octavo("produce", str(logs), "--topic", "t")
    hint = f"`octavo create '{logs}' --topic t` creates it with the topic"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: {logs}: no such directory; {hint}\n")


@pytest.mark.parametrize(("partitions", "missing"), [(2, (1, 0)), (4, (1, 0))])
def test_one_disk_of_several_gets_no_records(tmp_path: Path, partitions: int, missing: tuple[int, int]) -> None:
    """Keys would not go to the partitions that Kafka chooses, even if only later partitions are missing."""
    disks = tmp_path / "1", tmp_path / "2"
    octavo("create", *map(str, disks), "--topic", "t", "--partitions", str(partitions))
    for disk, number in zip(disks, missing, strict=True):
        run = produce(disk, b"v")
        assert run.exit == 1 and f"partition {number} of topic t is not in any of the log directories" in run.stderr
    sizes = [path.stat().st_size for path in tmp_path.glob("*/t-*/*.log")]
    assert sizes == [0] * partitions


def test_all_disks_of_a_topic_that_got_more_partitions(tmp_path: Path) -> None:
    disks = str(tmp_path / "1"), str(tmp_path / "2")
    octavo("create", *disks, "--topic", "t", "--partitions", "1")
    assert produce(tmp_path / "1", b"v").exit == 0
    assert octavo("alter", *disks, "--topic", "t", "--partitions", "2", "--config", "flush.ms=7").exit == 0
    assert "partition 1 of topic t is not in any" in produce(tmp_path / "1", b"v").stderr
    with library.LogDir(disks) as logs:
        logs.alter_configs("t", {"flush.ms": None})
        with logs.producer() as producer:
            producer.send("t", b"v", partition=1)
    assert "partition 1 of topic t is not in any" in produce(tmp_path / "1", b"v").stderr


def test_a_locked_directory_is_refused(store: Path) -> None:
    with locked(store):
        before = state(store)
        for command in ("produce", "consume"):
            run = octavo(command, str(store), "--topic", "t")
            assert run.exit == 1 and "lock" in run.stderr
        assert state(store) == before
