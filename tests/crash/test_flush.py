"""What flush.messages, flush.ms and flush() promise: after a power loss all that was flushed is there again."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.clock import ManualClock
from octavo.config.kinds import Given
from octavo.errors import KafkaStorageError
from octavo.scheduler import ManualScheduler
from octavo.storage.environment import Environment
from octavo.storage.log_dir import LogDir
from tests.crash.fault_filesystem import FaultFileSystem, Loss
from tests.crash.life import batches
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS

ROOT = Path("/logs")
BROKER: dict[str, Given] = {"log.flush.scheduler.interval.ms": 1000, "num.recovery.threads.per.data.dir": 1}


class Machine:
    """One disk; what is on it after a power loss."""

    def __init__(self, files: FaultFileSystem | None = None) -> None:
        self.files = files or FaultFileSystem()
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)
        self.logs = LogDir(ROOT, environment=Environment(self.scheduler, self.clock, self.files), configs=BROKER)

    def create(self, **configs: Given) -> None:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        self.logs.create_topic("t", 1, {"segment.index.bytes": 200, "retention.ms": -1, **named})
        self.logs.log("t", 0).flush()

    def append(self, count: int) -> None:
        for _ in range(count):
            self.logs.log("t", 0).append_as_leader(bytearray(batch(0)), leader_epoch=0)

    def left_after_power_loss(self) -> int:
        """How many records the next start finds."""
        log = Machine(self.files.after_crash(Loss.POWER)).logs.log("t", 0)
        found = batches(log)
        assert [base for base, _ in found] == list(range(log.log_end_offset))
        return log.log_end_offset


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_appends_are_left_to_the_page_cache(machine: Machine) -> None:
    machine.create()
    before = machine.logs.log("t", 0).recovery_point
    machine.append(5)
    machine.scheduler.advance(20_000)
    assert machine.logs.log("t", 0).recovery_point == before
    assert machine.left_after_power_loss() == 0


def test_flush_messages(machine: Machine) -> None:
    machine.create(flush_messages=3)
    for appended, kept in ((1, 0), (2, 0), (3, 3), (4, 3), (5, 3), (6, 6)):
        machine.append(1)
        assert machine.logs.log("t", 0).log_end_offset == appended
        assert machine.left_after_power_loss() == kept


def test_flush_messages_of_one_syncs_each_append(machine: Machine) -> None:
    machine.create(flush_messages=1)
    for appended in range(1, 4):
        machine.append(1)
        assert machine.left_after_power_loss() == appended


def test_flush_messages_changes_live(machine: Machine) -> None:
    machine.create()
    machine.append(2)
    machine.logs.alter_configs("t", {"flush.messages": 1})
    machine.append(1)
    assert machine.left_after_power_loss() == 3


def test_flush_ms(machine: Machine) -> None:
    machine.create(flush_ms=35_000)
    machine.append(2)
    machine.scheduler.advance(34_000)  # the first look comes after the initial delay of 30 s
    assert machine.left_after_power_loss() == 0
    machine.append(1)
    machine.scheduler.advance(1_000)
    assert machine.left_after_power_loss() == 3
    machine.append(1)
    machine.scheduler.advance(34_000)
    assert machine.left_after_power_loss() == 3
    machine.scheduler.advance(1_000)
    assert machine.left_after_power_loss() == 4


def test_flush(machine: Machine) -> None:
    machine.create()
    machine.append(3)
    machine.logs.flush()
    machine.append(2)
    assert machine.left_after_power_loss() == 3
    machine.logs.log("t", 0).flush()
    assert machine.left_after_power_loss() == 5


def test_a_roll_flushes_what_lies_before_in_the_background(machine: Machine) -> None:
    machine.create(segment_bytes=600)
    machine.append(4)  # three fit
    assert machine.logs.log("t", 0).segments.base_offsets == (0, 3)
    assert machine.left_after_power_loss() == 0
    machine.scheduler.run_due()
    assert machine.logs.log("t", 0).recovery_point == 3
    assert machine.left_after_power_loss() == 3


def test_a_close_flushes_everything(machine: Machine) -> None:
    machine.create()
    machine.append(3)
    machine.logs.close()
    assert machine.left_after_power_loss() == 3


def test_a_flush_that_fails_promises_nothing(machine: Machine) -> None:
    machine.create()
    machine.append(3)
    machine.files.broken.add(ROOT)
    with pytest.raises(KafkaStorageError, match="Input/output error"):
        machine.logs.flush()
    assert machine.logs.log("t", 0).recovery_point == 0
    machine.files.broken.clear()
    with pytest.raises(KafkaStorageError):  # the log in memory may differ from the disk, so it stays out of use
        machine.append(1)
