"""Commits of staged batches: named steps, repeated batches, refusals, lost files, small and large files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import (
    InvalidBatchError,
    InvalidPartitionsError,
    InvalidTimestampError,
    LogDirError,
    LogDirLockedError,
    StagedFileLostError,
)
from octavo.format.batches.walker import walk
from octavo.format.indexes.offset_index import ENTRY
from octavo.format.names import COMMIT_STORE, LEADER_EPOCH_CHECKPOINT, TopicPartition
from octavo.format.small_files.commit_store import decode
from octavo.storage.log_manager import LogManager
from octavo.storage.publish import LOCK_RETRY_SECONDS
from octavo.storage.staging.commit import CommitRequest, CommitStep
from octavo.storage.staging.stage import StagedPart
from octavo.storage.staging.sweep import STAGED_FILE_MAX_AGE_MS, SWEEP_INTERVAL_MS, sweep_dead
from octavo.system.filesystem import LocalFileSystem
from octavo.testing.slate import UnsyncedFileSystem
from tests.crash.fault_filesystem import FaultFileSystem, Loss
from tests.storage.batches import batch
from tests.storage.staging.scene import Scene, StopAt, batch_values, read_values
from tests.storage.worlds import NOW_MS, ManualScheduler, Stopped

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path / "logs", filesystem=LocalFileSystem())
    made.create()
    return made


def stops() -> Iterator[tuple[CommitStep, int]]:
    """Each named step; appending to two partitions is two steps."""
    for step in CommitStep:
        for time in range(2 if step is CommitStep.APPENDED else 1):
            yield step, time


def joined(*batches: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
    return {partition: [value for each in batches for value in each[partition]] for partition in range(2)}


def waiting_in_root(scene: Scene, values: dict[int, list[bytes]], timestamp: int = NOW_MS) -> list[StagedPart]:
    """Stage batches for a topic that does not exist yet."""
    moved = []
    for part in scene.stage(values, timestamp=timestamp):
        (scene.root / str(part.topic_partition) / part.name).rename(scene.root / part.name)
        moved.append(StagedPart("new", part.partition, part.name, part.facts, partitions=3))
    return moved


@pytest.mark.parametrize(("step", "time"), list(stops()))
@pytest.mark.parametrize("records", [3, 12])  # appended, and adopted as a segment
def test_a_stop_at_each_named_step_leaves_all_or_nothing(
    scene: Scene, step: CommitStep, time: int, records: int
) -> None:
    first, second = batch_values(0, 3), batch_values(1, records)
    scene.publish(0, scene.stage(first))
    with pytest.raises(Stopped):
        scene.publish(1, scene.stage(second), StopAt(step, time))
    assert scene.values() == (first if step is CommitStep.CHECKED else joined(first, second))
    assert scene.publish(1, scene.stage(second)) is (step is CommitStep.CHECKED)
    assert scene.values() == joined(first, second)
    assert scene.staged_files() == []


def test_a_large_file_takes_the_place_of_an_empty_segment_and_grows_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path, filesystem=UnsyncedFileSystem(), segment_bytes=8 << 20, batch_size=16 << 10)
    scene.create(index_bytes=8192)
    first, second = batch_values(0, 1500, size=1000), batch_values(1, 3)
    staged = scene.stage(first)
    inodes = {part.partition: (tmp_path / f"t-{part.partition}" / part.name).stat().st_ino for part in staged}
    scene.publish(0, staged)
    scene.publish(1, scene.stage(second))
    assert scene.values() == joined(first, second)
    for partition, inode in inodes.items():
        [log] = (tmp_path / f"t-{partition}").glob("*.log")
        assert log.stat().st_ino == inode
        entries = log.with_suffix(".index").stat().st_size // ENTRY.size
        assert entries == len(walk(log.read_bytes()).table) - 1  # one for every batch but the first


def test_a_batch_that_comes_again_is_skipped_and_its_files_are_removed(scene: Scene) -> None:
    assert scene.publish(0, scene.stage(batch_values(0)))
    assert not scene.publish(0, scene.stage(batch_values(0)))
    assert scene.values() == batch_values(0)
    assert scene.staged_files() == []


def test_the_commit_decides_which_of_two_attempts_at_a_task_counts(scene: Scene) -> None:
    scene.stage(batch_values(0))
    taken = scene.stage(batch_values(0))
    scene.publish(0, taken)
    assert scene.values() == batch_values(0)
    assert scene.staged_files() == []


class VanishingFileSystem(LocalFileSystem):
    """Staged files vanish after they are listed, and the folder of a partition before it is listed."""

    def mtime_ms(self, path: Path) -> int:
        path.unlink()
        return super().mtime_ms(path)

    def names(self, folder: Path) -> list[str]:
        if folder.name == "t-1":
            raise FileNotFoundError(folder)
        return super().names(folder)


def test_what_goes_away_during_a_sweep_is_not_an_error(scene: Scene) -> None:
    scene.stage(batch_values(0))
    assert sweep_dead(VanishingFileSystem(), [scene.root], 1 << 60) == []


def test_the_files_of_a_commit_that_was_decided_are_not_swept(scene: Scene) -> None:
    staged = scene.stage(batch_values(0))
    with pytest.raises(Stopped):
        scene.publish(0, staged, StopAt(CommitStep.DECIDED))
    for part in [*staged, *scene.stage(batch_values(1), writer="query 2")]:
        scene.filesystem.set_mtime_ms(scene.root / str(part.topic_partition) / part.name, 0)
    damaged = scene.root / "t-0" / LEADER_EPOCH_CHECKPOINT
    damaged.write_text("garbage")
    with LogManager(scene.root, environment=scene.environment(), upkeep=True, skip_unreadable=True) as log_dir:
        scheduler = log_dir.environment.scheduler
        assert isinstance(scheduler, ManualScheduler)
        scheduler.advance(2 * SWEEP_INTERVAL_MS)
        assert sorted(scene.staged_files()) == sorted(part.name for part in staged)
    damaged.unlink()
    assert scene.values() == batch_values(0)


def test_writers_do_not_sweep_the_files_of_others(scene: Scene) -> None:
    others = scene.stage(batch_values(7), writer="query 2")
    scene.publish(0, scene.stage(batch_values(0)))
    assert sorted(scene.staged_files()) == sorted(part.name for part in others)
    assert sweep_dead(scene.filesystem, [scene.root], scene.clock.time_ms()) == []
    now_ms = scene.filesystem.mtime_ms(scene.root / "t-0" / others[0].name)
    assert len(sweep_dead(scene.filesystem, [scene.root], now_ms + STAGED_FILE_MAX_AGE_MS + 60_000)) == 2
    assert scene.staged_files() == []


def test_an_aborted_batch_leaves_nothing_but_the_files_of_a_decided_commit(scene: Scene) -> None:
    scene.stage(batch_values(0))
    scene.publisher.discard("query 1")
    assert scene.staged_files() == []
    with pytest.raises(Stopped):
        scene.publish(0, scene.stage(batch_values(0)), StopAt(CommitStep.DECIDED))
    scene.publisher.discard("query 1")
    assert len(scene.staged_files()) == 2
    assert scene.values() == batch_values(0)


def test_what_a_broker_appended_to_half_a_commit_stays(scene: Scene) -> None:
    with pytest.raises(Stopped):
        scene.publish(0, scene.stage(batch_values(0, 4)), StopAt(CommitStep.APPENDED))
    store = scene.root / COMMIT_STORE
    pending = store.read_bytes()
    assert decode(pending).pending is not None
    store.unlink()  # a broker ignores it
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        for partition in range(2):
            log_dir.log("t", partition).append_as_leader(batch(0, 1, value_bytes=7), leader_epoch=0)
    store.write_bytes(pending)
    values, foreign = batch_values(0, 4), [bytes(7)]
    assert scene.values() == {0: [*values[0], *foreign], 1: [*foreign, *values[1]]}
    assert decode(store.read_bytes()).pending is None


def test_a_commit_whose_files_are_lost_is_undone(scene: Scene) -> None:
    scene.publish(0, scene.stage(batch_values(0)))
    staged = scene.stage(batch_values(1))
    with pytest.raises(Stopped):
        scene.publish(1, staged, StopAt(CommitStep.APPENDED))
    (scene.root / "t-1" / staged[1].name).unlink()
    assert scene.values() == batch_values(0)
    assert scene.publish(1, scene.stage(batch_values(1)))
    assert scene.values() == joined(batch_values(0), batch_values(1))


@pytest.mark.parametrize("records", [3, 12])  # appended, and adopted as a segment
def test_what_was_undone_does_not_come_back_after_a_power_loss(records: int) -> None:
    filesystem = FaultFileSystem()
    scene = Scene(Path("/logs"), filesystem=filesystem)
    scene.create()
    scene.publish(0, scene.stage(batch_values(0, 3)))
    staged = scene.stage(batch_values(1, records))
    with pytest.raises(Stopped):
        scene.publish(1, staged, StopAt(CommitStep.APPENDED))
    scene.filesystem = filesystem = filesystem.after_crash(Loss.PROCESS)
    filesystem.unlink(scene.root / "t-1" / staged[1].name)
    LogManager(scene.root, environment=scene.environment())  # undoes the commit, and never gets to its close
    assert decode(filesystem.read_bytes(scene.root / COMMIT_STORE)).pending is None
    scene.filesystem = filesystem.after_crash(Loss.POWER)
    assert scene.values() == batch_values(0, 3)


@pytest.mark.parametrize("committed_before", [True, False])
def test_a_commit_whose_files_are_lost_is_not_undone_if_a_broker_has_appended(
    scene: Scene, committed_before: bool
) -> None:
    if committed_before:
        scene.publish(0, scene.stage(batch_values(0)))
    staged = scene.stage(batch_values(1, 12))
    with pytest.raises(Stopped):
        scene.publish(1, staged, StopAt(CommitStep.DECIDED))
    store = scene.root / COMMIT_STORE
    pending = store.read_bytes()
    store.unlink()  # a broker ignores it
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        log_dir.log("t", 1).append_as_leader(batch(0, 3, value_bytes=600), leader_epoch=0)
        expected = read_values(log_dir.log("t", 1))
    store.write_bytes(pending)
    (scene.root / "t-1" / staged[1].name).unlink()
    with pytest.raises(LogDirError, match=r"t-1 has records from offset \d+ on that may not be its own"):
        scene.values()
    store.unlink()
    assert scene.values()[1] == expected


@pytest.mark.parametrize("records", [3, 12])  # to be appended, and to be adopted as a segment
def test_a_commit_whose_file_was_cut_between_two_batches_is_undone(scene: Scene, records: int) -> None:
    scene.publish(0, scene.stage(batch_values(0)))
    staged = scene.stage(batch_values(1, records))
    with pytest.raises(Stopped):
        scene.publish(1, staged, StopAt(CommitStep.DECIDED))
    path = scene.root / "t-1" / staged[1].name
    data = path.read_bytes()
    scene.filesystem.truncate(path, int(walk(data).table["position"][-1]))
    assert scene.values() == batch_values(0)


def test_a_commit_is_refused_if_a_staged_file_was_lost_before_the_decision(scene: Scene) -> None:
    staged = scene.stage(batch_values(0))
    (scene.root / "t-1" / staged[1].name).unlink()
    with pytest.raises(StagedFileLostError, match="no such file, expected"):
        scene.publish(0, staged)
    assert scene.values() == {0: [], 1: []}


def test_a_refusal_comes_before_the_decision(scene: Scene) -> None:
    staged = scene.stage(batch_values(0))
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        log_dir.alter_configs("t", {"compression.type": "zstd"})
    problem = r"t-0: batches staged with codec none, expected the topic's compression\.type, zstd"
    with pytest.raises(InvalidBatchError, match=problem):
        scene.publish(0, staged)
    assert scene.values() == {0: [], 1: []}


@pytest.mark.parametrize("records", [3, 12])  # to be appended, and to be adopted as a segment
@pytest.mark.parametrize(
    ("config", "days"), [("message.timestamp.before.max.ms", -10), ("message.timestamp.after.max.ms", 10)]
)
def test_times_beyond_the_topics_limits_are_refused_before_the_decision(
    scene: Scene, config: str, days: int, records: int
) -> None:
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        log_dir.alter_configs("t", {config: 9 * DAY_MS})
    steps: list[CommitStep] = []
    staged = scene.stage(batch_values(0, records), timestamp=NOW_MS + days * DAY_MS)
    with pytest.raises(InvalidTimestampError, match=f"t-0: timestamps from {NOW_MS + days * DAY_MS} to "):
        scene.publish(0, staged, steps.append)
    assert steps == []
    assert scene.values() == {0: [], 1: []}
    scene.publish(0, scene.stage(batch_values(0, records), timestamp=NOW_MS + days * DAY_MS // 2))
    assert scene.values() == batch_values(0, records)


def test_a_refused_batch_makes_no_topic(scene: Scene) -> None:
    part = waiting_in_root(scene, {0: [b"a"]}, timestamp=NOW_MS + 10 * DAY_MS)
    with pytest.raises(InvalidTimestampError, match="new-0: timestamps from"):
        scene.publish(0, part)
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        assert list(log_dir.topics) == ["t"]


def test_a_partition_that_is_not_there_is_refused(scene: Scene) -> None:
    part = scene.stage({0: [b"x"]})[0]
    with pytest.raises(InvalidPartitionsError, match="t-5 no longer exists: its topic was deleted, or created"):
        scene.publish(0, [StagedPart("t", 5, part.name, part.facts)])


def test_a_topic_is_made_for_batches_that_waited_in_the_root(scene: Scene) -> None:
    scene.publish(0, waiting_in_root(scene, {0: [b"a"], 1: [b"b"]}))
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        assert log_dir.topics["new"] == [0, 1, 2]
        assert [log_dir.log("new", partition).log_end_offset for partition in range(3)] == [1, 1, 0]
    assert scene.staged_files() == []


def test_a_commit_waits_for_a_directory_that_another_writer_has_open(scene: Scene) -> None:
    other, pauses = LogManager(scene.root, environment=scene.environment()), []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            other.close()

    publisher = replace(scene.publisher, pause=pause, lock_timeout_seconds=1.0)
    assert publisher.publish(CommitRequest("query 2", 0, scene.stage(batch_values(0), writer="query 2")))
    assert pauses == [LOCK_RETRY_SECONDS] * 3
    assert scene.values() == batch_values(0)


def test_a_commit_ends_with_its_lock_timeout(scene: Scene) -> None:
    pauses: list[float] = []
    publisher = replace(scene.publisher, pause=pauses.append, lock_timeout_seconds=0.5)
    with LogManager(scene.root, environment=scene.environment()), pytest.raises(LogDirLockedError):
        publisher.publish(CommitRequest("query 2", 0, scene.stage(batch_values(0), writer="query 2")))
    assert sum(pauses) == pytest.approx(0.5)
    assert scene.values() == {0: [], 1: []}


def test_two_writers_of_one_directory_have_their_own_batch_ids(scene: Scene) -> None:
    first, second = batch_values(0), batch_values(1)
    assert scene.publish(0, scene.stage(first))
    assert scene.publisher.publish(CommitRequest("query 2", 0, scene.stage(second, writer="query 2")))
    assert not scene.publisher.publish(CommitRequest("query 2", 0, scene.stage(second, writer="query 2")))
    assert scene.values() == joined(first, second)


def test_many_small_batches_fill_segments_up_to_their_size(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "logs", filesystem=UnsyncedFileSystem(), segment_bytes=15_000)
    scene.create(1)
    for batch_id in range(250):
        scene.publish(batch_id, scene.stage({0: [b"%d" % batch_id, b"some text of a small record"]}))
    with LogManager(scene.root, environment=scene.environment()) as log_dir:
        log = log_dir.log("t", 0)
        sizes = [segment.size for segment in log.segments]
        assert log.log_end_offset == 500
        assert len(sizes) == -(-log.size // 15_000), sizes
        assert len(sizes) > 1 and all(size > 14_500 for size in sizes[:-1])
        # One entry for about every index.interval.bytes, although the log was opened again for each batch.
        assert all(len(segment.files.offset_index) >= segment.size // 4096 - 1 for segment in log.segments)
    names = scene.filesystem.names(scene.root / str(TopicPartition("t", 0)))
    assert len(names) == 4 * len(sizes) + 2, names  # log, two indexes, a snapshot; two small files
