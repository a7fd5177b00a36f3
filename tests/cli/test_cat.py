"""`octavo cat`: formats, bounds, messages and exit codes."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record
from tests.cli.cat_process import cat, rows
from tests.cli.runs import Run, octavo
from tests.golden import archives
from tests.scanner.segments import write_segment

RECORDS = [
    Record(0, 1000, b"a", 'é\n"x"'.encode()),
    Record(1, 2000, None, b"\xff\x00", (Header("h", b"x"), Header("é\u2028", None))),
    Record(2, 3000, b"", None),
]
LATER = [Record(number, 1000 * number, b"%d" % number, b"v") for number in range(3, 9)]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    write_segment(root / "orders-0", 0, build_batch(RECORDS), build_batch(LATER))
    write_segment(root / "orders-1", 0, build_batch(LATER[:1]))
    write_segment(root / "payments-0", 0, build_batch(LATER[:1]))
    write_segment(root / "__consumer_offsets-0", 0, build_batch(LATER[:1]))
    return root


def test_json_is_one_line_per_record(logs: Path) -> None:
    first, second, third = rows(logs, "--topic", "orders", "--partition", 0, "--max-messages", 3)
    assert first == {
        "topic": "orders", "partition": 0, "offset": 0, "timestamp": 1000, "timestampType": "CreateTime",
        "key": "a", "value": 'é\n"x"', "headers": [],
    }  # fmt: skip
    assert second["value"] == {"base64": base64.b64encode(b"\xff\x00").decode()}
    assert second["headers"] == [{"key": "h", "value": "x"}, {"key": "é\u2028", "value": None}]
    assert (second["key"], third["key"], third["value"]) == (None, "", None)


def test_bytes_are_shown_as_asked(logs: Path) -> None:
    for shown, value, header in (("base64", "/wA=", "eA=="), ("hex", "ff00", "78")):
        row = rows(logs, "--topic", "orders", "--offset", 1, "--max-messages", 1, "--bytes", shown)[0]
        assert (row["key"], row["value"]) == (None, value)
        assert row["headers"] == [{"key": "h", "value": header}, {"key": "é\u2028", "value": None}]


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ([], [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (["--offset", "earliest"], [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (["--offset", "latest"], []),
        (["--offset", "2", "--to-offset", "5"], [2, 3, 4]),
        (["--from-timestamp", "5000"], [5, 6, 7, 8]),
        (["--from-timestamp", "1970-01-01T00:00:07Z"], [7, 8]),
        (["--from-timestamp", "3000", "--to-timestamp", "1970-01-01T00:00:06"], [2, 3, 4, 5]),
        (["--max-messages", "2"], [0, 1]),
        (["--max-messages", "0"], []),
    ],
)
def test_bounds(logs: Path, options: list[str], offsets: list[int]) -> None:
    assert [row["offset"] for row in rows(logs, "--topic", "orders", "--partition", 0, *options)] == offsets


def test_topics_and_partitions(logs: Path) -> None:
    def found(*arguments: object) -> set[tuple[object, object]]:
        return {(row["topic"], row["partition"]) for row in rows(*arguments)}

    assert found(logs) == {("orders", 0), ("orders", 1), ("payments", 0)}
    assert found(logs, "--topic", "orders", "--topic", "payments", "--partition", 0) == {("orders", 0), ("payments", 0)}
    assert found(logs / "orders-1") == {("orders", 1)}
    assert found(logs / "orders-0" / f"{0:020}.log", logs / "orders-1") == {("orders", 0), ("orders", 1)}
    assert found(logs / "__consumer_offsets-0") == {("__consumer_offsets", 0)}
    assert found(f"file://{logs}", "--partition", 1) == {("orders", 1)}


def test_csv_tells_null_from_empty(logs: Path) -> None:
    done = cat(logs / "orders-0", "--format", "csv", "--to-offset", 3)
    lines = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    assert lines[0] == ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"]
    assert lines[1] == ["orders", "0", "0", "1000", "CreateTime", "a", 'é\n"x"', ""]
    assert lines[2][5:7] == ["", '{"base64":"/wA="}']
    assert json.loads(lines[2][7]) == [{"key": "h", "value": "x"}, {"key": "é\u2028", "value": None}]
    assert done.stdout.decode().endswith('orders,0,2,3000,CreateTime,"",,\n')
    shown = cat(logs / "orders-0", "--format", "csv", "--offset", 1, "--to-offset", 2, "--bytes", "hex").stdout
    assert b',,"ff00",' in shown


def test_raw_is_the_values(logs: Path) -> None:
    assert (
        cat(logs / "orders-0", "--format", "raw", "--to-offset", 4).stdout == 'é\n"x"\n'.encode() + b"\xff\x00\n\nv\n"
    )


@pytest.mark.parametrize("limit", [[], ["--max-messages", "5"]])
def test_arrow_and_parquet(logs: Path, tmp_path: Path, limit: list[str]) -> None:
    expected = [row["offset"] for row in rows(logs, *limit)]
    stream = pa.ipc.open_stream(cat(logs, "--format", "arrow", *limit).stdout).read_all()
    assert stream["offset"].to_pylist() == expected
    file = tmp_path / "records.parquet"
    done = cat(logs, "--format", "parquet", "--output", file, *limit)
    assert (done.returncode, done.stdout) == (0, b"")
    size = file.stat().st_size
    assert done.stderr.decode() == f"{file}: 1 file, {len(expected)} records, {size} bytes\n"
    assert pq.read_table(file).cast(stream.schema) == stream
    assert pq.read_table(pa.BufferReader(cat(logs, "--format", "parquet", *limit).stdout)).num_rows == len(expected)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_folder_gets_a_file_for_each_part(logs: Path, tmp_path: Path, form: str) -> None:
    done = cat(logs, "--format", form, "--output", f"{tmp_path}/new/")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().startswith(f"{tmp_path}/new/: 3 files, 11 records, ")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == [f"{name}-{0:020}.{form}" for name in ("orders-0", "orders-1", "payments-0")]
    again = cat(logs, "--format", form, "--output", tmp_path / "new")
    assert (again.returncode, f"choose a folder without {form} files" in again.stderr.decode()) == (1, True)
    refused = cat(logs, "--output", tmp_path / "new")
    assert (refused.returncode, b"is a folder, expected a file for json" in refused.stderr) == (2, True)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_failure_leaves_the_file_that_was_there(logs: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / "records"
    file.write_text("before")
    command = f"ulimit -f 0; exec {sys.executable} -m octavo cat {logs} --format {form} --output {file}"
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; {command}"], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("form", ["json", "arrow", "parquet"])
def test_a_device_or_a_pipe_is_written_to_and_a_link_followed(logs: Path, tmp_path: Path, form: str) -> None:
    assert cat(logs, "--format", form, "--output", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    expected = len(cat(logs, "--format", form).stdout)  # the bits after an Arrow bitmap's last one are arbitrary
    assert len(cat(logs, "--format", form, "--output", "/dev/stdout").stdout) == expected > 0
    (tmp_path / "link").symlink_to(tmp_path / "file")
    cat(logs, "--format", form, "--output", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").stat().st_size > 0


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("place", [".", "orders-0", f"orders-0/{0:020}.log"])
def test_what_is_read_is_not_written_to(logs: Path, form: str, place: str) -> None:
    before = {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    for name in (f"orders-0/{0:020}.log", "orders-0/new"):
        run = octavo("cat", place, "--format", form, "--output", str(logs / name), folder=logs)
        sentence = f"--output {logs / name} lies in {place}, which is being read: choose a place outside it"
        assert run == Run(2, "", f"octavo: {sentence}\n")
    assert {path: path.read_bytes() for path in logs.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("spelling", ["file:{}", "file://{}"])
def test_what_is_read_by_its_url_is_not_written_to(logs: Path, spelling: str) -> None:
    run = octavo("cat", spelling.format(logs), "--output", str(logs / "new"))
    assert run.exit == 2
    assert "which is being read: choose a place outside it" in run.stderr


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_an_output_that_cannot_be_made_is_reported_by_its_name(form: str, logs: Path, tmp_path: Path) -> None:
    run = octavo("cat", str(logs), "--format", form, "--output", str(tmp_path / "no" / "file"))
    assert run == Run(1, "", f"octavo: {tmp_path}/no/file: there is no folder {tmp_path}/no; create it first\n")


def test_output_goes_to_a_file(logs: Path, tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    assert cat(logs, "--output", file).stdout == b""
    assert file.read_bytes() == cat(logs).stdout


def test_a_dash_is_stdout_and_a_file_url_a_path(logs: Path, tmp_path: Path) -> None:
    expected = cat(logs).stdout
    assert cat(logs, "--output", "-").stdout == expected
    for url in (f"file://{tmp_path}/a%20b.json", f"file:{tmp_path}/a b.json"):
        assert cat(logs, "--output", url).stdout == b""
        assert (tmp_path / "a b.json").read_bytes() == expected
        (tmp_path / "a b.json").unlink()


def test_output_to_a_url_is_refused(logs: Path) -> None:
    run = octavo("cat", str(logs), "--output", "s3://KEY:SECRET@bucket/x")
    assert run.exit == 2
    assert "records cannot be written to one: give a path on this machine" in run.stderr
    assert "SECRET" not in run.stderr


def test_json_is_the_format_json(logs: Path) -> None:
    assert cat(logs, "--json").stdout == cat(logs, "--format", "json").stdout
    run = octavo("cat", str(logs), "--json", "--format", "csv")
    assert (run.exit, run.stderr) == (
        2,
        "octavo: --json and --format csv cannot be used together; see `octavo cat --help`\n",
    )


def test_what_is_damaged_is_named_and_skipped() -> None:
    folder = archives.unpack("v431-corrupt") / "flip-record-none"
    done = cat(folder)
    assert done.returncode == 1
    assert b"position 331: a batch at offset 3 (up to" in done.stderr
    assert len(done.stdout.splitlines()) > 200


def test_a_torn_end_is_mentioned_and_is_not_a_failure() -> None:
    done = cat(archives.unpack("v431-torn"), "--topic", "crash.plain")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 266
    assert b"an incomplete batch at the end" in done.stderr


def test_a_damaged_batch_at_the_end_is_a_failure() -> None:
    done = cat(archives.unpack("v431-torn"), "--topic", "crash.prealloc")
    assert done.returncode == 1
    assert b"a damaged batch at the end: the log ends at position 11289, offset 2013" in done.stderr


@pytest.mark.parametrize("name", ["length-negative", "length-too-large", "length-too-small"])
@pytest.mark.parametrize("has_index", [True, False])
def test_only_the_batch_with_a_wrong_length_is_lost(name: str, has_index: bool, tmp_path: Path) -> None:
    folder = shutil.copytree(archives.unpack("v431-corrupt") / name, tmp_path / "orders-0")
    if not has_index:
        (folder / f"{0:020}.index").unlink()
    done = cat(tmp_path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == (228 if name == "length-negative" else 229)
    assert done.stderr.count(b"\n") == 1


# Prefixes of the names of folders whose logs are damaged, so that batches are skipped. In the other folders only
# indexes or snapshots are damaged, offsets jump or repeat, or a crash cut off the end.
DAMAGED_LOGS = {
    "v431-corrupt": ("bad-", "count-", "flip-", "length-", "log-", "marker-"),
    "v431-torn": ("crash.compacted-0", "crash.prealloc-0"),
    "v431-killed": (),
}


@pytest.mark.parametrize("archive", DAMAGED_LOGS)
def test_whatever_the_damage_there_is_no_traceback(archive: str, tmp_path: Path) -> None:
    for folder in sorted(path for path in archives.unpack(archive).iterdir() if path.is_dir()):
        for isolation in ("read_uncommitted", "read_committed"):
            done = octavo("cat", str(folder), "--isolation-level", isolation, "--output", str(tmp_path / "out"))
            assert done.exit == folder.name.startswith(DAMAGED_LOGS[archive]), folder
            assert "Traceback" not in done.stderr and "unexpected" not in done.stderr, folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--topic", "order"], "octavo: {logs}: there is no topic 'order' (did you mean orders?)\n"),
        (
            ["--topic", "orders", "--partition", "5"],
            "octavo: {logs}: there is no partition 5 of topic 'orders'; it has 0 to 1\n",
        ),
        (
            ["--to-offset", "highWatermark"],
            "octavo: {logs}/orders-0: replication-offset-checkpoint does not name this partition; give latest or a"
            " number instead of highWatermark\n",
        ),
    ],
)
def test_what_cannot_be_read_is_reported_in_one_sentence(logs: Path, arguments: list[str], sentence: str) -> None:
    done = cat(logs, *arguments)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", sentence.format(logs=logs))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--offset", "-x"], "'-x' is not an offset, expected a number, earliest or latest"),
        (["--offset", "1", "--tail", "1"], "--offset and --tail cannot be used together"),
        (["--topic", "orders", "--include", "o.*"], "--topic and --include cannot be used together"),
        (["--include", "("], "'(' is not a regular expression"),
        (["--grep", "("], "'(' is not a regular expression"),
        (["--key", "xyz", "--bytes", "hex"], "--key xyz is not valid hex, the form given by --bytes"),
        (["--text", "--bytes", "hex"], "--text and --bytes hex cannot be used together"),
        (["--offset", "9", "--to-offset", "5"], "--to-offset 5 lies before --offset 9"),
        (["--follow", "--to-offset", "3"], "leave out --to-offset and --to-timestamp"),
        (["--follow", "--format", "parquet"], "can only print json, csv or raw to stdout"),
        (["--from-timestamp", "noon"], "timestamp 'noon', expected milliseconds or ISO 8601"),
        (["--format", "xml"], "'xml' is not one of"),
    ],
)
def test_a_wrong_command_line_gives_exit_code_2(logs: Path, arguments: list[str], sentence: str) -> None:
    done = cat(logs, *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr.decode()


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("form", ["json", "raw", "arrow", "parquet"])
def test_a_closed_pipe_ends_it_quietly(tmp_path: Path, form: str, buffered: bool) -> None:
    large = [build_batch([Record(number, 0, None, os.urandom(50_000))]) for number in range(40)]
    write_segment(tmp_path / "t-0", 0, *large)
    arguments = [sys.executable, *([] if buffered else ["-u"]), "-m", "octavo", "cat", str(tmp_path), "--format", form]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(1)
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == -signal.SIGPIPE


def test_an_unbuffered_stdout_gets_all_of_it(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", 0, *(build_batch([Record(number, 0, None, bytes(90_000))]) for number in range(9)))
    command = [sys.executable, "-u", "-m", "octavo", "cat", str(tmp_path), "--format", "raw"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert len(done.stdout) == 9 * 90_001


def test_what_was_flushed_and_is_gone_is_noted_and_the_exit_code_is_1(tmp_path: Path) -> None:
    root = shutil.copytree(archives.unpack("v431-clean"), tmp_path / "root")
    with (root / "codec.zstd-0" / f"{354:020}.log").open("r+b") as log:
        log.truncate(8274)
    missing = "ends at offset 535, but was flushed up to 620: offsets 535 to 619 are missing"
    for more in ((), ("--format", "parquet", "--output", str(tmp_path / "out.parquet"))):
        run = octavo("cat", str(root), "--topic", "codec.zstd", "--partition", "0", *more)
        assert run.exit == 1
        assert f"octavo: {root / 'codec.zstd-0'}: {missing}\n" in run.stderr
    assert octavo("cat", str(root), "--topic", "codec.zstd", "--partition", "0", "--max-messages", "1").exit == 1
