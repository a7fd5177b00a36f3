"""`LogManager(only=…)`: a few partitions are opened, and all others stay untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import InvalidPartitionsError, InvalidTopicError, TopicExistsError, UnknownTopicOrPartitionError
from octavo.format.names import TopicPartition
from octavo.format.small_files import checkpoint
from octavo.storage.log_manager import LogManager
from tests.storage.batches import batch
from tests.storage.worlds import World, opened

CHECKPOINTS = "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"
MARK = ".kafka_cleanshutdown"


def offsets(root: Path, name: str) -> dict[TopicPartition, int]:
    return checkpoint.decode_offsets((root / name).read_bytes())


def contents(root: Path, *folders: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for folder in folders for path in (root / folder).iterdir()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Topics a (3 partitions) and b (1), with 4 records in each partition, the first 2 of which have been deleted."""
    with opened(tmp_path) as logs:
        logs.create_topic("a", 3)
        logs.create_topic("b", 1)
        for log in logs.logs.values():
            log.append_as_leader(bytearray(batch(0, 4)), leader_epoch=0)
            log.delete_records(2)
    return tmp_path


def test_only_the_named_partitions_are_opened(root: Path) -> None:
    before = contents(root, "a-0", "a-2")
    with opened(root, only=["b", TopicPartition("a", 1)]) as logs:
        assert logs.topics == {"a": [1], "b": [0]}
        with pytest.raises(UnknownTopicOrPartitionError, match="a-0 was not opened"):
            logs.log("a", 0)
        with pytest.raises(UnknownTopicOrPartitionError, match="a-7 does not exist"):
            logs.log("a", 7)
        logs.log("a", 1).append_as_leader(bytearray(batch(0, 2)), leader_epoch=0)
    assert contents(root, "a-0", "a-2") == before


def test_a_partition_that_was_not_opened_is_not_called_missing(root: Path) -> None:
    problem = "partition 1 of topic a was not opened: open all partitions"
    with opened(root, only=[TopicPartition("a", 0)]) as logs, pytest.raises(InvalidPartitionsError, match=problem):
        logs.check_complete("a")


def test_other_lines_of_the_checkpoints_stay(root: Path) -> None:
    with opened(root, only=[TopicPartition("a", 1)]) as logs:
        logs.log("a", 1).append_as_leader(bytearray(batch(0, 2)), leader_epoch=0)
        logs.log("a", 1).delete_records(5)
    names = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("a", 2), TopicPartition("b", 0)]
    expected = dict(zip(CHECKPOINTS, ([4, 6, 4, 4], [2, 5, 2, 2], [4, 6, 4, 4]), strict=True))
    for name, values in expected.items():
        assert offsets(root, name) == dict(zip(names, values, strict=True))


def test_a_directory_that_was_clean_is_clean_again(root: Path) -> None:
    with opened(root, only=["b"]):
        assert not (root / MARK).exists()
    assert (root / MARK).exists()


def test_a_directory_that_was_not_clean_stays_so(root: Path) -> None:
    (root / MARK).unlink()
    (root / CHECKPOINTS[0]).unlink()
    with (root / "a-0" / f"{0:020}.log").open("ab") as file:
        file.write(batch(4)[:-1])
    with opened(root, only=["b"]) as logs:
        assert [made.base_offset for made in logs.log("b", 0).recovered] == [0]
    assert not (root / MARK).exists()
    with opened(root) as logs:
        assert logs.log("a", 0).log_end_offset == 4
        assert logs.log("a", 0).recovered[0].problem == "an incomplete batch"


def test_topics_are_created_beside_those_that_are_not_opened(root: Path) -> None:
    with opened(root, only=["new"]) as logs:
        assert logs.topics == {}
        with pytest.raises(TopicExistsError):
            logs.create_topic("b", 1)
        logs.create_topic("new", 2)
        logs.create_topic("other.one", 1)
        with pytest.raises(InvalidTopicError, match="collides"):
            logs.create_topic("other_one", 1)
        assert logs.topics == {"new": [0, 1], "other.one": [0]}
    assert TopicPartition("new", 1) in offsets(root, CHECKPOINTS[0])
    with opened(root) as logs:
        assert logs.topics == {"a": [0, 1, 2], "b": [0], "new": [0, 1], "other.one": [0]}
        assert logs.log("a", 0).log_start_offset == 2


def test_partitions_that_are_not_opened_count_when_new_ones_are_placed(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with opened(one) as logs:
        logs.create_topic("old", 2)
    with LogManager([one, two], environment=World().environment, only=["new"]) as logs:
        logs.create_topic("new", 3)
        assert [log.folder.parent for log in logs.logs.values()] == [two, two, one]


def test_a_topic_that_is_opened_in_part_is_not_changed_as_a_whole(root: Path) -> None:
    with opened(root, only=[TopicPartition("a", 1)]) as logs:
        for change in (
            lambda: logs.delete_topic("a"),
            lambda: logs.alter_configs("a", {"retention.ms": 1}),
            lambda: logs.create_partitions("a", 9),
        ):
            with pytest.raises(UnknownTopicOrPartitionError, match="a-0 was not opened"):
                change()
    with opened(root, only=["a"]) as logs:
        with pytest.raises(InvalidPartitionsError):
            logs.create_partitions("a", 3)
        logs.create_partitions("a", 4)
        logs.alter_configs("a", {"retention.ms": 1})
        logs.delete_topic("a")
    assert set(offsets(root, CHECKPOINTS[0])) == {TopicPartition("b", 0)}


def test_folders_that_are_marked_as_deleted_stay(root: Path) -> None:
    with opened(root) as logs:
        logs.delete_topic("b")
    leaving = next(root.glob("b-0.*-delete"))
    world = World()
    with LogManager(root, environment=world.environment, only=["a"]):
        world.scheduler.advance(60_000)
    assert leaving.exists()
