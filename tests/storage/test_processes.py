"""A directory has one owner: other processes, forked children and the owner's own backups do not change that."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import KafkaStorageError
from octavo.format.names import CLEAN_SHUTDOWN, LOCK
from octavo.storage.log_manager import LogManager
from tests.storage.batches import batch
from tests.storage.forked import in_child
from tests.storage.open_logs import offsets_read

needs_open_file_locks = pytest.mark.skipif(
    not hasattr(fcntl, "F_OFD_SETLK"), reason="this system has only POSIX locks, which any close of the file releases"
)


def second_owner(root: Path) -> str:
    """What another process that opens the same directory prints."""
    program = "import sys, octavo; octavo.LogDir(sys.argv[1], background=False); print('got it')"
    run = subprocess.run([sys.executable, "-c", program, str(root)], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr.strip().rpartition("\n")[2]


@needs_open_file_locks
def test_the_lock_survives_what_its_owner_reads(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with LogManager(root, background=False) as logs:
        logs.create_topic("t", 1)
        (root / LOCK).read_bytes()
        shutil.copytree(root, tmp_path / "backup")
        assert f"in use: process {os.getpid()} (" in second_owner(root)
    assert "got it" in second_owner(root)


def test_a_forked_child_cannot_use_its_parents_directory(tmp_path: Path) -> None:
    with LogManager(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        log = logs.log("t", 0)
        uses: list[Callable[[], object]] = [
            lambda: log.append_as_leader(batch(0), leader_epoch=0),
            lambda: log.read(0, 100),
            log.flush,
            log.roll,
            logs.retain,
            logs.flush,
            lambda: logs.create_topic("u", 1),
            lambda: logs.delete_topic("t"),
        ]
        for use in uses:
            assert in_child(use).startswith(KafkaStorageError.__name__)
        assert "forked" in in_child(uses[0])
        log.append_as_leader(batch(0), leader_epoch=0)
        assert offsets_read(log) == [0]


def test_a_child_that_leaves_the_block_closes_nothing(tmp_path: Path) -> None:
    with LogManager(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        with logs.log("t", 0).lock:  # a thread of the parent may hold it when it forks
            assert in_child(logs.close) == "None"
        assert (tmp_path / LOCK).exists() and not (tmp_path / CLEAN_SHUTDOWN).exists()
        assert f"in use: process {os.getpid()} (" in second_owner(tmp_path)
        logs.log("t", 0).append_as_leader(batch(0), leader_epoch=0)


def test_a_child_that_outlives_its_parents_use_holds_no_lock(tmp_path: Path) -> None:
    logs = LogManager(tmp_path, background=False)
    logs.create_topic("t", 1)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent is done
        os._exit(0)
    os.close(reader)
    logs.close()
    try:
        assert "got it" in second_owner(tmp_path)
    finally:
        os.close(writer)
        os.waitpid(child, 0)
