"""The attacks do what they claim: broken promises, hangs and crashes are found; interrupts and full disks do occur."""

from __future__ import annotations

import ctypes
import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from octavo.system.clock import SystemClock
from octavo.system.filesystem import LocalFileSystem
from tests.attack.after_loss import after_kill, after_power_loss
from tests.attack.full_disk import SmallDisk
from tests.attack.interrupts import after, at_line
from tests.attack.isolation import Died, isolated
from tests.attack.journal import Line, flushed
from tests.attack.life import Life
from tests.attack.scoreboard import scoreboard
from tests.attack.tally import Tally


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Line]]:
    """An undamaged directory, and its journal."""
    root = tmp_path_factory.mktemp("lived") / "logs"
    life = Life(root, LocalFileSystem(), seed=3)
    life.live(30)
    return root, life.journal.lines


def test_an_unharmed_directory_has_no_findings(lived: tuple[Path, list[Line]]) -> None:
    root, lines = lived
    tally, _ = after_kill(root, lines)
    assert not tally.findings and tally.counts["records acknowledged"] > 50
    assert not after_power_loss(root, lines).findings


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([["sent", "plain", [[0, 100_000, "r0"]]]], "1 of .* promised records are lost"),
        ([["sent", "retained", [[0, 100_000, "r0"]]]], "retained: 1 of .* are lost"),
        ([["appended", ["r0"], [[0, 100_000, 1]]]], "a table of 1 rows is not there"),
        ([["begin", "t0", 3], ["commit", "t0"]], "0 of 3 records are seen"),
        ([["key", "k0", 100_000, "r0"]], "compacted: .*k0"),
        ([["committed", "readers", 0, 100_000]], "group readers: offset 100000"),
        ([["done", "admin9", [1, 1000]]], "topic admin9: None"),
        ([["error", "something broke"]], "in the worker: something broke"),
    ],
)
def test_a_broken_promise_is_found(lived: tuple[Path, list[Line]], lines: list[Line], sentence: str) -> None:
    root, said = lived
    assert_found(after_kill(root, [*said, *lines])[0], sentence)
    later = [*said, *lines, ["flushing", "last"], ["flushed", "last"]]
    assert_found(after_power_loss(root, later), sentence)


def assert_found(tally: Tally, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        assert not tally.findings, "\n".join(tally.findings)


def test_what_came_after_a_flush_began_is_not_promised() -> None:
    lines: list[Line] = [["a", 0], ["flushing", 1], ["b", 0], ["flushed", 1], ["flushing", 2], ["c", 0]]
    assert flushed(lines) == [["a", 0]]
    assert flushed(lines[:3]) == []


def hang() -> None:
    time.sleep(60)


def die() -> None:
    ctypes.string_at(0)


def fail() -> None:
    raise ValueError("not what was expected")


@pytest.mark.parametrize(
    ("misdeed", "sentence"), [(hang, "it hung"), (die, "exit code -11"), (fail, "not what was expected")]
)
def test_a_process_that_hangs_dies_or_fails_is_named(
    tmp_path: Path, misdeed: Callable[[], None], sentence: str
) -> None:
    with pytest.raises(Died, match=sentence):
        isolated(misdeed, seconds=0.5, notes=tmp_path)


def count(interrupt: Any) -> int:
    """How often the library was called before the interrupt."""
    clock, calls = SystemClock(), 0
    try:
        with interrupt:
            while True:
                clock.time_ms()
                calls += 1
    except KeyboardInterrupt:
        return calls


def counts() -> tuple[int, int, int]:
    return count(at_line(1)), count(at_line(3000)), count(after(0.01))


def test_interrupts_come_when_they_should(tmp_path: Path) -> None:
    early, late, timed = isolated(counts, seconds=20, notes=tmp_path)
    assert early < 3 and late > 500 and timed > 0


def test_a_small_disk_refuses_half_of_a_write_until_there_is_room(tmp_path: Path) -> None:
    disk = SmallDisk(full_at=2)
    file = disk.open(tmp_path / "file", create=True)
    with pytest.raises(OSError) as refused:
        file.pwrite(b"12345678", 0)
    assert refused.value.errno == errno.ENOSPC and (tmp_path / "file").read_bytes() == b"1234"
    disk.has_room = True
    file.pwrite(b"12345678", 0)
    assert (tmp_path / "file").read_bytes() == b"12345678"


def test_the_scoreboard_counts_attacks_and_findings() -> None:
    tally = Tally(findings=["plain: 1 of 2 promised records are lost"])
    tally.counts["kills"] = 1000
    told = scoreboard(tally, {"power losses of ext4": "only root can mount images"}, 7, 60.0)
    assert "1,000  kill -9 of a busy process" in told
    assert "1  findings of records lost" in told and "0  findings of records doubled" in told
    assert "skipped, only root" in told and "1  findings in all, with seed 7, in 60 s" in told
