"""A disk dies: its directory goes offline, whenever the failure shows, and the others stay in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import KafkaStorageError
from octavo.format.names import TopicPartition
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import FaultFileSystem
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, ManualScheduler

ONE, TWO = Path("/one"), Path("/two")
MARK = ".kafka_cleanshutdown"


class Machine:
    """Two disks, a topic with a partition on each."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)
        self.files = FaultFileSystem()
        with self.opened() as logs:
            logs.create_topic("t", 2, {"retention.ms": 1000})

    def opened(self, *paths: Path) -> LogManager:
        environment = Environment(self.scheduler, self.clock, self.files)
        return LogManager(list(paths or (ONE, TWO)), environment=environment)

    def dies(self, path: Path = ONE) -> None:
        self.files.broken.add(path)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def append(logs: LogManager, partition: int) -> None:
    logs.log("t", partition).append_as_leader(bytearray(batch(0)), leader_epoch=0)


def check_offline(machine: Machine, logs: LogManager) -> None:
    """The first directory is unusable, the second one is not, and only the second one is closed cleanly."""
    assert set(logs.offline) == {ONE}
    assert "Input/output error" in logs.offline[ONE]
    for use in (lambda: append(logs, 0), lambda: logs.log("t", 0).read(0, 1), lambda: logs.log("t", 0).flush()):
        with pytest.raises(KafkaStorageError):
            use()
    append(logs, 1)
    assert logs.log("t", 1).high_watermark == logs.log("t", 1).log_end_offset
    logs.create_topic("u", 2)
    assert {logs.log("u", partition).folder.parent for partition in (0, 1)} == {TWO}
    logs.close()
    machine.files.broken.clear()
    assert not machine.files.exists(ONE / MARK)
    assert machine.files.exists(TWO / MARK)
    with machine.opened() as again:
        assert again.offline == {}
        assert set(again.topics) == {"t", "u"}


def in_an_append(machine: Machine, logs: LogManager) -> None:
    with pytest.raises(KafkaStorageError, match="Input/output error"):
        append(logs, 0)


def in_a_read(machine: Machine, logs: LogManager) -> None:
    with pytest.raises(KafkaStorageError, match="Input/output error"):
        logs.log("t", 0).read(0, 1)


def in_a_flush(machine: Machine, logs: LogManager) -> None:
    with pytest.raises(KafkaStorageError):
        logs.flush()


def at_a_checkpoint(machine: Machine, logs: LogManager) -> None:
    logs.checkpoint()


def in_background_retention(machine: Machine, logs: LogManager) -> None:
    append(logs, 1)
    machine.scheduler.advance(30_000)


def at_a_background_checkpoint(machine: Machine, logs: LogManager) -> None:
    logs.alter_configs("t", {"retention.ms": -1})
    machine.dies()
    machine.scheduler.advance(30_000)


def when_a_topic_is_created(machine: Machine, logs: LogManager) -> None:
    logs.create_topic("v", 2)
    assert {logs.log("v", partition).folder.parent for partition in (0, 1)} == {TWO}
    logs.delete_topic("v")


@pytest.mark.parametrize(
    "discovery",
    [
        in_an_append,
        in_a_read,
        in_a_flush,
        at_a_checkpoint,
        in_background_retention,
        at_a_background_checkpoint,
        when_a_topic_is_created,
    ],
    ids=lambda discovery: discovery.__name__,
)
def test_a_failing_disk_takes_only_its_own_directory_offline(
    machine: Machine, discovery: Callable[[Machine, LogManager], None]
) -> None:
    logs = machine.opened()
    append(logs, 0)
    if discovery is not at_a_background_checkpoint:
        machine.dies()
    discovery(machine, logs)
    check_offline(machine, logs)


def test_a_disk_that_is_dead_at_the_open_leaves_the_other_in_use(machine: Machine) -> None:
    machine.dies()
    logs = machine.opened()
    assert set(logs.topics) == {"t"}
    assert set(logs.logs) == {TopicPartition("t", 1)}
    assert set(logs.offline) == {ONE}
    logs.close()
    assert machine.files.exists(TWO / MARK)


def test_a_folder_that_cannot_be_read_at_the_open_takes_its_directory_offline(machine: Machine) -> None:
    machine.dies(ONE / "t-0")
    logs = machine.opened()
    assert set(logs.offline) == {ONE}
    append(logs, 1)
    logs.close()
    machine.files.broken.clear()
    assert not machine.files.exists(ONE / MARK)


def test_a_disk_that_dies_at_the_close_is_reported_once_the_others_are_closed(machine: Machine) -> None:
    logs = machine.opened()
    append(logs, 0)
    append(logs, 1)
    machine.dies()
    with pytest.raises(KafkaStorageError, match="/one/t-0: cannot close"):
        logs.close()
    machine.files.broken.clear()
    assert not machine.files.exists(ONE / MARK)
    assert machine.files.exists(TWO / MARK)
    assert not machine.files.locked


def test_without_any_disk_nothing_is_opened(machine: Machine) -> None:
    machine.dies(ONE)
    machine.dies(TWO)
    with pytest.raises(KafkaStorageError, match="offline"):
        machine.opened()
    assert not machine.files.locked
