"""Commits are stopped at operations on files: afterwards a batch is in all its partitions, once, or in none."""

from __future__ import annotations

import copy
import os
from functools import cache
from pathlib import Path

import pytest

from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.storage.staging.scene import Scene, batch_values

ROOT = Path("/logs")
BATCHES = 2
LARGE, NONE_LARGE = 1, BATCHES  # the id of the large batch, which is adopted as a segment
# A stop at every operation would take minutes: `make soak` sets 1.
STRIDE = int(os.environ.get("OCTAVO_CRASH_STRIDE", "11"))


def _values(batch_id: int, large: int) -> dict[int, list[bytes]]:
    return batch_values(batch_id, 9 if batch_id == large else 3)


def _life(scene: Scene, large: int) -> None:
    """Stage and commit a few batches."""
    for batch_id in range(BATCHES):
        scene.publish(batch_id, scene.stage(_values(batch_id, large)))


def _expected(large: int) -> dict[int, list[bytes]]:
    batches = [_values(batch_id, large) for batch_id in range(BATCHES)]
    return {partition: [value for batch in batches for value in batch[partition]] for partition in range(2)}


def _scene(filesystem: FaultFileSystem) -> Scene:
    return Scene(ROOT, filesystem=filesystem, segment_bytes=1500, batch_size=300)


@cache
def _new_directory() -> FaultFileSystem:
    filesystem = FaultFileSystem()
    _scene(filesystem).create()
    return filesystem


@cache
def _operations(large: int) -> int:
    filesystem = copy.deepcopy(_new_directory())
    before = filesystem.operations
    _life(_scene(filesystem), large)
    return filesystem.operations - before


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("large", [LARGE, NONE_LARGE])
def test_a_batch_is_in_all_partitions_or_in_none_and_a_retry_brings_it_in_once(loss: Loss, large: int) -> None:
    expected = _expected(large)
    stops = range(1 + list(Loss).index(loss) % STRIDE, _operations(large) + 1, STRIDE)
    for stop in stops:
        filesystem = copy.deepcopy(_new_directory())
        filesystem.stop_at = filesystem.operations + stop
        with pytest.raises(Crash):
            _life(_scene(filesystem), large)
        scene = _scene(filesystem.after_crash(loss, seed=stop))
        found = scene.values()
        batches = {partition: {value.split(b"-")[0] for value in values} for partition, values in found.items()}
        assert batches[0] == batches[1], f"half a batch after a stop at operation {stop}"
        whole = sum(len(_values(batch_id, large)[0]) for batch_id in range(len(batches[0])))
        assert found == {partition: values[:whole] for partition, values in expected.items()}, f"operation {stop}"
        scene.attempts = 100
        _life(scene, large)
        assert scene.values() == expected, f"once more after a stop at operation {stop}"
        assert scene.staged_files() == [], f"operation {stop}"
