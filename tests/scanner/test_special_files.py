"""In place of a file there may be a FIFO, a socket, a device or a folder: it is reported or skipped, and nothing waits
for it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import octavo
from octavo.format.names import FileKind
from tests.cli.runs import printed
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

BATCHES = [batch(offset) for offset in range(40)]
Make = Callable[[Path], str]
NOT_REGULAR = "is not a regular file"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A partition of two segments; the last begins at offset 20."""
    write_segment(tmp_path / "orders-0", 0, *BATCHES[:20])
    write_segment(tmp_path / "orders-0", 20, *BATCHES[20:], closed=False)
    return tmp_path


@pytest.fixture(params=["FIFO", "socket", "device", "folder"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Puts something in the place of a file, and returns what is reported about it."""
    with ExitStack() as stack:

        def make(place: Path) -> str:
            place.unlink(missing_ok=True)
            match request.param:
                case "FIFO":
                    os.mkfifo(place)
                    # With a writer a FIFO can be opened at once, so that a failing test still ends.
                    stack.callback(os.close, os.open(place, os.O_RDWR))
                case "socket":
                    bound = stack.enter_context(socket.socket(socket.AF_UNIX))
                    with monkeypatch.context() as context:  # a socket's path must be short
                        context.chdir(place.parent)
                        bound.bind(place.name)
                case "device":
                    place.symlink_to("/dev/zero")
                case "folder":
                    place.mkdir()
                    return "Is a directory"
            return NOT_REGULAR

        yield make


@pytest.mark.parametrize("base", [0, 20])
def test_in_place_of_a_segment_it_is_reported_and_the_other_is_read(logs: Path, make: Make, base: int) -> None:
    log = path(logs / "orders-0", base, FileKind.LOG)
    told = make(log)
    run = printed("cat", str(logs))
    assert (run.exit, run.stderr) == (1, f"octavo: {log}: {told}; not read\n")
    assert [json.loads(line)["offset"] for line in run.stdout.splitlines()] == list(range(20 - base, 40 - base))
    topics = printed("topics", "--json", str(logs))
    assert (topics.exit, json.loads(topics.stdout)["records"]) == (1, 20)
    verified = printed("verify", str(logs))
    assert verified.exit == 1
    assert f"problem: {log}: unreadable-file: {told}\n" in verified.stdout
    with pytest.raises(OSError, match=told):
        octavo.scan(logs).to_table()
    for line in (("explain", str(log)), ("dump-log", "--files", str(log))):
        refused = printed(*line)
        assert (refused.exit, refused.stderr) == (1, f"octavo: {log}: {told}\n")


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex", "snapshot"])
def test_in_place_of_an_index_it_is_reported_by_verify(logs: Path, make: Make, kind: str) -> None:
    place = logs / "orders-0" / f"{0:020}.{kind}"
    told = make(place)
    assert len(octavo.scan(logs).to_table()) == 40
    assert f"problem: {place}: unreadable-file: {told}\n" in printed("verify", str(logs)).stdout
    for line in (("explain", str(place)), ("dump-log", "--files", str(place))):
        assert printed(*line).stderr == f"octavo: {place}: {told}\n"


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
def test_in_place_of_a_partitions_small_file_it_is_reported_by_verify(logs: Path, make: Make, name: str) -> None:
    place = logs / "orders-0" / name
    told = make(place)
    assert len(octavo.scan(logs).to_table()) == 40
    verified = printed("verify", str(logs))
    assert f"problem: {place}: unreadable-file: {told}\n" in verified.stdout


@pytest.mark.parametrize(
    "name", ["log-start-offset-checkpoint", "replication-offset-checkpoint", "octavo-commits.json"]
)
def test_in_place_of_a_directorys_small_file_it_is_noted_by_a_scan(logs: Path, make: Make, name: str) -> None:
    told = make(logs / name)
    scan = octavo.scan(logs)
    assert len(scan.to_table()) == 40
    assert f"{logs / name}: not read: {told}" in map(str, scan.notes)
    question = "lookup", str(logs), "--topic", "orders", "--partition", "0", "--offset", "3"
    assert json.loads(printed(*question).stdout)["offset"] == 3


@pytest.mark.parametrize("name", ["meta.properties", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"])
def test_nothing_waits_for_the_other_small_files(logs: Path, make: Make, name: str) -> None:
    make(logs / name)
    assert printed("verify", str(logs)).stdout
    assert printed("topics", str(logs)).exit == 0


@pytest.mark.parametrize("suffix", ["swap", "cleaned", "deleted"])
@pytest.mark.parametrize("base", [0, 20])
def test_what_has_the_name_of_a_transient_segment_is_skipped(logs: Path, make: Make, base: int, suffix: str) -> None:
    make(logs / "orders-0" / f"{base:020}.log.{suffix}")
    scan = octavo.scan(logs)
    assert [record.offset for record in scan] == list(range(40))
    assert scan.notes == ()
