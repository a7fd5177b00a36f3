"""Many threads on one `LogManager`: appends and reads while logs roll, lose segments, and are deleted and closed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from octavo.errors import KafkaStorageError, LogDirLockedError, OffsetOutOfRangeError, UnknownTopicOrPartitionError
from octavo.format.batches.walker import walk
from octavo.storage.log.read import Isolation
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from tests.storage.batches import batch

CONFIGS = {"segment.bytes": 3000, "index.interval.bytes": 300, "file.delete.delay.ms": 0, "retention.ms": -1}
ONE = batch(0, 2)


class Problems:
    """What went wrong in threads."""

    def __init__(self) -> None:
        self.found: list[object] = []

    @contextmanager
    def running(self, *works: Callable[[], None]) -> Iterator[None]:
        """Threads that run beside the block; they must end after it, without an error."""
        threads = [threading.Thread(target=self._run, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for thread in threads:
                thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        assert not self.found

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.found.append(error)


def append(log: PartitionLog, count: int) -> None:
    for _ in range(count):
        log.append_as_leader(bytearray(ONE), leader_epoch=0)


def read_on(log: PartitionLog, offset: int) -> int:
    """Read once from an offset; returns the next one. Batches must be whole, sound, and in order."""
    try:
        rows = walk(log.read(offset, 2000).read()).table
    except OffsetOutOfRangeError:  # retention or truncation took it
        return log.log_start_offset
    if not len(rows):
        return offset
    assert not rows["flaws"].any()
    assert (np.diff(rows["base_offset"]) == 2).all()
    return int(rows[-1]["base_offset"] + rows[-1]["last_offset_delta"]) + 1


def opened(root: Path, *, background: bool = True) -> LogManager:
    return LogManager(root, background=background)


def test_appends_to_many_partitions_are_read_whole_and_in_order(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 3, CONFIGS)
        done = threading.Event()

        def write() -> None:
            for _ in range(30):
                for log in list(logs.logs.values()):
                    append(log, 1)

        def read() -> None:
            offsets = dict.fromkeys(logs.logs, 0)
            while not done.is_set():
                for name, log in list(logs.logs.items()):
                    offsets[name] = read_on(log, offsets[name])
                    log.offset_for_timestamp(1000)
            for name, log in logs.logs.items():
                while offsets[name] < log.log_end_offset:
                    offsets[name] = read_on(log, offsets[name])

        problems = Problems()
        with problems.running(read, read):
            with Problems().running(write, write, write):
                logs.flush()
                logs.checkpoint()
            done.set()
        assert [log.log_end_offset for log in logs.logs.values()] == [180, 180, 180]
    with opened(tmp_path) as logs:
        assert [log.log_end_offset for log in logs.logs.values()] == [180, 180, 180]


def test_readers_get_whole_batches_while_segments_go_at_both_ends(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1, {**CONFIGS, "retention.bytes": 4000})
        log, done = logs.log("t", 0), threading.Event()
        append(log, 30)

        def read() -> None:
            offset = 0
            while not done.is_set():
                offset = read_on(log, offset)
                log.offset_for_timestamp(1000)
                log.offset_for_timestamp(-3)
                with suppress(OffsetOutOfRangeError):  # the log's start may have moved on
                    log.read(log.log_start_offset, 100, Isolation.READ_COMMITTED)

        with Problems().running(read, read):
            for _ in range(15):
                append(log, 20)
                log.retain()
                logs.truncate("t", 0, log.log_end_offset - 14)
                log.roll()
            done.set()
        assert logs.offline == {}
        assert log.log_start_offset > 0


def test_topics_come_and_go_beside_appends(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("kept", 1, CONFIGS)
        done = threading.Event()

        def change() -> None:
            for number in range(6):
                logs.create_topic(f"t{number}", 2, {**CONFIGS})
                append(logs.log(f"t{number}", 1), 5)
                logs.alter_configs(f"t{number}", {"retention.ms": 5})
                logs.delete_topic(f"t{number}")
            done.set()

        def write() -> None:
            while not done.is_set():
                append(logs.log("kept", 0), 1)

        def use() -> None:
            while not done.is_set():
                for log in list(logs.logs.values()):
                    try:
                        log.retain()
                        read_on(log, log.log_start_offset)
                    except (KafkaStorageError, UnknownTopicOrPartitionError):
                        assert log.folder.name.startswith("t")
                logs.checkpoint()

        with Problems().running(change, write, use):
            pass
        assert logs.topics == {"kept": [0]}
        assert logs.offline == {}


def test_a_close_ends_all_use(tmp_path: Path) -> None:
    logs = opened(tmp_path)
    logs.create_topic("t", 1, CONFIGS)
    log, appended = logs.log("t", 0), [0]
    begun = threading.Event()

    def write() -> None:
        while True:
            try:
                append(log, 1)
            except KafkaStorageError:
                return
            appended[0] += 2
            begun.set()

    def read() -> None:
        offset = 0
        while True:
            try:
                offset = read_on(log, offset)
            except KafkaStorageError:
                return

    with Problems().running(write, read, read):
        begun.wait(60)
        logs.close()
    with pytest.raises(KafkaStorageError, match="closed"):
        logs.create_topic("u", 1)
    with opened(tmp_path) as again:
        assert again.log("t", 0).recovered == []
        assert again.log("t", 0).log_end_offset == appended[0]


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    program = "import sys, octavo; octavo.LogDir(sys.argv[1])"
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        refused = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
        assert refused.returncode == 1
        said = f"{LogDirLockedError.__name__}: {tmp_path}: in use: process {os.getpid()} ("
        assert said in refused.stderr, refused.stderr
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
