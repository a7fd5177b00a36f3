"""Changes of a log that Ctrl-C, an error or another thread interrupts: nothing is lost, and the log stays usable."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from octavo.config import Given
from octavo.errors import AppendRejected, KafkaStorageError, LogDirLockedError
from octavo.format.names import CLEAN_SHUTDOWN, LOCK
from octavo.storage.append import append as append_module
from octavo.storage.log.log import Log
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.index_file import IndexFile
from octavo.storage.segment.segment import Segment
from octavo.system.filesystem import LocalFileSystem
from tests.storage.batches import batch
from tests.storage.open_logs import fill, offsets_read, open_log
from tests.storage.worlds import NOW_MS, World


def interrupting(monkeypatch: pytest.MonkeyPatch, owner: type | ModuleType, name: str, *, after: bool) -> None:
    """Raise KeyboardInterrupt once, just before or just after a method does its work."""
    original = getattr(owner, name)

    def once(*args: object, **named: object) -> object:
        monkeypatch.setattr(owner, name, original)
        if after:
            original(*args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, once)


STEPS: list[tuple[type | ModuleType, str]] = [
    (Segment, "append"),
    (Segment, "index"),
    (Segment, "close_out"),
    (append_module, "roll"),
    (Log, "new_segment"),
    (Log, "high_watermark_to_end"),
    (IndexFile, "append"),
    (IndexFile, "trim"),
    (IndexFile, "_unmap"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[f"{owner.__name__}.{name}" for owner, name in STEPS])
def test_an_append_that_is_interrupted_leaves_a_log_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, owner: type | ModuleType, name: str, after: bool
) -> None:
    world = World()
    log = open_log(world, tmp_path)
    fill(log, 3)
    interrupting(monkeypatch, owner, name, after=after)
    with pytest.raises(KeyboardInterrupt):
        fill(log, 20)
    fill(log, 20, timestamp=NOW_MS + 60_000)
    end = log.log_end_offset
    assert end >= 2 * (3 + 20)
    assert offsets_read(log) == list(range(0, end, 2))
    log.close()
    again = open_log(world, tmp_path)
    assert (again.log_end_offset, offsets_read(again)) == (end, list(range(0, end, 2)))


@pytest.mark.parametrize(
    ("change", "end"), [(PartitionLog.roll, 16), (PartitionLog.close, 16), (lambda log: log.truncate_to(10), 10)]
)
@pytest.mark.parametrize("step", ["close_out", "truncate_to"])
def test_a_roll_a_close_and_a_truncation_can_be_repeated_after_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Callable[[PartitionLog], object], end: int, step: str
) -> None:
    log = open_log(World(), tmp_path)
    fill(log, 8)
    with monkeypatch.context() as patched:
        interrupting(patched, Segment, step, after=True)
        try:
            change(log)
        except KeyboardInterrupt:
            change(log)
    again = open_log(World(), tmp_path, clean=False)
    assert (again.log_end_offset, offsets_read(again)) == (end, list(range(0, end, 2)))


class TooManyOpen(LocalFileSystem):
    """A process without any file descriptor left, once `is_full` is set."""

    def __init__(self) -> None:
        self.is_full = False

    def truncate(self, path: Path, size: int) -> None:
        if self.is_full:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        super().truncate(path, size)


def test_too_many_open_files_are_not_a_failed_disk(tmp_path: Path) -> None:
    world = World()
    filesystem = TooManyOpen()
    environment = type(world.environment)(world.scheduler, world.clock, filesystem)
    with LogManager(tmp_path, environment=environment) as logs:
        logs.create_topic("t", 1, {"segment.bytes": 300})
        log = logs.log("t", 0)
        log.append_as_leader(batch(0, 2), leader_epoch=0)
        filesystem.is_full = True
        with pytest.raises(KafkaStorageError, match="Too many open files"):
            for _ in range(9):
                log.append_as_leader(batch(0, 2), leader_epoch=0)
        assert logs.offline == {}
        filesystem.is_full = False
        log.append_as_leader(batch(0, 2), leader_epoch=0)
        assert offsets_read(log) == list(range(0, log.log_end_offset, 2))


def test_a_flush_while_a_file_gets_another_name_is_not_a_failed_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A swap renames a file, then records its new name: a flush in between must not think that the disk failed."""
    with LogManager(tmp_path, background=False) as logs:
        configs: dict[str, Given] = {
            "segment.bytes": 1000,
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": 0.01,
        }
        logs.create_topic("c", 1, configs)
        log = logs.log("c", 0)
        fill(log, 12)
        rename, flushed = LocalFileSystem.rename, list[BaseException | None]()

        def flush() -> None:
            try:
                log.flush()
                flushed.append(None)
            except BaseException as error:
                flushed.append(error)

        threads: list[threading.Thread] = []

        def rename_and_flush(self: LocalFileSystem, path: Path, target: Path) -> None:
            rename(self, path, target)
            if path.name.endswith(".log.swap"):
                threads.append(threading.Thread(target=flush))
                threads[-1].start()
                threads[-1].join(0.2)  # it waits for the log's lock, or fails at once

        monkeypatch.setattr(LocalFileSystem, "rename", rename_and_flush)
        assert logs.cleaner.clean_filthiest() is not None
        for thread in threads:
            thread.join()
        assert threads and flushed == [None] * len(threads)
        assert logs.offline == {}


