"""A small sample of each attack, with the same seeds in every run. `make attack` does more, `make soak` hours of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack import hostile_files, kills, tmpfs
from tests.attack.campaign import in_own_process
from tests.attack.concurrency import attack as concurrency
from tests.attack.forks import attack as forks
from tests.attack.full_disk import attack as full_disk
from tests.attack.interrupts import attack as interrupts
from tests.attack.power_loss import attack as power_loss

SEED = 1


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    tally = kills.attack(SEED, tmp_path, kills=5)
    assert not tally.findings
    assert tally.counts["kills"] == 5 and tally.counts["records acknowledged"] > 100


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_what_was_flushed_survives_power_losses(tmp_path: Path, seed: int) -> None:
    assert not in_own_process(power_loss)(seed, tmp_path).findings


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_what_was_acknowledged_survives_full_disks(tmp_path: Path, seed: int) -> None:
    assert not in_own_process(full_disk)(seed, tmp_path).findings


def test_what_was_acknowledged_survives_a_full_tmpfs(tmp_path: Path) -> None:
    """A real disk. (Power losses on ext4 depend on when the kernel writes, so only `make attack` has them.)"""
    probe = tmp_path / "probe"
    probe.mkdir()
    reason = tmpfs.reason_to_skip(probe)
    if reason is not None:
        pytest.skip(reason)
    assert not tmpfs.attack(SEED, tmp_path).findings


def test_hostile_files_are_answered_or_refused(tmp_path: Path) -> None:
    tally = hostile_files.attack(SEED, tmp_path, cases=100)
    assert not tally.findings
    assert tally.counts["hostile files"] == 100


@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_interrupted_objects_continue_or_say_that_they_are_closed(tmp_path: Path, seed: int) -> None:
    tally = in_own_process(interrupts)(seed, tmp_path)
    assert not tally.findings
    assert tally.counts["interrupts"] >= 25


def test_a_forked_child_cannot_touch_the_directory(tmp_path: Path) -> None:
    tally = in_own_process(forks)(SEED, tmp_path)
    assert not tally.findings
    assert tally.counts["forks"] > 10


def test_everything_at_once_loses_nothing(tmp_path: Path) -> None:
    tally = in_own_process(concurrency, 3)(SEED, tmp_path)
    assert not tally.findings
    assert tally.counts["records acknowledged"] > 1000
