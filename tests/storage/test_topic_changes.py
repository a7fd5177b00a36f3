"""Topics are created, grown and deleted as a whole: for readers, after an error, and after a crash in between."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import (
    InvalidPartitionsError,
    KafkaStorageError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from octavo.format.names import TOPIC_STORE, TopicPartition
from octavo.storage.directory.log_root import Only
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.destinations import Destinations, NewTopics
from octavo.system.filesystem import LocalFileSystem
from tests.storage.worlds import Stopped, World


class WatchedFileSystem(LocalFileSystem):
    """Calls `watch` before a folder is made or renamed."""

    def __init__(self) -> None:
        self.watch: Callable[[Path], None] = lambda path: None

    def mkdir(self, path: Path) -> None:
        self.watch(path)
        super().mkdir(path)

    def rename(self, path: Path, target: Path) -> None:
        if path.is_dir():
            self.watch(path)
        super().rename(path, target)


@pytest.fixture
def files() -> WatchedFileSystem:
    return WatchedFileSystem()


def opened(*roots: Path, files: LocalFileSystem | None = None, only: Only | None = None) -> LogManager:
    world = World()
    environment = Environment(world.scheduler, world.clock, files or world.filesystem)
    return LogManager(list(roots), environment=environment, only=only, background=False)


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def pending(root: Path, topic: str = "t") -> str | None:
    change: str | None = json.loads((root / TOPIC_STORE).read_bytes())["topics"].get(topic, {}).get("pending")
    return change


def kill_at(files: WatchedFileSystem, name: str, change: Callable[[LogManager], object], *roots: Path) -> None:
    """Run a change until it reaches the folder of that name, as if the process died there."""
    dead = False

    def watch(path: Path) -> None:
        nonlocal dead
        dead = dead or path.name == name
        if dead:
            raise Stopped

    logs = opened(*roots, files=files)
    files.watch = watch
    with pytest.raises(Stopped):
        change(logs)
    files.watch = lambda path: None
    for root in logs.roots:
        root.unlock()


def test_a_topic_is_seen_with_all_its_partitions_or_not_at_all(tmp_path: Path, files: WatchedFileSystem) -> None:
    seen: list[list[int]] = []
    with opened(tmp_path, files=files) as logs:

        def watch(path: Path) -> None:
            seen.append(logs.topics.get("t", []))
            if seen[-1]:
                logs.check_complete("t")  # as a producer does
            else:
                with pytest.raises(UnknownTopicOrPartitionError):
                    logs.check_complete("t")

        files.watch = watch
        logs.create_topic("t", 3)
        assert seen == [[]] * 3
        logs.create_partitions("t", 5)
        assert seen == [[]] * 3 + [[0, 1, 2]] * 2
        logs.delete_topic("t")
        assert seen == [[]] * 3 + [[0, 1, 2]] * 2 + [[]] * 5


def test_a_creation_that_a_crash_interrupted_is_completed(tmp_path: Path, files: WatchedFileSystem) -> None:
    kill_at(files, "t-2", lambda logs: logs.create_topic("t", 4, {"retention.ms": 5}), tmp_path)
    assert folders(tmp_path) == ["t-0", "t-1"]
    with opened(tmp_path) as logs:
        assert logs.topics == {"t": [0, 1, 2, 3]}
        assert len({log.topic_id for log in logs.logs.values()}) == 1
        assert {log.config.retention_ms for log in logs.logs.values()} == {5}
        logs.check_complete("t")
    assert pending(tmp_path) is None


def test_a_growth_that_a_crash_interrupted_is_completed(tmp_path: Path, files: WatchedFileSystem) -> None:
    with opened(tmp_path) as logs:
        topic_id = logs.create_topic("t", 1)
    kill_at(files, "t-2", lambda logs: logs.create_partitions("t", 4), tmp_path)
    with opened(tmp_path) as logs:
        assert logs.topics == {"t": [0, 1, 2, 3]}
        assert {log.topic_id for log in logs.logs.values()} == {topic_id}


def test_a_deletion_that_a_crash_interrupted_is_completed(
    tmp_path: Path, files: WatchedFileSystem, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 3)
    kill_at(files, "t-1", lambda logs: logs.delete_topic("t"), tmp_path)
    with opened(tmp_path) as logs:
        assert logs.topics == {}
        assert "topic t: its deletion was interrupted; deleted 2 partitions on opening" in caplog.messages
        logs.create_topic("t", 1)
    assert len(folders(tmp_path)) == 4  # opening renames, it does not remove


def test_a_topic_that_somebody_made_again_is_not_deleted(tmp_path: Path, files: WatchedFileSystem) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
    kill_at(files, "t-1", lambda logs: logs.delete_topic("t"), tmp_path)
    other = tmp_path / "other"
    with opened(other) as logs:
        topic_id = logs.create_topic("t", 1)
    shutil.move(other / "t-0", tmp_path / "t-0")  # as if made by a broker, which ignores the pending change
    shutil.rmtree(other)
    with opened(tmp_path) as logs:
        assert logs.topics == {"t": [0]}
        assert logs.log("t", 0).topic_id == topic_id
    assert pending(tmp_path) is None


def test_a_selection_leaves_an_interrupted_change_as_it_is(tmp_path: Path, files: WatchedFileSystem) -> None:
    kill_at(files, "t-2", lambda logs: logs.create_topic("t", 3), tmp_path)
    with opened(tmp_path, only=["u"]) as logs:
        with pytest.raises(TopicExistsError, match="already exists, and is being changed: open all its log dir"):
            logs.create_topic("t", 3)
        logs.create_topic("u", 1)
    assert pending(tmp_path) == "create"
    not_yet = pytest.raises(InvalidPartitionsError, match="partition 1 of topic t does not exist yet: its creation was")
    with opened(tmp_path, only=[TopicPartition("t", 0)]) as logs, not_yet:
        logs.check_complete("t")
    with opened(tmp_path, only=["t"]) as logs:
        assert logs.topics == {"t": [0, 1, 2]}
    assert pending(tmp_path) is None


def test_a_creation_waits_for_all_directories(
    tmp_path: Path, files: WatchedFileSystem, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    opened(one, two).close()
    kill_at(files, "t-2", lambda logs: logs.create_topic("t", 4), one, two)
    with opened(two) as logs:  # partitions 0, 2 and 3 may be in the first one
        assert logs.topics == {"t": [1]}
        with pytest.raises(InvalidPartitionsError, match="open all its log directories together"):
            logs.check_complete("t")
        assert "topic t: its creation was interrupted and cannot be completed yet: not all log" in caplog.text
    with opened(one, two) as logs:
        assert logs.topics == {"t": [0, 1, 2, 3]}


def test_a_deletion_goes_on_in_each_directory(tmp_path: Path, files: WatchedFileSystem) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with opened(one, two) as logs:
        logs.create_topic("t", 4)
    kill_at(files, "t-1", lambda logs: logs.delete_topic("t"), one, two)
    with opened(two) as logs:
        assert logs.topics == {}
        logs.create_topic("t", 1)  # another topic of that name, while the first directory is away
    with opened(one, two) as logs:
        assert logs.topics == {"t": [0]}
        assert logs.log("t", 0).folder == two / "t-0"


def test_a_validation_and_a_failed_creation_keep_what_is_stored_about_a_deleted_topic(
    tmp_path: Path, files: WatchedFileSystem
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with opened(one, two) as logs:
        logs.create_topic("t", 4, {"retention.ms": 5})
    kill_at(files, "t-1", lambda logs: logs.delete_topic("t"), one, two)

    def watch(path: Path) -> None:
        if path.name == "t-0":
            raise UnknownTopicOrPartitionError("no such thing")

    with opened(two, files=files) as logs:
        logs.check_topic("t", 1, {})
        logs.create_topic("u", 1)
        assert pending(two) == "delete"  # the first directory has not done it yet
        files.watch = watch
        with pytest.raises(UnknownTopicOrPartitionError, match="no such thing"):
            logs.create_topic("t", 1)
        assert pending(two) == "delete"
        files.watch = lambda path: None
        logs.create_topic("t", 1)
        assert logs.topic_overrides("t") == {}
        assert pending(two) is None


def test_an_error_leaves_nothing_of_a_creation(tmp_path: Path, files: WatchedFileSystem) -> None:
    def watch(path: Path) -> None:
        if path.name == "t-2":
            raise UnknownTopicOrPartitionError("no such thing")

    with opened(tmp_path, files=files) as logs:
        logs.create_topic("u", 1)
        files.watch = watch
        with pytest.raises(UnknownTopicOrPartitionError, match="no such thing"):
            logs.create_topic("t", 4)
        with pytest.raises(UnknownTopicOrPartitionError, match="no such thing"):
            logs.create_topic("t", 4)
        logs.create_topic("t", 2)
        with pytest.raises(UnknownTopicOrPartitionError, match="no such thing"):
            logs.create_partitions("t", 4)
        assert logs.topics == {"t": [0, 1], "u": [0]}
        logs.check_complete("t")
    with opened(tmp_path) as logs:
        assert logs.topics == {"t": [0, 1], "u": [0]}
    assert pending(tmp_path) is None


def test_what_could_not_be_deleted_is_shown_and_deleted_on_the_next_opening(
    tmp_path: Path, files: WatchedFileSystem
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    def watch(path: Path) -> None:
        if path.parent == one:
            raise OSError(errno.EIO, "Input/output error", str(path))

    logs = opened(one, two, files=files)
    logs.create_topic("t", 4)
    files.watch = watch
    with pytest.raises(KafkaStorageError, match="Input/output error"):
        logs.delete_topic("t")
    assert logs.topics == {"t": [0, 2]}
    with pytest.raises(InvalidPartitionsError, match="topic t is being deleted: open all its log directories"):
        logs.check_complete("t")
    logs.close()
    with opened(one, two) as logs:
        assert logs.topics == {}


def test_a_task_does_not_stage_for_a_topic_that_is_half_made(tmp_path: Path, files: WatchedFileSystem) -> None:
    kill_at(files, "t-2", lambda logs: logs.create_topic("t", 4), tmp_path)
    expected = r"expected partitions 0 to 3 in .*, found only 0, 1; it is being created .* open all its log directories"
    with pytest.raises(UnknownTopicOrPartitionError, match=expected):
        Destinations(files, [tmp_path], NewTopics(configs={})).of("t")


def test_a_topic_whose_deletion_was_interrupted_before_it_began_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can still be used, for example to change its configs, and must be there at the next open."""
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
        with monkeypatch.context() as patched:

            def leave(*_: object) -> None:
                raise KeyboardInterrupt

            patched.setattr(PartitionLog, "rename_for_deletion", leave)
            with pytest.raises(KeyboardInterrupt):
                logs.delete_topic("t")
        logs.alter_configs("t", {"segment.bytes": 5000})
    assert pending(tmp_path) is None
    with opened(tmp_path) as logs:
        assert (logs.topics, logs.config("t").segment_bytes) == ({"t": [0, 1]}, 5000)


