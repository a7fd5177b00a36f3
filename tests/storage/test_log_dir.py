"""`LogManager`: placement, topics and their configs, clean and unclean stops."""

from __future__ import annotations

import gc
import shutil
import weakref
from pathlib import Path

import pytest

import octavo
from octavo.config import LogConfig
from octavo.errors import (
    ConfigError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    OffsetOutOfRangeError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from octavo.format.names import TopicPartition
from octavo.format.small_files import checkpoint, clean_shutdown, meta_properties
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.scheduler import EndScheduler
from tests.golden.archives import entry, unpack
from tests.storage.batches import batch
from tests.storage.worlds import World, names, opened


def test_partitions_go_to_the_directory_with_the_fewest(tmp_path: Path) -> None:  # L4
    one, two = tmp_path / "one", tmp_path / "two"
    with opened(one) as logs:
        logs.create_topic("old", 3)
    with opened(one, two) as logs:
        logs.create_topic("new", 5)
        assert {log.folder for name, log in logs.logs.items() if name.topic == "new"} == {
            two / "new-0", two / "new-1", two / "new-2", one / "new-3", two / "new-4",
        }  # fmt: skip


def test_a_cordoned_directory_gets_no_partitions(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with LogManager([one, two], configs={"cordoned.log.dirs": str(one)}, environment=World().environment) as logs:
        logs.create_topic("t", 2)
        assert {log.folder.parent for log in logs.logs.values()} == {two}


def test_a_cordoned_directory_is_known_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, written in enumerate(("one", "./one", "one/", str(tmp_path / "one"), "../" + tmp_path.name + "/one")):
        with LogManager(
            ["one", "two"], configs={"cordoned.log.dirs": written}, environment=World().environment
        ) as logs:
            logs.create_topic(f"t{number}", 2)
            folders = {log.folder.parent for name, log in logs.logs.items() if name.topic == f"t{number}"}
            assert folders == {tmp_path / "two"}
    with LogManager(["one", "two"], configs={"cordoned.log.dirs": "*"}, environment=World().environment) as logs:
        logs.create_topic("all", 1)  # if all are cordoned, the config is ignored
        assert logs.log("all", 0).folder.parent == tmp_path / "one"


def test_topics_have_partitions_and_configs_that_change_live(tmp_path: Path) -> None:  # T2
    with opened(tmp_path) as logs:
        logs.create_topic("orders", 2, {"segment.bytes": 5120})
        log = logs.log("orders", 1)
        assert (logs.topics, log.config.segment_bytes) == ({"orders": [0, 1]}, 5120)
        one = batch(0, value_bytes=2000)
        for _ in range(3):
            log.append_as_leader(bytearray(one), leader_epoch=0)
        assert log.segments.base_offsets == (0, 2)
        logs.alter_configs("orders", {"segment.bytes": 14_000})
        for _ in range(4):
            log.append_as_leader(bytearray(one), leader_epoch=0)
        assert log.segments.base_offsets == (0, 2)
    with opened(tmp_path) as logs:
        assert logs.config("orders").segment_bytes == 14_000
        logs.alter_configs("orders", {"segment.bytes": None})
        assert logs.log("orders", 0).config.segment_bytes == 1 << 30


def test_what_is_not_a_topic_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("a.b", 1)
        before = names(tmp_path)
        for name in ("", "..", "a/b", "x" * 250, "a_b"):
            with pytest.raises(InvalidTopicError):
                logs.create_topic(name, 1)
        with pytest.raises(TopicExistsError):
            logs.create_topic("a.b", 1)
        for partitions in (0, -1, ()):
            with pytest.raises(InvalidPartitionsError, match="it needs at least 1"):
                logs.create_topic("c", partitions)
        with pytest.raises(InvalidPartitionsError, match="partition -1 of topic c: the numbers of partitions start at"):
            logs.create_topic("c", [2, -1])
        with pytest.raises(InvalidPartitionsError, match=r"partition -1 of topic a\.b"):
            logs.create_partitions("a.b", [-1])
        with pytest.raises(ConfigError, match=r"did you mean segment\.bytes"):
            logs.create_topic("c", 1, {"segment.byte": 5})
        with pytest.raises(UnknownTopicOrPartitionError):
            logs.log("c", 0)
        for change in (lambda: logs.delete_topic("c"), lambda: logs.alter_configs("c", {})):
            with pytest.raises(UnknownTopicOrPartitionError):
                change()
        assert names(tmp_path) == before


def test_a_topic_grows(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        topic_id = logs.create_topic("t", 1)
        logs.create_partitions("t", 3)
        assert [log.topic_id for log in logs.logs.values()] == [topic_id] * 3
        with pytest.raises(InvalidPartitionsError):
            logs.create_partitions("t", 3)


def test_the_folder_of_a_deleted_topic_is_renamed_and_later_removed(tmp_path: Path) -> None:
    world = World()
    with opened(tmp_path, world=world) as logs:
        logs.create_topic("t", 1)
        logs.create_topic("kept", 1)
        logs.delete_topic("t")
        folder = next(path for path in tmp_path.iterdir() if path.name.endswith("-delete"))
        assert folder.name.startswith("t-0.")
        world.scheduler.advance(60_000)
        assert not folder.exists()
        logs.create_topic("t", 1)
        logs.delete_topic("t")
    with opened(tmp_path, world=world) as logs:  # opening deletes nothing
        world.scheduler.advance(60_000)
        assert [name for name in names(tmp_path) if name.endswith("-delete")]
    with opened(tmp_path, world=world, upkeep=True) as logs:  # the delay begins again
        assert list(logs.topics) == ["kept"]
        world.scheduler.advance(60_000)
        assert not [name for name in names(tmp_path) if name.endswith("-delete")]


def test_a_holder_of_a_deleted_topics_log_cannot_append(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1)
        log = logs.log("t", 0)
        log.append_as_leader(batch(0, 10), leader_epoch=0)
        logs.delete_topic("t")
        with pytest.raises(KafkaStorageError, match="it was deleted"):
            log.append_as_leader(batch(0), leader_epoch=0)


def test_nothing_keeps_the_log_of_a_deleted_topic(tmp_path: Path) -> None:
    world = World()
    with opened(tmp_path, world=world) as logs:
        logs.create_topic("t", 1)
        log = weakref.ref(logs.log("t", 0))
        logs.delete_topic("t")
        world.scheduler.advance(60_000)
        gc.collect()
        assert log() is None


def test_a_clean_stop_leaves_what_a_broker_leaves(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        assert ".lock" in names(tmp_path)
        assert ".kafka_cleanshutdown" not in names(tmp_path)
        logs.create_topic("t", 1)
        logs.log("t", 0).append_as_leader(bytearray(batch(0, 3)), leader_epoch=0)
        logs.log("t", 0).delete_records(2)  # T5
    assert ".lock" not in names(tmp_path)
    assert clean_shutdown.decode((tmp_path / ".kafka_cleanshutdown").read_bytes()) == -1
    meta = meta_properties.decode((tmp_path / "meta.properties").read_bytes())
    assert meta.cluster_id is not None
    for name, offset in {"recovery-point": 3, "log-start": 2, "replication": 3}.items():
        found = checkpoint.decode_offsets((tmp_path / f"{name}-offset-checkpoint").read_bytes())
        assert found == {TopicPartition("t", 0): offset}
    with opened(tmp_path) as logs:
        log = logs.log("t", 0)
        assert (log.log_start_offset, log.log_end_offset, log.recovered) == (2, 3, [])
        with pytest.raises(OffsetOutOfRangeError):
            log.read(1, 1000)
    assert meta_properties.decode((tmp_path / "meta.properties").read_bytes()) == meta


def test_a_directory_that_is_discarded_is_closed_without_another_write(tmp_path: Path) -> None:
    logs = opened(tmp_path)
    logs.create_topic("t", 1)
    log = logs.log("t", 0)
    log.append_as_leader(bytearray(batch(0, 3)), leader_epoch=0)
    held = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != ".lock"}
    logs.close(discard=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == held
    with pytest.raises(KafkaStorageError, match="its directory is being removed"):
        log.append_as_leader(bytearray(batch(3)), leader_epoch=0)
    with opened(tmp_path) as logs:
        assert logs.log("t", 0).log_end_offset == 3


def test_a_directory_that_was_not_closed_is_recovered(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1)
        logs.log("t", 0).append_as_leader(bytearray(batch(0, 3)), leader_epoch=0)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "recovery-point-offset-checkpoint").unlink()
    with (tmp_path / "t-0" / f"{0:020}.log").open("ab") as file:
        file.write(batch(3)[:-1])
    with opened(tmp_path) as logs:
        assert logs.log("t", 0).log_end_offset == 3
        assert [segment.problem for segment in logs.log("t", 0).recovered] == ["an incomplete batch"]


def test_a_failing_disk_takes_only_its_own_directory_offline(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    logs = opened(one, two)
    logs.create_topic("t", 2)
    logs.roots[0].take_offline(OSError(5, "Input/output error"))
    with pytest.raises(KafkaStorageError):
        logs.log("t", 0).append_as_leader(bytearray(batch(0)), leader_epoch=0)
    logs.log("t", 1).append_as_leader(bytearray(batch(0)), leader_epoch=0)
    logs.create_topic("u", 2)
    assert {logs.log("u", partition).folder.parent for partition in (0, 1)} == {two}
    logs.close()
    assert ".kafka_cleanshutdown" not in names(one)
    assert ".kafka_cleanshutdown" in names(two)


def test_configs_come_from_the_metadata_of_a_broker(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    with LogManager(root, environment=Environment(EndScheduler(runs_at_end=False))) as logs:
        topics = {name: made for name, made in entry("v431-clean")["topics"].items() if not made.get("deleted")}
        found = {topic: logs.config(topic) for topic in topics}
        assert found == {topic: LogConfig.of(made["config"]) for topic, made in topics.items()}
        logs.alter_configs(next(iter(logs.topics)), {"retention.ms": 7})
    with opened(root) as logs:
        assert logs.config(next(iter(logs.topics))).retention_ms == 7


def test_the_public_log_dir_is_a_log_manager() -> None:
    assert issubclass(octavo.LogDir, LogManager)


def test_a_partition_that_a_crash_left_without_its_id_gets_it(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        topic_id = logs.create_topic("t", 2)
    for partition in (0, 1):
        (tmp_path / f"t-{partition}" / "partition.metadata").unlink()
    with opened(tmp_path) as logs:
        assert [logs.log("t", partition).topic_id for partition in (0, 1)] == [topic_id, topic_id]
    assert "partition.metadata" in names(tmp_path / "t-1")


def test_a_program_may_change_its_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with LogManager("logs") as logs:
        logs.create_topic("t", 1)
        monkeypatch.chdir(tmp_path / "elsewhere")
        logs.create_topic("u", 1)
        logs.log("t", 0).append_as_leader(batch(0), leader_epoch=0)
        logs.roll("t")
    assert not list((tmp_path / "elsewhere").iterdir())
    monkeypatch.chdir(tmp_path / "here")
    with LogManager("logs") as logs:
        assert logs.log("t", 0).log_end_offset == 1 and sorted(logs.topics) == ["t", "u"]
