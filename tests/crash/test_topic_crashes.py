"""An owner is stopped wherever it creates, grows or deletes a topic: afterwards the topic is complete, or not there at
all."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from octavo.format.names import TOPIC_STORE
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, ManualScheduler

ROOTS = (Path("/one"), Path("/two"))
# Only every ninth operation, to keep the test short; each kind of loss begins with another one. `make soak` sets 1.
STRIDE = int(os.environ.get("OCTAVO_CRASH_STRIDE", "9"))
BOTH, APART = "all directories at once", "each directory alone first"


def opened(files: FaultFileSystem, *roots: Path) -> LogManager:
    clock = ManualClock(NOW_MS)
    environment = Environment(ManualScheduler(clock), clock, files)
    return LogManager(list(roots), environment=environment, configs={"num.recovery.threads.per.data.dir": 1})


class Owner:
    """Creates a topic with 3 partitions, grows it to 5, deletes it and creates it again with 2."""

    def __init__(self, roots: tuple[Path, ...], stop_at: int | None = None) -> None:
        files = FaultFileSystem()
        opened(files, *roots).close()
        self.files, self.roots = files.after_crash(Loss.POWER), roots
        self.files.stop_at = stop_at
        self.allowed = {0}  # how many partitions a crash may leave now
        self.flushed = 0  # records in each of them

    def live(self) -> None:
        logs = opened(self.files, *self.roots)
        self.change(lambda: logs.create_topic("t", 3), 3)
        self.change(lambda: logs.create_partitions("t", 5), 5)
        for log in logs.logs.values():
            log.append_as_leader(bytearray(batch(0)), leader_epoch=0)
            log.flush()
        self.flushed = 1
        self.change(lambda: logs.delete_topic("t"), 0)
        self.change(lambda: logs.create_topic("t", 2), 2)

    def change(self, run: Callable[[], object], to: int) -> None:
        self.allowed.add(to)
        run()
        self.allowed = {to}


@cache
def operations(roots: tuple[Path, ...]) -> int:
    owner = Owner(roots)
    owner.live()
    return owner.files.operations


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    ("roots", "order"), [(ROOTS[:1], BOTH), (ROOTS, BOTH), (ROOTS, APART)], ids=["one", "two", "two, apart first"]
)
def test_a_topic_is_there_whole_or_not_at_all(loss: Loss, roots: tuple[Path, ...], order: str) -> None:
    total = operations(roots)
    for stop_at in range(1 + list(Loss).index(loss) % STRIDE, total + 1, STRIDE):
        owner = Owner(roots, stop_at)
        with pytest.raises(Crash):
            owner.live()
        files = owner.files.after_crash(loss, seed=stop_at)
        where = f"crash at {stop_at} of {total}"
        for root in roots if order == APART else ():
            opened(files, root).close()
        with opened(files, *roots) as logs:
            found = logs.topics.get("t", [])
            assert len(found) in owner.allowed, where
            assert found == list(range(len(found))), where
            if found:
                logs.check_complete("t")
            if len(found) == 5:
                assert all(log.log_end_offset >= owner.flushed for log in logs.logs.values()), where
            assert len({log.topic_id for log in logs.logs.values()}) <= 1, where
        with opened(files, *roots) as logs:
            assert logs.topics.get("t", []) == found, where
            stores = [root / TOPIC_STORE for root in roots if files.exists(root / TOPIC_STORE)]
            assert not any(b"pending" in files.read_bytes(path) for path in stores), where
            if found:
                logs.delete_topic("t")
            logs.create_topic("t", 4)
            assert logs.topics["t"] == [0, 1, 2, 3], where
