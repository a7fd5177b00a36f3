"""Compaction stopped at each step of its swap: a real broker, and Octavo, open what is left with all survivors."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from octavo.config import Given
from octavo.format.batches.batch import build_batch
from octavo.format.names import CLEAN_SHUTDOWN, PARTITION_METADATA
from octavo.format.record import Record
from octavo.scanner.api import scan
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.filesystem import LocalFileSystem
from octavo.system.scheduler import EndScheduler
from tests.interop.broker import Broker
from tests.interop.clients import Admin, Consumer
from tests.storage.worlds import Stopped

pytestmark = pytest.mark.kafka

SEGMENTS, RECORDS, KEYS = 6, 10, 7
CONFIGS: dict[str, Given] = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.1, "segment.bytes": 1500}
KEEPING = {"log.initial.task.delay.ms": "3600000", "log.cleaner.enable": "false"}


class StoppingFileSystem(LocalFileSystem):
    """Real files; after `left` renames, removals and syncs of folders, each further one raises `Stopped`."""

    def __init__(self) -> None:
        self.left: int | None = None

    def rename(self, path: Path, target: Path) -> None:
        self._step()
        super().rename(path, target)

    def unlink(self, path: Path) -> bool:
        if self.exists(path):
            self._step()
        return super().unlink(path)

    def fsync_folder(self, path: Path) -> None:
        self._step()
        super().fsync_folder(path)

    def _step(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Stopped
            self.left -= 1


def write(root: Path) -> None:
    """Six segments of ten records over seven keys."""
    with LogManager(root, background=False) as logs:
        logs.create_topic("t", 1, CONFIGS)
        log = logs.log("t", 0)
        for segment in range(SEGMENTS):
            first = segment * RECORDS
            records = [Record(at, 1000 + at, b"key %d" % (at % KEYS), b"%050d" % (first + at)) for at in range(RECORDS)]
            log.append_as_leader(bytearray(build_batch(records)), leader_epoch=0)
            log.roll()


def stop_compaction(root: Path, after: int) -> bool:
    """Compact, and die after this many steps; returns whether it got that far."""
    filesystem = StoppingFileSystem()
    scheduler = EndScheduler()
    environment = Environment(scheduler, filesystem=filesystem)
    logs = LogManager(root, background=False, environment=environment)
    filesystem.left = after
    try:
        assert logs.cleaner.clean_filthiest() is not None
        scheduler.shutdown()  # runs the delayed deletions
    except Stopped:
        filesystem.left = None
        for locked in logs.roots:
            locked.unlock()
        return True
    filesystem.left = None
    logs.close()
    return False


def test_what_a_stopped_compaction_leaves_is_served(jvm: ModuleType, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    write(whole)
    expected = {record.key: record.value for record in scan(whole, ["t"])}
    stopped: list[Path] = []
    while True:
        root = Path(shutil.copytree(whole, tmp_path / f"stopped-{len(stopped)}"))
        if not stop_compaction(root, len(stopped)):
            break
        stopped.append(root)
    assert len(stopped) > 15
    for suffix in ("cleaned", "swap", "deleted"):
        assert any(list(root.glob(f"t-0/*.{suffix}")) for root in stopped)

    broker = Broker(tmp_path / "broker", KEEPING)
    broker.start()
    admin = Admin(jvm, broker.bootstrap_servers)
    for number in range(len(stopped)):
        admin.create(f"stopped-{number}", retention_ms="-1", cleanup_policy="compact")
    admin.close()
    broker.stop()
    for number, root in enumerate(stopped):
        folder = broker.log_dir / f"stopped-{number}-0"
        for path in folder.iterdir():
            if path.name != PARTITION_METADATA:
                path.unlink()
        for path in (root / "t-0").iterdir():
            if path.name != PARTITION_METADATA:
                shutil.copy2(path, folder)
    (broker.log_dir / CLEAN_SHUTDOWN).unlink()
    broker.start()
    try:
        consumer = Consumer(jvm, broker.bootstrap_servers)
        for number, root in enumerate(stopped):
            served = consumer.read(f"stopped-{number}")
            assert {record.key: record.value for record in served} == expected, number
            with LogManager(root, background=False):
                pass
            ours = [(record.offset, record.key, record.value) for record in scan(root, ["t"])]
            assert ours == [(record.offset, record.key, record.value) for record in served], number
        consumer.close()
    finally:
        broker.stop()
