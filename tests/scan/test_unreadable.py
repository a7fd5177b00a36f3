"""A disk that fails: what can be read is read, and what cannot is told with the place and the system's reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import octavo
from octavo.format.names import FileKind
from octavo.scan.location import LocalFile, LocalFileSystem
from octavo.scan.segment_log import walk_file
from tests.cli.runs import Run
from tests.cli.runs import octavo as octavo_command
from tests.scan.segments import path, write_segment
from tests.storage.batches import batch

BATCHES = [batch(offset) for offset in range(40)]
SIZE = len(BATCHES[0])
BAD = range(10 * SIZE + 5, 12 * SIZE)  # of the batches at offsets 10 and 11


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *BATCHES)
    write_segment(tmp_path / "orders-1", 1, batch(1))
    return tmp_path


@pytest.fixture
def bad_sector(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of orders-0, which cannot be read where `BAD` is."""
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


def printed(*line: str) -> Run:
    """A run of a command; `cat` prints into a file, since it writes beside Python's own stdout."""
    with TemporaryDirectory() as folder:
        output = Path(folder, "records")
        run = octavo_command(*line, *(("--output", str(output)) if line[0] == "cat" else ()))
        return run._replace(stdout=output.read_text() if output.exists() else run.stdout)


def unlisted(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let files and folders of these names be refused."""
    listed, opened = LocalFileSystem.list, LocalFileSystem.open

    def check(place: str) -> None:
        if Path(place).name in names:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)

    def list_(self: LocalFileSystem, folder: str) -> object:
        check(folder)
        return listed(self, folder)

    def open_(self: LocalFileSystem, place: str) -> LocalFile:
        check(place)
        return opened(self, place)

    monkeypatch.setattr(LocalFileSystem, "list", list_)
    monkeypatch.setattr(LocalFileSystem, "open", open_)


def test_what_lies_before_a_bad_sector_comes_first(bad_sector: Path) -> None:
    with LocalFile(str(bad_sector)) as file:
        chunks = walk_file(file, 0, file.size())
        assert sum(len(chunk.table) for chunk in [next(chunks)]) == 10
        with pytest.raises(OSError, match="Input/output error") as raised:
            list(chunks)
    assert raised.value.filename == str(bad_sector)


def test_reading_goes_on_behind_a_bad_sector_by_the_index(logs: Path, bad_sector: Path) -> None:
    scan = octavo.scan(logs, on_damage="skip")
    offsets = [record.offset for record in scan.records() if record.partition == 0]
    assert offsets[:10] == list(range(10))
    assert offsets[-1] == 39
    assert not {10, 11} & set(offsets)
    assert scan.damages == 1
    assert f"{bad_sector}: position {10 * SIZE}: Input/output error; not read" in map(str, scan.notes)
    with pytest.raises(OSError, match="Input/output error"):
        list(octavo.scan(logs).records())


def test_commands_tell_of_a_bad_sector_and_exit_with_1(logs: Path, bad_sector: Path) -> None:
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
    assert found.stderr.endswith(": Permission denied\n")
