"""A whole driver, its JVM too, is killed at any moment and started again: no record is lost, none is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.test_sink import ROWS, numbers, staged, values
from tests.spark.test_sink_writer import SCHEMA, rows, write

# `make soak` sets 100.
KILLS = int(os.environ.get("OCTAVO_KILLS", "1"))


@pytest.mark.usefixtures("java")
def test_the_driver_is_killed_at_any_moment(tmp_path: Path) -> None:
    texts, chance = [b"%d" % number for number in range(ROWS)], random.Random(11)
    folder = tmp_path / "0"
    write(folder / "in", SCHEMA, rows(key=texts, value=texts), topic="input", partitions="3")
    for kill in range(KILLS):
        if _run(folder, chance.uniform(1, 12)) == 0:  # it was quicker, and has copied all
            assert values(folder / "out") == numbers(ROWS)
            folder = tmp_path / str(kill + 1)
            write(folder / "in", SCHEMA, rows(key=texts, value=texts), topic="input", partitions="3")
    assert _run(folder) == 0
    assert values(folder / "out") == numbers(ROWS)
    assert staged(folder) == []


def _run(folder: Path, seconds: float | None = None) -> int:
    """Start a driver, and kill it so many seconds after its session is there; returns how it ended."""
    driver = _start(folder)
    assert driver.stdout is not None
    try:
        assert driver.stdout.readline() == b"started\n"
        return driver.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        if driver.poll() is None:
            # The group that was made for it: the driver's Python and its JVM.
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()


def _start(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "spark").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.spark.killed_driver", str(folder)]
    return subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
