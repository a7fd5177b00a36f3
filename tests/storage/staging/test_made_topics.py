"""Topics that a commit creates, in one directory or two: wherever it stops, they end up with all their partitions or
none."""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path

import pytest

from octavo.errors import LogDirError
from octavo.format.batches.batch_run import BatchSettings
from octavo.format.compression import Codec
from octavo.format.names import COMMIT_STORE
from octavo.storage.log_manager import LogManager
from octavo.storage.staging.commit import CommitRequest, CommitStep, commit
from octavo.storage.staging.destinations import Destination, Destinations, NewTopics
from octavo.storage.staging.stage import Stage, StagedPart
from octavo.system.filesystem import LocalFileSystem
from octavo.testing.slate import UnsyncedFileSystem
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.storage.metadata_log import BROKER, write_metadata
from tests.storage.staging.scene import WRITER, Scene, StopAt, batch_values, read_values
from tests.storage.worlds import Stopped

ROOTS = (Path("/logs"), Path("/more"))
PARTITIONS, BATCHES = 4, 2
CONFIGS = {"segment.bytes": 1500, "segment.index.bytes": 240}
# A stop at every operation would take minutes: `make soak` sets 1.
STRIDE = int(os.environ.get("OCTAVO_CRASH_STRIDE", "11"))


class DeadDisk(LocalFileSystem):
    """A machine with one unreadable directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_bytes(self, path: Path) -> bytes:
        if path.parent == self._root:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return super().read_bytes(path)


def _value(batch_id: int, partition: int) -> bytes:
    """The first batch's values are staged in the root and adopted as segments from there; later ones are appended."""
    return b"%d-%d " % (batch_id, partition) + bytes(90 if batch_id else 900)


def _stage(scene: Scene, batch_id: int) -> list[StagedPart]:
    """Stage a batch as a task does, which looks up the topic without a lock."""
    scene.attempts += 1
    new_topics = NewTopics(partitions=PARTITIONS, configs=CONFIGS)
    destination = Destinations(scene.filesystem, scene.roots, new_topics).of("t")
    assert destination.partitions == PARTITIONS
    assert destination.config.segment_bytes == 1500
    stage = Stage(scene.filesystem, WRITER, f"{scene.attempts:032x}")
    for partition in range(destination.partitions):
        stage.append(destination.place(partition), *scene.encode([_value(batch_id, partition)]))
    return stage.finish()


def _life(scene: Scene) -> None:
    for batch_id in range(BATCHES):
        staged = _stage(scene, batch_id)
        scene.publish(batch_id, staged, topic_configs=CONFIGS)


@cache
def _operations(roots: tuple[Path, ...]) -> int:
    filesystem = FaultFileSystem()
    _life(Scene(*roots, filesystem=filesystem))
    return filesystem.operations


def _after_crash(roots: tuple[Path, ...], stop: int, loss: Loss) -> Scene:
    """What is on the disks after stopping at an operation, for a writer with a new attempt."""
    filesystem = FaultFileSystem(stop)
    with pytest.raises(Crash):
        _life(Scene(*roots, filesystem=filesystem))
    scene = Scene(*roots, filesystem=filesystem.after_crash(loss, seed=stop))
    scene.attempts = 100
    return scene


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("roots", [ROOTS[:1], ROOTS], ids=["one directory", "two directories"])
def test_a_topic_that_a_commit_makes_has_all_its_partitions_after_a_crash(loss: Loss, roots: tuple[Path, ...]) -> None:
    for stop in range(1 + list(Loss).index(loss) % STRIDE, _operations(roots) + 1, STRIDE):
        scene = _after_crash(roots, stop, loss)
        found = scene.values()
        assert sorted(found) in ([], list(range(PARTITIONS))), f"operation {stop}"
        assert len({len(values) for values in found.values()}) <= 1, f"half a batch after a stop at operation {stop}"
        _life(scene)
        expected = {p: [_value(batch_id, p) for batch_id in range(BATCHES)] for p in range(PARTITIONS)}
        assert scene.values() == expected, f"once more after a stop at operation {stop}"
        assert scene.staged_files() == [], f"operation {stop}"


@pytest.mark.parametrize("loss", Loss)
def test_a_task_sees_all_partitions_of_a_topic_that_is_half_made(loss: Loss) -> None:
    half_made = 0
    for stop in range(1 + list(Loss).index(loss) % STRIDE, _operations(ROOTS) + 1, STRIDE):
        scene = _after_crash(ROOTS, stop, loss)
        folders = [name for root in ROOTS for name in scene.filesystem.folders(root) if name.startswith("t-")]
        half_made += 0 < len(folders) < PARTITIONS
        _stage(scene, BATCHES)  # asserts how many partitions it sees
    assert half_made


