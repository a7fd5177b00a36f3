"""A writer is killed with SIGKILL, at each named step and at any moment, and started again: its records are there
once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.storage.staging.commit import CommitStep
from octavo.storage.staging.ledger import read_store
from octavo.system.filesystem import LocalFileSystem
from tests.storage.staging.killed_writer import is_large, values_of
from tests.storage.staging.scene import WRITER, Scene

BATCHES = 2 * len(CommitStep)
# `make soak` sets 100.
KILLS = int(os.environ.get("OCTAVO_KILLS", "3"))
# At first, a writer is killed within this time after its start; the limit then adapts to the machine's speed.
LONGEST_SECONDS = 1.0
MORE = 1.2


@pytest.mark.parametrize("large", [False, True])  # appended, and adopted as a segment
def test_a_writer_that_is_killed_at_each_named_step_writes_its_records_once(tmp_path: Path, large: bool) -> None:
    scene = _scene(tmp_path / "logs")
    # A decided batch is finished at the next start, so each step has its own batch.
    batches = [batch_id for batch_id in range(BATCHES) if is_large(batch_id) is large]
    for step, batch_id in zip(CommitStep, batches, strict=True):
        assert _run(scene, None, step, str(batch_id)) == -signal.SIGKILL, step
        assert _committed(scene) == batch_id + (step in (CommitStep.CONCLUDED, CommitStep.REMOVED)), step
    assert _run(scene) == 0
    _check(scene)


def test_a_writer_that_is_killed_at_any_moment_writes_its_records_once(tmp_path: Path) -> None:
    chance, longest, killed, ended = random.Random(7), LONGEST_SECONDS, 0, 0
    scene = _scene(tmp_path / "0")
    while killed < KILLS:
        before = _committed(scene)
        if _run(scene, chance.uniform(0, longest)) == 0:  # it was faster, and has written everything
            _check(scene)
            ended, longest = ended + 1, longest / MORE
            scene = _scene(tmp_path / str(ended))
            continue
        killed += 1
        if before == _committed(scene) < BATCHES:
            longest *= MORE
    assert _run(scene) == 0
    _check(scene)
    print(f"{killed} writers were killed over {ended + 1} directories")


def _run(scene: Scene, seconds: float | None = None, *arguments: str) -> int:
    """Start a writer, and kill it this many seconds after it began; returns how it ended."""
    command = [sys.executable, "-m", "tests.storage.staging.killed_writer", str(scene.root), str(BATCHES), *arguments]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _committed(scene: Scene) -> int:
    """How many batches the directory has recorded as done."""
    return read_store(scene.filesystem, scene.root).done.get(WRITER, -1) + 1


def _check(scene: Scene) -> None:
    batches = [values_of(batch_id) for batch_id in range(BATCHES)]
    expected = {partition: [value for each in batches for value in each[partition]] for partition in range(2)}
    assert scene.values() == expected
    assert scene.staged_files() == []


def _scene(root: Path) -> Scene:
    scene = Scene(root, filesystem=LocalFileSystem())
    scene.create()
    return scene
