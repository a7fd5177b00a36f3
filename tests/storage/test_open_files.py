"""Many logs with few descriptors: the files that were opened first are closed, and opened again when they are used."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.files.open_files import OpenFiles
from octavo.storage.log_manager import LogManager
from octavo.storage.segment import index_file, log_file, txn_index_file
from octavo.storage.segment.txn_index_file import TxnIndexFile
from octavo.system.filesystem import LocalFileSystem
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World


class Opener:
    def __init__(self, *, is_busy: bool = False) -> None:
        self.is_busy = is_busy
        self.is_open = True

    def release_if_idle(self) -> bool:
        self.is_open = self.is_busy
        return not self.is_busy


def test_beyond_the_limit_the_longest_open_are_released() -> None:
    files, openers = OpenFiles(2), [Opener() for _ in range(4)]
    for opener in openers[:3]:
        files.opened(opener)
    assert [opener.is_open for opener in openers[:3]] == [False, True, True]
    files.released(openers[1])
    files.opened(openers[3])
    assert [opener.is_open for opener in openers] == [False, True, True, True]
    assert len(files) == 2


def test_a_busy_file_is_skipped() -> None:
    files, busy, idle = OpenFiles(1), Opener(is_busy=True), Opener()
    files.opened(busy)
    files.opened(idle)
    assert (busy.is_open, idle.is_open, len(files)) == (True, True, 2)
    busy.is_busy = False
    files.opened(Opener())
    assert not busy.is_open and not idle.is_open


def test_an_index_in_use_is_not_unmapped(tmp_path: Path) -> None:
    index = World().segment(tmp_path, batch(0)).files.offset_index
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with index._lock:
            taken.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    assert not index.release_if_idle()
    done.set()
    holder.join()
    assert index.release_if_idle()


def test_logs_work_when_each_use_takes_the_files_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = OpenFiles(1)
    monkeypatch.setattr(log_file, "OPEN_FILES", files)
    monkeypatch.setattr(index_file, "OPEN_FILES", files)
    with LogManager(tmp_path, environment=World().environment) as logs:
        logs.create_topic("t", 3, {"index.interval.bytes": 0, "segment.bytes": 1000})
        for number in range(30):
            logs.log("t", number % 3).append_as_leader(bytearray(batch(0, timestamp=NOW_MS + number)), leader_epoch=0)
            assert len(files) <= 2
        for partition in range(3):
            log = logs.log("t", partition)
            found = [log.read(offset, 1).start.offset for offset in range(10)]
            assert found == list(range(10))
            assert log.offset_for_timestamp(NOW_MS + 15).offset == 5
    with LogManager(tmp_path, environment=World().environment) as logs:
        assert [log.log_end_offset for log in logs.logs.values()] == [10, 10, 10]


FEW_DESCRIPTORS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
from octavo.storage.log_manager import LogManager
from tests.storage.batches import batch
with LogManager(sys.argv[1], background=False) as logs:
    logs.create_topic("t", 60, {"index.interval.bytes": 0})
    for _ in range(3):
        for log in logs.logs.values():
            log.append_as_leader(bytearray(batch(0)), leader_epoch=0)
    print(sum(log.read(2, 1000).size > 0 for log in logs.logs.values()))
"""


def test_a_process_with_few_descriptors_uses_many_logs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FEW_DESCRIPTORS, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "60\n"), done.stderr


def test_transaction_indexes_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = OpenFiles(2)
    monkeypatch.setattr(txn_index_file, "OPEN_FILES", files)
    indexes = [TxnIndexFile(LocalFileSystem(), tmp_path / f"{number}.txnindex", 0) for number in range(5)]
    for index in indexes:
        index.append(AbortedTxn(1, 0, 1, 2))
    assert len(files) == 2
    assert [len(index.aborted()) for index in indexes] == [1] * 5


def test_files_are_given_back_when_the_process_has_too_many_open(tmp_path: Path) -> None:
    """Other code opens files too, so the process may reach its limit before the logs reach theirs."""
    program = """
import os, resource, sys
from pathlib import Path
from octavo.storage.log_manager import LogManager
from octavo.storage.files.open_files import OPEN_FILES
from tests.storage.batches import batch
with LogManager(sys.argv[1], background=False) as logs:
    logs.create_topic("t", 40)
    OPEN_FILES.limit = 1000
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    for log in logs.logs.values():
        log.append_as_leader(batch(0), leader_epoch=0)
    print(logs.offline, sum(log.log_end_offset for log in logs.logs.values()))
"""
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("{} 40\n", 0), run.stderr
