"""A whole driver, including its JVM, is killed at any moment and started again: no record is lost or duplicated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.killed_driver import MOST
from tests.spark.sink_rows import SCHEMA, rows, write
from tests.spark.sink_runs import ROWS, numbers, staged, values

# `make soak` sets 100.
KILLS = int(os.environ.get("OCTAVO_KILLS", "1"))
# At first, a driver is killed within this time after its query's start; the limit then adapts to the machine's speed.
LONGEST_SECONDS = 9.0
MORE = 1.2


@pytest.mark.usefixtures("java")
def test_a_driver_that_is_killed_at_any_moment_loses_and_repeats_nothing(tmp_path: Path) -> None:
    chance, longest, killed, copied = random.Random(11), LONGEST_SECONDS, 0, 0
    folder = _with_input(tmp_path / "0")
    while killed < KILLS:
        before = _committed(folder)
        if _run(folder, chance.uniform(0, longest)) == 0:  # it was faster, and has copied everything
            _check(folder)
            copied, longest = copied + 1, longest / MORE
            folder = _with_input(tmp_path / str(copied))
            continue
        killed += 1
        if before == _committed(folder) < ROWS // MOST:
            longest *= MORE
    assert _run(folder) == 0
    _check(folder)
    print(f"{killed} drivers were killed over {copied + 1} copies")


def _committed(folder: Path) -> int:
    """How many micro-batches Spark has recorded as done."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def _with_input(folder: Path) -> Path:
    texts = [b"%d" % number for number in range(ROWS)]
    write(folder / "in", SCHEMA, rows(key=texts, value=texts), topic="input", partitions="3")
    return folder


def _check(folder: Path) -> None:
    assert values(folder / "out") == numbers(ROWS)
    assert staged(folder) == []


def _run(folder: Path, seconds: float | None = None) -> int:
    """Start a driver, and kill it this many seconds after its query has begun; returns how it ended."""
    driver = _start(folder)
    assert driver.stdout is not None
    try:
        assert driver.stdout.readline() == b"started\n"
        return driver.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        if driver.poll() is None:
            # The process group created for it: the driver's Python and its JVM.
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
