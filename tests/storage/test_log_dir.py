"""`LogManager`: locks, identities, placement, topics and their configs, clean and unclean stops."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.errors import (
    ConfigError,
    CorruptionError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    LogDirError,
    LogDirLockedError,
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
from tests.storage.worlds import World


def opened(*roots: Path, world: World | None = None, **options: Any) -> LogManager:
    return LogManager(list(roots), environment=(world or World()).environment, **options)


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


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
            assert {str(log.folder.parent) for name, log in logs.logs.items() if name.topic == f"t{number}"} == {"two"}
    with LogManager(["one", "two"], configs={"cordoned.log.dirs": "*"}, environment=World().environment) as logs:
        logs.create_topic("all", 1)  # all are cordoned, so that does not count
        assert str(logs.log("all", 0).folder.parent) == "one"


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"cordoned.log.dirs": "elsewhere"}, "cordoned.log.dirs names elsewhere, expected [*] or log directories: "),
        ({"log.dirs": "elsewhere"}, "log.dirs is given as a config: pass the directories as the first argument"),
        ({"log.dir": "elsewhere"}, "log.dir is given as a config: pass the directories as the first argument"),
    ],
)
def test_directories_that_are_not_its_own_are_refused(tmp_path: Path, configs: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        LogManager(tmp_path / "new" / "logs", configs=configs, environment=World().environment)
    assert not list(tmp_path.iterdir())


def test_configs_that_are_refused_leave_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"segment\.byte is not a topic config"):
        LogManager(tmp_path / "logs", topic_configs={"t": {"segment.byte": 5}}, environment=World().environment)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_refused_leaves_no_other_one_behind(tmp_path: Path) -> None:
    """Existing directories are locked before missing ones are created, in whatever order they come."""
    with opened(tmp_path / "held", create=True), pytest.raises(LogDirLockedError):
        opened(tmp_path / "new" / "logs", tmp_path / "held", create=True)
    (tmp_path / "held" / "notopic").mkdir()
    with pytest.raises(LogDirError, match="notopic"):
        opened(tmp_path / "new" / "logs", tmp_path / "held", create=True)
    assert names(tmp_path) == {"held"}


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
        with pytest.raises(InvalidPartitionsError):
            logs.create_topic("c", 0)
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


def test_a_deleted_topic_leaves_through_a_renamed_folder(tmp_path: Path) -> None:
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
        with pytest.raises(KafkaStorageError, match="it is deleted"):
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
    held = {path for path in tmp_path.rglob("*") if path.name != ".lock"}
    logs.close(discard=True)
    assert set(tmp_path.rglob("*")) == held
    with pytest.raises(KafkaStorageError, match="its directory is removed"):
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


def test_a_clean_directory_that_cannot_be_opened_stays_clean(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
        logs.log("t", 1).append_as_leader(batch(0, 3), leader_epoch=0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    bad = tmp_path / "t-0" / "leader-epoch-checkpoint"
    bad.write_bytes(b"garbage\n")
    with pytest.raises(CorruptionError):
        opened(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {**before, bad: b"garbage\n"}
    (tmp_path / ".kafka_cleanshutdown").unlink()
    with pytest.raises(CorruptionError):
        opened(tmp_path)
    assert ".kafka_cleanshutdown" not in names(tmp_path)


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(LogDirError, match="this process"):
        opened(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    holder = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    lock = tmp_path / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(LogDirError, match=f"in use: process {process.pid} "):
            opened(tmp_path)
        process.communicate("\n")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path != lock} == before
    opened(tmp_path).close()  # a file that no process holds is not a lock


def test_directories_of_two_brokers_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        opened(tmp_path / name, create=True).close()
    with pytest.raises(LogDirError, match=r"cluster\.id"):
        opened(tmp_path / "one", tmp_path / "two")
    assert ".lock" not in names(tmp_path / "one")
    with pytest.raises(LogDirError, match="twice"):
        opened(tmp_path / "one", tmp_path / "one")


def test_a_directory_and_its_copy_are_refused(tmp_path: Path) -> None:
    opened(tmp_path / "one", create=True).close()
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    shared = rf"copy: its directory\.id \S+ is also that of {tmp_path / 'one'}; .* give only one of them$"
    with pytest.raises(LogDirError, match=shared):
        opened(tmp_path / "one", tmp_path / "copy")


def test_what_is_not_a_log_directory_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1)
    with pytest.raises(LogDirError, match="a partition's folder"):
        opened(tmp_path / "t-0")
    (tmp_path / "lost+found").mkdir()
    with pytest.raises(LogDirError, match=r"lost\+found"):
        opened(tmp_path)
    with pytest.raises(LogDirError, match="no such directory"):
        LogManager(tmp_path / "none", environment=World().environment, create=False)
    assert not (tmp_path / "none").exists()
    assert "meta.properties" not in names(tmp_path / "t-0")


@pytest.mark.parametrize(
    "name",
    ["ü-0".encode(), b"\xff\xfe-0", b"x-0.zz-delete", b"a" * 253 + b"-0", b"t-0 (copy)", b"lost+found", b"x-00",
     b"x-+1", b"..-0", b"x-0\n", b"x-2147483648"],
)  # fmt: skip
def test_a_folder_that_no_broker_makes_is_refused(tmp_path: Path, name: bytes) -> None:
    opened(tmp_path, create=True).close()
    (tmp_path / os.fsdecode(name)).mkdir()
    before = names(tmp_path)
    with pytest.raises(LogDirError, match="is not a folder that a broker makes: move it out of the log dir") as raised:
        opened(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}: ")
    assert str(raised.value).isprintable()
    assert names(tmp_path) == before


def test_the_parent_of_log_directories_is_refused_with_their_names(tmp_path: Path) -> None:
    for name in ("disk2", "disk1"):
        opened(tmp_path / name, create=True).close()
    (tmp_path / "notes").mkdir()
    with pytest.raises(LogDirError, match=r"not a log directory; there are some below it: 'disk1', 'disk2'$"):
        opened(tmp_path)
    assert not (tmp_path / "meta.properties").exists()


def test_another_folder_is_not_to_be_emptied(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(LogDirError, match="'photos' is not a folder that a broker makes: give a log directory, or an"):
        opened(tmp_path)


def test_a_stored_config_that_no_topic_can_have_is_named_with_its_file(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 1, {"retention.ms": 5})
    store = tmp_path / "octavo-topics.json"
    store.write_text(store.read_text().replace('"retention.ms": "5"', '"retention.ms": "a week"'))
    with pytest.raises(CorruptionError, match=f"{store}: topic t: retention.ms is 'a week', expected an integer"):
        opened(tmp_path)


def test_a_topic_of_a_billion_partitions_lacks_most(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        logs.create_topic("t", 2)
    store = tmp_path / "octavo-topics.json"
    store.write_text(store.read_text().replace('"partitions": 2', f'"partitions": {10**9}'))
    with opened(tmp_path) as logs, pytest.raises(InvalidPartitionsError, match="partition 2 of topic t is not in any"):
        logs.check_complete("t")


def test_a_partition_found_twice_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "one", tmp_path / "two") as logs:
        logs.create_topic("t", 2)
    (tmp_path / "one" / "t-1").mkdir()
    with pytest.raises(LogDirError, match="exists twice"):
        opened(tmp_path / "one", tmp_path / "two")


def test_a_failing_disk_takes_its_directory_offline_alone(tmp_path: Path) -> None:
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
        for topic, made in entry("v431-clean")["topics"].items():
            if topic in logs.topics and not made.get("deleted"):
                for name, value in made["config"].items():
                    if name == "segment.bytes":
                        assert logs.config(topic).segment_bytes == int(value), topic
        logs.alter_configs(next(iter(logs.topics)), {"retention.ms": 7})
    with opened(root) as logs:
        assert logs.config(next(iter(logs.topics))).retention_ms == 7


def test_it_is_public() -> None:
    assert issubclass(octavo.LogDir, LogManager)


def test_a_partition_that_a_crash_left_without_its_id_gets_it(tmp_path: Path) -> None:
    with opened(tmp_path) as logs:
        topic_id = logs.create_topic("t", 2)
    for partition in (0, 1):
        (tmp_path / f"t-{partition}" / "partition.metadata").unlink()
    with opened(tmp_path) as logs:
        assert [logs.log("t", partition).topic_id for partition in (0, 1)] == [topic_id, topic_id]
    assert "partition.metadata" in names(tmp_path / "t-1")
