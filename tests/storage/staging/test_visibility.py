"""What readers see of a commit that is in progress, or that a crash left: all of it or nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import octavo
from octavo.scanner.places.location import locate
from octavo.scanner.places.root import Root
from octavo.storage.staging.commit import CommitStep
from octavo.system.filesystem import LocalFileSystem
from tests.storage.staging.scene import Scene, StopAt, batch_values
from tests.storage.worlds import Stopped

SEEN_FROM = (CommitStep.CONCLUDED, CommitStep.REMOVED)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path / "logs", filesystem=LocalFileSystem())
    made.create()
    made.publish(0, made.stage(batch_values(0)))
    return made


def batches(scene: Scene) -> dict[int, set[bytes]]:
    """The batches that a scan sees, by partition."""
    found: dict[int, set[bytes]] = {0: set(), 1: set()}
    for record in octavo.scan(scene.roots).records():
        found[record.partition].add((record.value or b"").split(b"-")[0])
    return found


def test_a_scan_sees_all_of_a_commit_once_it_is_done(scene: Scene) -> None:
    seen = {}

    def look(step: CommitStep) -> None:
        seen[step] = batches(scene)

    scene.publish(1, scene.stage(batch_values(1)), look)
    before, after = {b"0"}, {b"0", b"1"}
    assert seen == {step: dict.fromkeys(range(2), after if step in SEEN_FROM else before) for step in CommitStep}


def test_a_commit_that_a_crash_left_is_seen_when_it_is_finished(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.publish(1, scene.stage(batch_values(1)), StopAt(CommitStep.APPENDED))
    assert batches(scene) == {0: {b"0"}, 1: {b"0"}}
    scene.values()  # opens the directory, which finishes the commit
    assert batches(scene) == {0: {b"0", b"1"}, 1: {b"0", b"1"}}


def test_a_commit_to_several_disks_that_a_crash_left_is_seen_when_it_is_finished(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "a", tmp_path / "b", filesystem=LocalFileSystem())
    scene.create()
    scene.publish(0, scene.stage(batch_values(0)))
    with pytest.raises(Stopped):
        scene.publish(1, scene.stage(batch_values(1)), StopAt(CommitStep.APPENDED, 1))
    assert {root.name for root in scene.roots for _ in root.glob("t-*")} == {"a", "b"}
    assert batches(scene) == {0: {b"0"}, 1: {b"0"}}
    consumer = octavo.scan(scene.roots).consumer()
    assert {(record.value or b"").split(b"-")[0] for record in consumer} == {b"0"}
    scene.values()  # opens the directories, which finishes the commit
    assert batches(scene) == {0: {b"0", b"1"}, 1: {b"0", b"1"}}


def test_a_commit_between_two_looks_is_noticed(scene: Scene) -> None:
    root = Root(locate(scene.root))
    assert not root.has_committed()
    scene.publish(1, scene.stage(batch_values(1)))
    assert root.has_committed()
    assert not root.has_committed()
    reader = octavo.scan(scene.root)
    scene.publish(2, scene.stage(batch_values(2)))
    values = Counter(record.value for record in reader.records())
    assert set(values.values()) == {1}
