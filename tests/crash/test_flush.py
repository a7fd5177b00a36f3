"""What flush.messages, flush.ms and flush() promise: everything flushed is there after a power loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.config.kinds import Given
from octavo.errors import KafkaStorageError
from octavo.storage.environment import Environment
from octavo.storage.log import flush as flush_module
from octavo.storage.log.log import Log
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import FaultFileSystem, Loss
from tests.crash.life import batches
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, ManualScheduler

ROOT = Path("/logs")
BROKER: dict[str, Given] = {"log.flush.scheduler.interval.ms": 1000, "num.recovery.threads.per.data.dir": 1}


class Machine:
    """A log directory on one disk, and what a power loss leaves of it."""

    def __init__(self, files: FaultFileSystem | None = None) -> None:
        self.files = files or FaultFileSystem()
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)
        self.logs = LogManager(ROOT, environment=Environment(self.scheduler, self.clock, self.files), configs=BROKER)

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


def test_flush_messages_syncs_every_so_many_records(machine: Machine) -> None:
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


def test_a_change_of_flush_messages_takes_effect_at_once(machine: Machine) -> None:
    machine.create()
    machine.append(2)
    machine.logs.alter_configs("t", {"flush.messages": 1})
    machine.append(1)
    assert machine.left_after_power_loss() == 3


def test_flush_ms_syncs_once_that_time_has_passed(machine: Machine) -> None:
    machine.create(flush_ms=35_000)
    machine.append(2)
    machine.scheduler.advance(34_000)  # the first check comes after the initial delay of 30 s
    assert machine.left_after_power_loss() == 0
    machine.append(1)
    machine.scheduler.advance(1_000)
    assert machine.left_after_power_loss() == 3
    machine.append(1)
    machine.scheduler.advance(34_000)
    assert machine.left_after_power_loss() == 3
    machine.scheduler.advance(1_000)
    assert machine.left_after_power_loss() == 4


def test_a_flush_syncs_what_was_appended_before_it(machine: Machine) -> None:
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


@pytest.mark.parametrize("by_config", [True, False], ids=["flush.messages", "flush"])
def test_what_a_roll_closes_at_the_recovery_point_is_synced(machine: Machine, by_config: bool) -> None:
    """Nothing would sync it later: the recovery point is past it, and no recovery checks it."""
    machine.create(segment_bytes=600, **({"flush_messages": 1} if by_config else {}))
    for _ in range(8):
        machine.append(1)
        machine.logs.log("t", 0).flush()
    expected = [segment.max_so_far for segment in machine.logs.log("t", 0).segments]
    after = Machine(machine.files.after_crash(Loss.POWER)).logs.log("t", 0)
    assert [segment.max_so_far for segment in after.segments] == expected
    closed = list(after.segments)[:-1]
    assert [len(segment.files.time_index) for segment in closed] == [1] * len(closed) == [1, 1]


def test_what_a_roll_closes_during_a_flush_is_synced(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flush has synced the segment when another thread's roll closes it; then the recovery point passes it."""
    machine.create(segment_bytes=2000)
    machine.append(3)
    log, sync = machine.logs.log("t", 0), flush_module.sync_segments

    def sync_and_roll(flushed: Log, up_to: int, *, with_folder: bool) -> None:
        sync(flushed, up_to, with_folder=with_folder)
        monkeypatch.setattr(flush_module, "sync_segments", sync)
        log.roll()

    monkeypatch.setattr(flush_module, "sync_segments", sync_and_roll)
    log.flush()
    assert log.recovery_point == 3
    closed = log.segments.first.max_so_far
    after = Machine(machine.files.after_crash(Loss.POWER)).logs.log("t", 0)
    assert after.segments.first.files.time_index.last() == closed


def test_delete_records_syncs_before_the_recovery_point_passes(machine: Machine) -> None:
    """If the new log start is lost with its checkpoint, the records before it are read again, and must not be zeros."""
    machine.create(segment_bytes=600)
    machine.append(8)
    log = machine.logs.log("t", 0)
    log.delete_records(7)
    assert log.recovery_point == 7
    machine.logs.roots[0].checkpoints.write_recovery_points(machine.logs.logs)
    assert machine.left_after_power_loss() >= 7


def test_a_flush_syncs_the_snapshots_that_the_recovery_point_passes(machine: Machine) -> None:
    machine.create(segment_bytes=600)
    machine.append(8)
    machine.logs.flush()
    before = {path: machine.files.read_bytes(path) for path in snapshots(machine.files)}
    assert len(before) == 2
    files = machine.files.after_crash(Loss.POWER)
    assert {path: files.read_bytes(path) for path in before} == before


def snapshots(files: FaultFileSystem) -> list[Path]:
    return [ROOT / "t-0" / name for name in files.names(ROOT / "t-0") if name.endswith(".snapshot")]


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
    with pytest.raises(KafkaStorageError):  # the log in memory may differ from the disk, so it stays unusable
        machine.append(1)
