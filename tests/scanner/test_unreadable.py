"""A failing disk: what can be read is read, and the rest is reported with its place and the system's reason."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

import octavo
from octavo.format.names import FileKind
from octavo.scanner.places.location import LocalReadableFile
from octavo.scanner.places.segment_log import walk_file
from tests.cli.runs import printed
from tests.scanner.refusals import unlisted
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

BATCHES = [batch(offset) for offset in range(40)]
SIZE = len(BATCHES[0])
BAD = range(10 * SIZE + 5, 12 * SIZE)  # the bad sector lies in the batches at offsets 10 and 11


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *BATCHES)
    write_segment(tmp_path / "orders-1", 1, batch(1))
    return tmp_path


@pytest.fixture
def bad_sector(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of orders-0, which cannot be read at `BAD`."""
    log = path(logs / "orders-0", 0, FileKind.LOG)
    inode, pread = log.stat().st_ino, os.preadv

    def fail(descriptor: int, buffers: list[memoryview], position: int) -> int:
        if os.fstat(descriptor).st_ino == inode:
            if position in BAD:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            if position < BAD.start:
                buffers = [buffers[0][: BAD.start - position]]
        return pread(descriptor, buffers, position)

    monkeypatch.setattr(os, "preadv", fail)
    return log


def test_what_lies_before_a_bad_sector_comes_first(bad_sector: Path) -> None:
    with LocalReadableFile(str(bad_sector)) as file:
        chunks = walk_file(file, 0, file.size())
        assert sum(len(chunk.table) for chunk in [next(chunks)]) == 10
        with pytest.raises(OSError, match="Input/output error") as raised:
            list(chunks)
    assert raised.value.filename == str(bad_sector)


def test_reading_goes_on_after_a_bad_sector_by_the_index(logs: Path, bad_sector: Path) -> None:
    scan = octavo.scan(logs, on_damage="skip")
    offsets = [record.offset for record in scan.records() if record.partition == 0]
    assert offsets[:10] == list(range(10))
    assert offsets[-1] == 39
    assert not {10, 11} & set(offsets)
    assert scan.damage_count == 1
    assert f"{bad_sector}: position {10 * SIZE}: Input/output error; not read" in map(str, scan.notes)
    with pytest.raises(OSError, match="Input/output error"):
        list(octavo.scan(logs).records())


def test_commands_report_a_bad_sector_and_exit_with_1(logs: Path, bad_sector: Path) -> None:
    told = f"octavo: {bad_sector}: position {10 * SIZE}: Input/output error; not read\n"
    for line in (("cat", "--format", "raw"), ("topics",)):
        run = printed(*line, str(logs))
        assert (run.exit, run.stderr) == (1, told)
        assert run.stdout
    verified = printed("verify", str(logs))
    assert verified.exit == 1
    assert f"problem: {bad_sector}: unreadable-file: Input/output error\n" in verified.stdout


@pytest.mark.parametrize("kind", [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX])
def test_an_index_is_not_needed(logs: Path, kind: FileKind, monkeypatch: pytest.MonkeyPatch) -> None:
    unlisted(monkeypatch, path(logs / "orders-0", 0, kind).name)
    scan = octavo.scan(logs, from_timestamp=0, from_offset=30)
    assert [record.offset for record in scan.records()] == list(range(30, 40))


@pytest.fixture
def two_segments(tmp_path: Path) -> Path:
    """A partition whose last segment begins at offset 20."""
    write_segment(tmp_path / "orders-0", 0, *BATCHES[:20])
    write_segment(tmp_path / "orders-0", 20, *BATCHES[20:], closed=False)
    return tmp_path


@pytest.mark.parametrize("base", [0, 20])
def test_the_other_segments_are_read(two_segments: Path, base: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = path(two_segments / "orders-0", base, FileKind.LOG)
    unlisted(monkeypatch, log.name)
    told = f"octavo: {log}: Permission denied; not read\n"
    for isolation in ("read_uncommitted", "read_committed"):
        run = printed("cat", str(two_segments), "--isolation-level", isolation)
        assert (run.exit, run.stderr) == (1, told)
        assert [json.loads(line)["offset"] for line in run.stdout.splitlines()] == list(range(20 - base, 40 - base))
    topics = printed("topics", "--json", str(two_segments))
    assert (topics.exit, topics.stderr, json.loads(topics.stdout)["records"]) == (1, told, 20)
    with pytest.raises(PermissionError):
        octavo.scan(two_segments).to_table()
    place = "--topic", "orders", "--partition", "0"
    found = [printed("lookup", str(two_segments), *place, "--offset", str(number)) for number in (3, 23)]
    answers = [json.loads(run.stdout)["offset"] for run in found]
    assert ([run.exit for run in found], answers) == (([1, 0], [20, 23]) if base == 0 else ([0, 1], [3, -1]))
    assert [run.stderr for run in found if run.exit] == [told]


def test_a_scan_that_stops_earlier_does_not_need_an_unreadable_end(
    two_segments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlisted(monkeypatch, f"{20:020}.log")
    assert [record.offset for record in octavo.scan(two_segments, to_offset=7)] == list(range(7))


def test_the_readable_one_of_two_copies_is_read(two_segments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = two_segments / "other"
    write_segment(other / "orders-0", 0, *BATCHES[:30])
    write_segment(other / "orders-0", 30, batch(30))
    unlisted(monkeypatch, f"{20:020}.log")
    run = printed("topics", "--json", str(two_segments), str(other))
    assert (run.exit, json.loads(run.stdout)["records"]) == (0, 31)
    unlisted(monkeypatch, f"{0:020}.log", f"{30:020}.log")
    assert printed("topics", "--json", str(two_segments), str(other)).exit == 1


@pytest.mark.parametrize("kind", [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX])
@pytest.mark.parametrize("timestamp", [-3, 0, 1_000_000])
def test_a_lookup_needs_no_index(
    two_segments: Path, kind: FileKind, timestamp: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "lookup", str(two_segments), "--topic", "orders", "--partition", "0", "--timestamp", str(timestamp)
    expected = json.loads(printed(*question).stdout)["offset"]
    unlisted(monkeypatch, *(path(two_segments, base, kind).name for base in (0, 20)))
    run = printed(*question)
    assert (run.exit, json.loads(run.stdout)["offset"]) == (0, expected)


@pytest.mark.parametrize("name", ["orders-7", "links", f"orders-1/{7:020}.log", f"orders-1/{0:020}.log"])
def test_a_link_to_itself_hides_nothing_else(logs: Path, name: str) -> None:
    (logs / name).symlink_to(Path(name).name)
    run = printed("cat", str(logs))
    partitions = [json.loads(line)["partition"] for line in run.stdout.splitlines()]
    assert partitions == [0] * 40 + [1]
    assert run.exit == int(name != "links")
    assert run.stderr.count("Too many levels of symbolic links") == run.exit


@pytest.mark.parametrize("name", ["orders-0", f"{0:020}.log"])
def test_the_other_partitions_are_read(logs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unlisted(monkeypatch, name)
    for line in (("cat",), ("topics", "--json")):
        run = printed(*line, str(logs))
        assert run.exit == 1
        assert '"partition":1' in run.stdout
        assert '"partition":0' not in run.stdout
        assert "Permission denied" in run.stderr
        assert run.stderr.count("\n") == 1
    with pytest.raises(PermissionError):
        octavo.scan(logs).to_table()
    found = printed("lookup", str(logs), "--topic", "orders", "--partition", "0", "--offset", "3")
    assert (found.exit, found.stdout) == (1, "")
    assert found.stderr.endswith(": Permission denied; run as the broker's user\n")
