"""Interrupted copies continue later; progress and losses are reported."""

from __future__ import annotations

from pathlib import Path

from octavo.format.batches.chunk_walk import CHUNK_BYTES
from octavo.jobs import copy
from octavo.scanner.log_dirs import open_log_dirs
from octavo.storage.log_manager import LogManager
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


def test_an_interrupted_copy_goes_on_later(tmp_path: Path) -> None:
    large = CHUNK_BYTES // 2
    batches = [batch(offset, value_bytes=large) for offset in range(6)]
    source = write_segment(tmp_path / "source" / "t-0", 0, *batches)
    (task,) = copy.plan(open_log_dirs(tmp_path / "source").partitions.values())
    told: list[int] = []
    with LogManager(tmp_path / "target", background=False) as logs:
        copy.prepare(logs, "t", [task], {"max.message.bytes": 4 * large})
        first = copy.run(task, logs.log("t", 0), told.append, lambda: bool(told))
        assert 0 < first.batches < len(batches)
        assert sum(told) == first.size
        second = copy.run(task, logs.log("t", 0), told.append)
        assert (second.start_offset, first.batches + second.batches) == (first.batches, len(batches))
    assert (tmp_path / "target" / "t-0" / source.name).read_bytes() == source.read_bytes()


def test_a_batch_that_is_complete_meanwhile_is_not_reported_as_lost(tmp_path: Path) -> None:
    torn, whole = batch(1, 3)[:100], batch(1, 3)
    source = write_segment(tmp_path / "source" / "t-0", 0, batch(0), closed=False, tail=torn)
    (task,) = copy.plan(open_log_dirs(tmp_path / "source").partitions.values())
    with LogManager(tmp_path / "target", background=False) as logs:
        copy.prepare(logs, "t", [task], {})
        assert copy.run(task, logs.log("t", 0), lambda _: None, dry_run=True).after_end.size == len(torn)
        source.write_bytes(batch(0) + whole)
        copied = copy.run(task, logs.log("t", 0), lambda _: None)
        assert (copied.end_offset, copied.after_end.size) == (1, 0)
