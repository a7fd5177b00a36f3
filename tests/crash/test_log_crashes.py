"""A log is stopped at every operation on its files: what was flushed is there again, and recovery is idempotent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from octavo.clock import ManualClock
from octavo.config import LogConfig
from octavo.format.batch import Origin
from octavo.format.walker import walk
from octavo.scheduler import ManualScheduler
from octavo.storage.environment import Environment
from octavo.storage.load import LoadRequest
from octavo.storage.partition_log import PartitionLog
from octavo.storage.read import Isolation
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS

FOLDER = Path("/logs/t-0")
CONFIG = LogConfig.of(
    {"segment.bytes": 700, "index.interval.bytes": 150, "segment.index.bytes": 200, "retention.ms": -1}
)


@dataclass
class Life:
    """A log in a process that may end at any operation, and what was promised until then."""

    filesystem: FaultFileSystem
    log_start_offset: int = 0  # as the checkpoints say, which are written whole
    recovery_point: int = 0
    flushed: dict[int, bytes] = field(default_factory=dict)  # base offset to batch
    sequence: int = 0

    def __post_init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)

    def open(self, *, clean: bool = False) -> PartitionLog:
        self.log = PartitionLog(
            LoadRequest(
                folder=FOLDER,
                config=CONFIG,
                environment=Environment(self.scheduler, self.clock, self.filesystem),
                clean=clean,
                log_start_offset=self.log_start_offset,
                recovery_point=self.recovery_point,
            )
        )
        return self.log

    def append(self, count: int = 2) -> None:
        origin = Origin(producer_id=7, producer_epoch=0, base_sequence=self.sequence)
        self.log.append_as_leader(batch(0, count, timestamp=NOW_MS, value_bytes=40, origin=origin), leader_epoch=0)
        self.sequence += count

    def flush(self) -> None:
        self.log.flush()
        self.flushed = dict(batches(self.log))

    def checkpoint(self) -> None:
        self.log_start_offset, self.recovery_point = self.log.log_start_offset, self.log.recovery_point


def batches(log: PartitionLog) -> list[tuple[int, bytes]]:
    found, offset = [], log.log_start_offset
    while True:
        data = log.read(offset, 1 << 20, Isolation.LOG_END).read()
        table = walk(data).table
        if not len(table):
            return found
        for row in table:
            assert row["base_offset"] >= offset or not found, "offsets go back"
            found.append((int(row["base_offset"]), data[row["position"] : row["position"] + row["size"]]))
            offset = int(row["base_offset"] + row["last_offset_delta"]) + 1


def files(filesystem: FaultFileSystem) -> dict[str, bytes]:
    """What counts: an empty index says as little as none, and deleted files are on their way."""
    contents = {path.name: bytes(inode.content) for path, inode in filesystem.entries.items()}
    return {name: data for name, data in contents.items() if data and not name.endswith(".deleted")}


def appends_and_rolls(life: Life) -> None:
    life.open()
    for number in range(9):
        life.append()
        if number % 3 == 1:
            life.flush()
        if number % 4 == 2:
            life.scheduler.run_due()
            life.checkpoint()


def retention(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.log.delete_records(9)
    life.flushed = {offset: data for offset, data in life.flushed.items() if offset >= 9}
    life.log_start_offset = 9
    life.log.retain()
    life.checkpoint()
    life.scheduler.advance(60_000)
    life.append()
    life.flush()


def truncation(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.flushed = {offset: data for offset, data in life.flushed.items() if offset < 6}
    life.log.truncate_to(6)
    life.checkpoint()
    life.sequence = 6
    life.append(1)
    life.flush()
    life.scheduler.advance(60_000)
    life.flushed = {offset: data for offset, data in life.flushed.items() if offset < 2}
    life.log.truncate_to(2)


def clean_stop(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.log.close()
    life.checkpoint()
    life.open(clean=True)
    life.append()
    life.flush()


SCENARIOS: list[Callable[[Life], None]] = [appends_and_rolls, retention, truncation, clean_stop]


def number_of_operations(scenario: Callable[[Life], None]) -> int:
    life = Life(FaultFileSystem())
    scenario(life)
    return life.filesystem.operations


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_crash_at_every_operation(scenario: Callable[[Life], None], loss: Loss) -> None:
    total = number_of_operations(scenario)
    assert total > 50
    for stop_at in range(1, total + 1):
        life = Life(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            scenario(life)
        filesystem = life.filesystem.after_crash(loss, seed=stop_at)
        again = Life(filesystem, life.log_start_offset, life.recovery_point)
        log = again.open()
        found = dict(batches(log))
        lost = {offset for offset, data in life.flushed.items() if found.get(offset) != data}
        assert not lost, f"crash at operation {stop_at} of {total}: flushed batches {lost} are gone"
        before = files(filesystem)
        end = log.log_end_offset
        once_more = Life(filesystem, life.log_start_offset, life.recovery_point).open()
        assert (once_more.log_end_offset, dict(batches(once_more))) == (end, found)
        assert files(filesystem) == before
        once_more.append_as_leader(batch(0), leader_epoch=0)
        assert batches(once_more)[-1][0] == end
