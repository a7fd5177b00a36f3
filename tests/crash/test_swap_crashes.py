"""Segments are replaced by others, as in compaction and splits, with a stop at every operation on the files."""

from __future__ import annotations

import contextlib

import pytest

from octavo.config import LogConfig
from octavo.format.names import Transient
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.swap import swap
from tests.crash.fault_filesystem import SAMPLES, Crash, FaultFileSystem, Inode, Loss
from tests.crash.life import CONFIG, FOLDER, Life, batches, check_found
from tests.storage.batches import batch, last_offset, walked

FAR = 2**31
OVERFLOWED = [batch(0, 3), batch(100), batch(FAR, 2), batch(FAR + 5), batch(3 * FAR)]


def compaction(life: Life) -> None:
    """Three old segments become one, without every other batch; the active one stays."""
    life.open()
    for _ in range(16):
        life.append()
    life.flush()
    life.scheduler.run_due()
    life.checkpoint()
    log = life.log
    old = list(log.segments)[:3]
    assert len(log.segments) > 3
    kept = [data for number, (_, data) in enumerate(batches(log)) if number % 2 == 0]
    dropped = {offset for number, (offset, _) in enumerate(batches(log)) if number % 2}
    end = log.segments.base_offsets[3]
    cleaned = Segment(FOLDER, 0, CONFIG, life.filesystem, life.clock, transient=Transient.CLEANED, create=True)
    for data in kept:
        _, table = walked(data)
        if last_offset(table) < end:
            cleaned.append(last_offset(table), data, table)
    cleaned.close_out()
    cleaned.files.flush()
    life.flushed = {offset: data for offset, data in life.flushed.items() if offset >= end or offset not in dropped}
    deleter = Deleter(life.filesystem, life.scheduler)
    swap(log.segments, old, [cleaned], deleter, 60_000)
    life.scheduler.advance(60_000)


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
def test_compaction_stopped_anywhere_loses_nothing_that_it_keeps(loss: Loss) -> None:
    whole = Life(FaultFileSystem())
    compaction(whole)
    begin = next(number for number in range(1, 1000) if reaches_swap(number))
    assert whole.filesystem.operations > begin + 10
    for stop_at in range(begin, whole.filesystem.operations + 1):
        life = Life(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            compaction(life)
        for sample in range(SAMPLES[loss]):
            check_found(life, life.filesystem.after_crash(loss, seed=stop_at * 100 + sample))


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
def test_loading_that_finishes_a_swap_may_be_stopped_too(loss: Loss) -> None:
    """A crash in the middle of a swap, and another in the loading that follows."""
    whole = Life(FaultFileSystem())
    compaction(whole)
    begin = next(number for number in range(1, 1000) if reaches_swap(number))
    for stop_at in range(begin + 10, whole.filesystem.operations + 1, 4):
        life = Life(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            compaction(life)
        for stop_again_at in range(1, 1000, 2):
            found = life.filesystem.after_crash(Loss.PROCESS)
            found.stop_at = stop_again_at
            try:
                life.reborn(found).open()
            except Crash:
                check_found(life, found.after_crash(loss, seed=stop_at * 100 + stop_again_at))
            else:
                break


def reaches_swap(stop_at: int) -> bool:
    """Whether the stop comes while segments are rewritten; everything before has its own tests."""
    life = Life(FaultFileSystem(stop_at))
    with contextlib.suppress(Crash):
        compaction(life)
    return any(path.name.endswith(Transient.CLEANED) for path in life.filesystem.entries)


def split(life: Life) -> None:
    """An old broker's segment, which was synced long ago, is split when it is loaded."""
    content = b"".join(OVERFLOWED)
    inode = Inode(bytearray(content), content)
    path = FOLDER / "00000000000000000000.log"
    life.filesystem.entries[path] = life.filesystem.synced_entries[path] = inode
    offsets = (0, 100, FAR, FAR + 5, 3 * FAR)
    life.flushed = dict(zip(offsets, OVERFLOWED, strict=True))
    life.open(LogConfig.of({"index.interval.bytes": 0, "segment.index.bytes": 200}))
    life.scheduler.advance(60_000)


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
def test_split_stopped_anywhere_loses_nothing(loss: Loss) -> None:
    whole = Life(FaultFileSystem())
    split(whole)
    assert whole.filesystem.operations > 30
    for stop_at in range(1, whole.filesystem.operations + 1):
        life = Life(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            split(life)
        for sample in range(SAMPLES[loss]):
            check_found(life, life.filesystem.after_crash(loss, seed=stop_at * 100 + sample))