def test_topics_that_are_deleted_together_wait_for_the_disk_once(tmp_path: Path) -> None:
    class CountingFileSystem(LocalFileSystem):
        syncs = 0

        def fsync_folder(self, path: Path) -> None:
            self.syncs += 1
            super().fsync_folder(path)

    files = CountingFileSystem()
    with opened(tmp_path, files=files) as logs:
        for topic in "tuvw":
            logs.create_topic(topic, 3)
        counts = []
        for topics in (["t"], ["u", "v"]):
            files.syncs = 0
            logs.delete_topics(topics)
            counts.append(files.syncs)
        assert logs.topics == {"w": [0, 1, 2]}
        assert counts[0] == counts[1]
    with opened(tmp_path) as logs:
        assert logs.topics == {"w": [0, 1, 2]}


def test_a_deletion_of_several_topics_that_a_crash_interrupted_is_completed(
    tmp_path: Path, files: WatchedFileSystem
) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
        logs.create_topic("u", 2)
    kill_at(files, "u-1", lambda logs: logs.delete_topics(["t", "u"]), tmp_path)
    assert [name for name in folders(tmp_path) if not name.endswith("-delete")] == ["u-1"]
    with opened(tmp_path) as logs:
        assert logs.topics == {}
    assert (pending(tmp_path, "t"), pending(tmp_path, "u")) == (None, None)


def test_one_unknown_topic_keeps_all_from_being_deleted(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
        with pytest.raises(UnknownTopicOrPartitionError):
            logs.delete_topics(["t", "nowhere"])
        assert logs.topics == {"t": [0, 1]}


def test_a_deletion_of_several_topics_keeps_only_those_it_did_not_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = PartitionLog.rename_for_deletion

    def rename_all_but_u(log: PartitionLog, name: str) -> None:
        if name.startswith("u-"):
            raise KeyboardInterrupt
        rename(log, name)

    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
        logs.create_topic("u", 2)
        monkeypatch.setattr(PartitionLog, "rename_for_deletion", rename_all_but_u)
        with pytest.raises(KeyboardInterrupt):
            logs.delete_topics(["t", "u"])
        assert logs.topics == {"u": [0, 1]}
        logs.check_complete("u")
    with opened(tmp_path) as logs:
        assert logs.topics == {"u": [0, 1]}
