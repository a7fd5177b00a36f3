"""Many threads on one log: appends come out in order and whole, readers see only what is whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import KafkaStorageError
from octavo.format.batches.walker import walk
from octavo.kernels.layout import Stop
from octavo.storage.partition_log import PartitionLog
from tests.storage.batches import batch
from tests.storage.open_logs import open_log
from tests.storage.worlds import NOW_MS, World

CONFIG = {"segment.bytes": 4000, "index.interval.bytes": 300, "retention.ms": -1}
WRITERS, APPENDS = 4, 100


def test_readers_see_whole_batches_in_order_while_many_threads_append(tmp_path: Path) -> None:
    log = open_log(World(), tmp_path, CONFIG)
    given: list[int] = []
    problems: list[object] = []
    done = threading.Event()

    def write() -> None:
        for _ in range(APPENDS):
            given.append(log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0).first_offset)

    def read() -> None:
        offset = 0
        while not done.is_set() or offset < log.log_end_offset:
            found = walk(log.read(offset, 1500).read())
            rows = found.table
            if len(rows):
                if (
                    rows[0]["base_offset"] != offset
                    or rows["flaws"].any()
                    or found.stop
                    not in (
                        Stop.END,
                        Stop.INCOMPLETE_BATCH,
                        Stop.INCOMPLETE_HEADER,
                    )
                ):
                    problems.append((offset, found))
                offset = int(rows[-1]["base_offset"] + rows[-1]["last_offset_delta"]) + 1
            log.offset_for_timestamp(NOW_MS)

    writers = [threading.Thread(target=write) for _ in range(WRITERS)]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join(60)
    assert not problems
    assert not any(thread.is_alive() for thread in readers)
    assert sorted(given) == list(range(0, 2 * WRITERS * APPENDS, 2))


class InterposingLock:
    """The log's lock, which runs other work once, just before it is taken."""

    def __init__(self, log: PartitionLog, before_entry: int, work: Callable[[], object]) -> None:
        self._lock = log.lock
        self._entries_left = before_entry
        self._depth = 0
        self._work = work

    def __enter__(self) -> None:
        if self._depth == 0:
            self._entries_left -= 1
            if self._entries_left == 0:
                self._work()
        self._depth += 1
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._depth -= 1


def test_two_appends_at_once_leave_the_high_watermark_at_the_end(tmp_path: Path) -> None:
    """The slower of two must not set it back to the end of its own append."""
    log = open_log(World(), tmp_path, CONFIG)

    def append() -> None:
        log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)

    log.lock = InterposingLock(log, before_entry=1, work=append)  # type: ignore[assignment]
    append()
    assert (log.high_watermark, log.log_end_offset) == (4, 4)


def test_a_flush_skips_a_segment_that_retention_deletes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    log = open_log(world, tmp_path, CONFIG)
    log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)
    log.roll()
    log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)
    files = log.segments.first.files
    flush = files.flush

    def delete_and_flush() -> None:
        log.delete_records(2)
        log.retain()
        world.scheduler.advance(60_000)
        flush()

    monkeypatch.setattr(files, "flush", delete_and_flush)
    log.flush()
    assert (log.recovery_point, log.segments.base_offsets) == (4, (2,))


def test_a_flush_syncs_again_what_is_cut_and_written_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recovery point must not pass what was written after the sync."""
    log = open_log(World(), tmp_path, CONFIG)
    for _ in range(3):
        log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)
    files, synced = log.segments.first.files, list[int]()
    flush = files.flush

    def flush_and_cut() -> None:
        flush()
        synced.append(log.log_end_offset)
        if len(synced) == 1:
            log.truncate_to(2)
            log.append_as_leader(batch(0, 1, timestamp=NOW_MS), leader_epoch=0)

    monkeypatch.setattr(files, "flush", flush_and_cut)
    log.flush()
    assert synced == [6, 3]
    assert log.recovery_point == 3


def test_append_that_waited_for_a_close_is_refused(tmp_path: Path) -> None:
    """Another process may own the folder by then."""
    log = open_log(World(), tmp_path, CONFIG)
    log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)
    content = (log.folder / f"{0:020}.log").read_bytes()
    log.lock = InterposingLock(log, before_entry=1, work=log.close)  # type: ignore[assignment]
    with pytest.raises(KafkaStorageError, match="closed"):
        log.append_as_leader(batch(0, 2, timestamp=NOW_MS), leader_epoch=0)
    assert (log.folder / f"{0:020}.log").read_bytes() == content
