"""A directory's owner is stopped at operations on its files throughout its life, in `make soak` at all of them.

Created topics are there again, flushed records are not lost, and a second start finds what the first one did.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import Crash, FaultFileSystem, Loss
from tests.crash.life import batches
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, ManualScheduler

ROOT = Path("/logs")
# Only every fifth operation, to keep the test short; each kind of loss begins with another one. `make soak` sets 1.
STRIDE = int(os.environ.get("OCTAVO_CRASH_STRIDE", "5"))
CONFIGS = {"segment.bytes": 500, "index.interval.bytes": 150, "segment.index.bytes": 200, "retention.ms": -1}


class Owner:
    """A process that owns a directory, and what it promised until its end."""

    def __init__(self, files: FaultFileSystem) -> None:
        self.files = files
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)
        self.topics: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.flushed: dict[tuple[str, int], dict[int, bytes]] = {}

    def open(self) -> LogManager:
        self.logs = LogManager(
            ROOT,
            environment=Environment(self.scheduler, self.clock, self.files),
            configs={"num.recovery.threads.per.data.dir": 1},  # otherwise no two runs would be alike
        )
        return self.logs

    def create(self, topic: str, partitions: int) -> None:
        self.logs.create_topic(topic, partitions, CONFIGS)
        self.topics[topic] = partitions

    def append(self, topic: str, count: int) -> None:
        for number in range(count):
            log = self.logs.log(topic, number % self.topics[topic])
            log.append_as_leader(bytearray(batch(0, timestamp=NOW_MS)), leader_epoch=0)

    def flush(self) -> None:
        self.logs.flush()
        self.flushed |= {name: dict(batches(log)) for name, log in self.logs.logs.items()}

    def delete(self, topic: str) -> None:
        self.topics.pop(topic)
        self.flushed = {name: kept for name, kept in self.flushed.items() if name[0] != topic}
        self.logs.delete_topic(topic)
        self.deleted.add(topic)

    def truncate(self, topic: str, offset: int) -> None:
        known = self.flushed[topic, 0]
        self.flushed[topic, 0] = {base: data for base, data in known.items() if base < offset}
        self.logs.truncate(topic, 0, offset)

    def live(self) -> None:
        self.open()
        self.create("a", 2)
        self.append("a", 6)
        self.flush()
        self.logs.checkpoint()
        self.create("b", 1)
        self.append("b", 4)
        self.flush()
        self.scheduler.advance(30_000)
        self.logs.alter_configs("a", {"segment.bytes": 600})
        self.truncate("a", 2)
        self.append("a", 2)
        self.delete("b")
        self.scheduler.advance(60_000)
        self.flush()
        self.logs.close()
        self.open()
        self.append("a", 2)
        self.flush()
        self.logs.close()


def contents(files: FaultFileSystem) -> dict[Path, bytes]:
    """What counts in partitions: an empty index says as little as a missing one, deleted files do not matter."""
    found = {path: bytes(inode.content) for path, inode in files.entries.items() if path.parent != ROOT}
    return {path: data for path, data in found.items() if data and not path.name.endswith(".deleted")}


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
def test_what_was_promised_is_there_after_a_crash_at_any_operation(loss: Loss) -> None:
    whole = Owner(FaultFileSystem())
    whole.live()
    total = whole.files.operations
    assert total > 150
    for stop_at in range(1 + list(Loss).index(loss) % STRIDE, total + 1, STRIDE):
        owner = Owner(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            owner.live()
        files = owner.files.after_crash(loss, seed=stop_at)
        logs = Owner(files).open()
        for topic, partitions in owner.topics.items():
            assert logs.topics.get(topic) == list(range(partitions)), f"topic {topic}, crash at {stop_at} of {total}"
            assert logs.config(topic).segment_bytes in (500, 600)
        assert not owner.deleted & set(logs.topics), f"crash at {stop_at} of {total}"
        found = {name: dict(batches(log)) for name, log in logs.logs.items()}
        for name, promised in owner.flushed.items():
            lost = {base for base, data in promised.items() if found[name].get(base) != data}  # type: ignore[index]
            assert not lost, f"crash at {stop_at} of {total}: {name} lost {lost}"
        logs.close()
        before = contents(files)
        with Owner(files).open() as again:
            assert {name: dict(batches(log)) for name, log in again.logs.items()} == found
        assert contents(files) == before