def test_a_commit_waits_for_a_directory_that_is_offline(tmp_path: Path) -> None:
    roots = (tmp_path / "logs", tmp_path / "more")
    scene = Scene(*roots, filesystem=LocalFileSystem())
    with pytest.raises(Stopped):
        scene.publish(0, _stage(scene, 0), StopAt(CommitStep.MADE), topic_configs=CONFIGS)
    staged = _stage(scene, 1)
    scene.filesystem = DeadDisk(roots[1])
    with LogManager(roots, environment=scene.environment(), background=False) as log_dir:
        assert list(log_dir.offline) == [roots[1]]
        assert len(log_dir.topics["t"]) < PARTITIONS
        with pytest.raises(LogDirError, match="a commit of query 1 waits for partitions that cannot be opened"):
            commit(log_dir.commits, CommitRequest(WRITER, 1, staged))
    scene.filesystem = LocalFileSystem()
    with LogManager(roots, environment=scene.environment(), background=False) as log_dir:
        found = [read_values(log_dir.log("t", partition)) for partition in range(PARTITIONS)]
        assert found == [[_value(0, partition)] for partition in range(PARTITIONS)]


def test_a_commit_waits_for_a_directory_that_is_not_given(tmp_path: Path) -> None:
    roots = (tmp_path / "logs", tmp_path / "more")
    scene = Scene(*roots, filesystem=LocalFileSystem())
    scene.create()
    staged = scene.stage(batch_values(0))
    with pytest.raises(Stopped):
        scene.publish(0, staged, StopAt(CommitStep.DECIDED))
    for _ in range(2):
        with LogManager(roots[0], environment=scene.environment(), background=False) as log_dir:
            assert log_dir.topics == {"t": [0]}
            assert log_dir.log("t", 0).log_end_offset == 0
            with pytest.raises(LogDirError, match="a commit of query 1 waits for partitions that cannot be opened"):
                commit(log_dir.commits, CommitRequest(WRITER, 1, ()))
    assert scene.values() == batch_values(0)


def test_a_topic_that_somebody_else_made_meanwhile_is_left_alone() -> None:
    filesystem = FaultFileSystem()
    scene = Scene(ROOTS[0], filesystem=filesystem)
    staged = _stage(scene, 0)
    with pytest.raises(Stopped):
        scene.publish(0, staged, StopAt(CommitStep.DECIDED))
    filesystem = filesystem.after_crash(Loss.PROCESS)
    pending = filesystem.read_bytes(ROOTS[0] / COMMIT_STORE)
    filesystem.unlink(ROOTS[0] / COMMIT_STORE)  # a broker ignores it
    scene = Scene(ROOTS[0], filesystem=filesystem)
    scene.create(1)
    filesystem.open(ROOTS[0] / COMMIT_STORE, create=True).pwrite(pending, 0)
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        assert log_dir.topics == {"t": [0]}
        assert read_values(log_dir.log("t", 0)) == []
        assert log_dir.commits.ledger.pending is None


def test_a_task_stages_for_a_new_topic_by_the_configs_of_the_brokers(tmp_path: Path) -> None:
    """Otherwise the configs that the commit finds might change the batches, and it would refuse them."""
    scene = Scene(tmp_path / "logs", filesystem=UnsyncedFileSystem())
    scene.create(1)
    settings = {"compression.type": "zstd", "log.segment.bytes": "1048576"}
    write_metadata(scene.root, *((BROKER, "", name, value) for name, value in settings.items()))

    def found() -> Destination:
        return Destinations(scene.filesystem, scene.roots, NewTopics(configs={"retention.ms": 5})).of("new")

    destination = found()
    assert (destination.config.compression_type, destination.config.segment_bytes) == ("zstd", 1 << 20)
    assert destination.config.retention_ms == 5
    scene.settings = BatchSettings(codec=Codec.ZSTD)
    stage = Stage(scene.filesystem, WRITER, f"{1:032x}")
    stage.append(destination.place(0), *scene.encode([b"value"]))
    with pytest.raises(Stopped):
        scene.publish(0, stage.finish(), StopAt(CommitStep.DECIDED), topic_configs={"retention.ms": 5})
    assert found().config == destination.config  # while the commit that makes it is under way
    with LogManager(scene.root, only=["new"], environment=scene.environment()) as log_dir:
        assert log_dir.config("new") == destination.config
        assert read_values(log_dir.log("new", 0)) == [b"value"]