def test_a_flush_and_a_retention_round_skip_what_is_deleted_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with LogManager(tmp_path, background=False) as logs:
        for topic in ("a", "b"):
            logs.create_topic(topic, 1)
            logs.log(topic, 0).append_as_leader(batch(0), leader_epoch=0)
        for name in ("flush", "retain"):
            original = getattr(PartitionLog, name)

            def deleting(self: PartitionLog, *, original: Callable[..., object] = original, **named: bool) -> object:
                if self.folder.name == "a-0":
                    logs.delete_topic("a")
                return original(self, **named)

            with monkeypatch.context() as patched:
                patched.setattr(PartitionLog, name, deleting)
                getattr(logs, name)()
            logs.create_topic("a", 1)
        assert logs.log("b", 0).recovery_point == 1


def test_a_flush_does_not_pass_what_was_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise recovery would no longer look at a segment that was only half closed."""
    log = open_log(World(), tmp_path)
    fill(log, 3)
    interrupting(monkeypatch, Log, "new_segment", after=False)
    with pytest.raises(KeyboardInterrupt):
        fill(log, 20)
    log.flush()
    fill(log, 20)
    log.close()
    closed = list(log.segments)[:-1]
    assert all(segment.files.time_index.path.stat().st_size % 12 == 0 for segment in closed)
    expected = [segment.max_so_far for segment in open_log(World(), tmp_path, clean=False).segments]
    assert [segment.max_so_far for segment in open_log(World(), tmp_path).segments] == expected
    assert [segment.files.time_index.last() for segment in open_log(World(), tmp_path).segments] == expected


def test_a_flush_after_an_interrupted_reload_keeps_the_indexes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The reload has emptied an index when Ctrl-C comes again: a flush must not make that permanent."""
    log = open_log(World(), tmp_path)
    fill(log, 12)
    with monkeypatch.context() as patched:
        interrupting(patched, Log, "high_watermark_to_end", after=False)
        with pytest.raises(KeyboardInterrupt):
            fill(log, 1)
    with monkeypatch.context() as patched:
        interrupting(patched, Segment, "reset_index", after=True)
        with pytest.raises(KeyboardInterrupt):
            log.flush()
    log.flush()
    before = {segment.files.time_index.path: len(segment.files.time_index) for segment in log.segments}
    log.close()
    again = open_log(World(), tmp_path, clean=False)
    closed = {segment.files.time_index.path: len(segment.files.time_index) for segment in list(again.segments)[:-1]}
    assert closed == {path: before[path] for path in closed}


def test_a_close_that_was_interrupted_can_be_called_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Until it has finished, nobody else can open the directory, since it may still have to be written to."""
    logs = LogManager(tmp_path, background=False)
    logs.create_topic("t", 3)
    for log in logs.logs.values():
        fill(log, 3)
    original, calls = PartitionLog.close, list[PartitionLog]()

    def close(self: PartitionLog) -> None:
        calls.append(self)
        original(self)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(PartitionLog, "close", close)
    with pytest.raises(KeyboardInterrupt):
        logs.close()
    with pytest.raises(LogDirLockedError):
        LogManager(tmp_path, background=False)
    logs.close()
    assert (tmp_path / CLEAN_SHUTDOWN).exists() and not (tmp_path / LOCK).exists()
    with LogManager(tmp_path, background=False) as again:
        assert [offsets_read(log) for log in again.logs.values()] == [[0, 2, 4]] * 3


def test_a_close_waits_for_a_topic_that_is_being_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    logs, made, go_on = LogManager(tmp_path, background=False), threading.Event(), threading.Event()
    original = PartitionLog.set_topic_id

    def slow(self: PartitionLog, topic_id: bytes) -> None:
        original(self, topic_id)
        made.set()
        assert go_on.wait(60)

    monkeypatch.setattr(PartitionLog, "set_topic_id", slow)
    creating = threading.Thread(target=logs.create_topic, args=("t", 2))
    creating.start()
    assert made.wait(60)
    closing = threading.Thread(target=logs.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    go_on.set()
    creating.join()
    closing.join()
    with LogManager(tmp_path, background=False) as again:
        assert again.topics == {"t": [0, 1]}


def test_a_rejected_batch_is_not_an_interrupted_change(tmp_path: Path) -> None:
    log = open_log(World(), tmp_path)
    segments = log.segments
    with pytest.raises(AppendRejected):
        log.append_as_leader(batch(0, 400), leader_epoch=0)
    assert not log.is_uncertain
    assert log.segments is segments
