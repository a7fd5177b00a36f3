"""Which directories `LogManager` refuses to open, and what it leaves of them: locks, identities, strange folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.errors import (
    ConfigError,
    CorruptionError,
    InvalidPartitionsError,
    LogDirError,
    LogDirLockedError,
)
from octavo.storage.log_manager import LogManager
from tests.storage.batches import batch
from tests.storage.worlds import World, names, opened


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
    shared = rf"copy: its directory\.id \S+ is also that of {tmp_path / 'one'}; .* open only one of them$"
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
    with pytest.raises(LogDirError, match=r"not a log directory, but these folders in it are: 'disk1', 'disk2'$"):
        opened(tmp_path)
    assert not (tmp_path / "meta.properties").exists()


def test_a_folder_of_other_things_is_refused_without_asking_to_empty_it(tmp_path: Path) -> None:
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
