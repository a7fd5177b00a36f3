"""A writer is killed with SIGKILL, at each named step and at any moment, and started again: its records are once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from octavo.filesystem import LocalFileSystem
from octavo.storage.staging.commit import CommitStep
from tests.storage.staging.killed_writer import values_of
from tests.storage.staging.scene import Scene

BATCHES = 12
# `make soak` sets 100.
KILLS = int(os.environ.get("OCTAVO_KILLS", "3"))


def _start(root: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.storage.staging.killed_writer", str(root), str(BATCHES), *arguments]
    return subprocess.Popen(command, cwd=Path(__file__).parents[3])


def _expected() -> dict[int, list[bytes]]:
    batches = [values_of(batch_id) for batch_id in range(BATCHES)]
    return {partition: [value for each in batches for value in each[partition]] for partition in range(2)}


def _scene(root: Path) -> Scene:
    scene = Scene(root, filesystem=LocalFileSystem())
    scene.create()
    return scene


@pytest.mark.parametrize("at_batch", ["2", "3"])  # appended, and adopted as a segment
def test_killed_at_each_named_step(tmp_path: Path, at_batch: str) -> None:
    scene = _scene(tmp_path / "logs")
    for step in CommitStep:
        # Once the batch is done, no step of it is reached any more, and the process runs to its end.
        assert _start(scene.root, step, at_batch).wait() in (-signal.SIGKILL, 0)
    assert _start(scene.root).wait() == 0
    assert scene.values() == _expected()
    assert scene.staged_files() == []


def test_killed_at_any_moment(tmp_path: Path) -> None:
    scene, chance, kills = _scene(tmp_path / "logs"), random.Random(7), 0
    while kills < KILLS:
        process = _start(scene.root)
        # From its start to its end it takes about a second on a quiet machine.
        deadline = time.monotonic() + chance.uniform(0.2, 2.0)
        try:
            process.wait(timeout=max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            scene = _scene(tmp_path / f"logs-{kills}")
        kills += 1
    assert _start(scene.root).wait() == 0
    assert scene.values() == _expected()
    assert scene.staged_files() == []
