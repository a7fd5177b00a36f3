"""A clean slate: a log directory, a broker, a clock and faults that are made and thrown away together."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from octavo.client.log_dir import LogDir
from octavo.config import Given
from octavo.errors import CorruptionError, ScanError
from octavo.format.names import PartitionFolder
from octavo.storage.environment import Environment
from octavo.system.clock import ShiftedClock
from octavo.system.filesystem import File, LocalFile, LocalFileSystem, LocalMappedFile, MappedFile
from octavo.system.scheduler import ThreadScheduler
from octavo.testing.broker import InstrumentedBroker
from octavo.testing.clock import BrokerClock

# What tests want: no waiting, and few files.
PROFILE = {
    "connections.max.idle.ms": -1,  # a clock that is advanced by days must not disconnect everybody
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
# For a copy of a directory, whose records may be years old.
KEEP_ALL = {"log.retention.ms": -1}


class Slate:
    """Starting a new slate takes about as long as emptying the old one would, and leaves nothing of the old one."""

    def __init__(self, path: Path, configs: Mapping[str, Given], start_from: str | Path | None, port: int = 0) -> None:
        if start_from is not None:
            _copy(Path(start_from), path)
            configs = {**KEEP_ALL, **configs}
        shifted = ShiftedClock()
        scheduler = ThreadScheduler(threads=1, clock=shifted)
        environment = Environment(scheduler, shifted, UnsyncedFileSystem())
        self.logs = LogDir(path, configs={**PROFILE, **configs}, environment=environment, create=True, upkeep=True)
        try:
            self.broker = InstrumentedBroker(self.logs, shifted, listen=f"127.0.0.1:{port}")
        except BaseException:
            self.logs.close()
            raise
        self.clock = BrokerClock(shifted, scheduler, self.broker.run_timers)


def _copy(source: Path, target: Path) -> None:
    """Copy a log directory to a new path; a partition's folder (`orders-0`) is copied into a new log directory."""
    if not source.is_dir():
        raise ScanError(f"{source}: no such directory; give a log directory, or a partition's folder")
    is_partition = _is_partition(source)
    shutil.copytree(source, target / source.name if is_partition else target, ignore=shutil.ignore_patterns(".lock"))


def _is_partition(folder: Path) -> bool:
    try:
        PartitionFolder.parse(folder.name)
    except (CorruptionError, ValueError):
        return False
    return any(folder.glob("*.log"))


class UnsyncedFile(LocalFile):
    def fsync(self) -> None:
        pass


class UnsyncedMappedFile(LocalMappedFile):
    def flush(self) -> None:
        pass


class UnsyncedFileSystem(LocalFileSystem):
    """Does not wait for the disk: what a test writes need not survive a power loss."""

    def open(self, path: Path, *, create: bool = False) -> File:
        return UnsyncedFile(path, create=create)

    def map(self, path: Path, size: int) -> MappedFile:
        return UnsyncedMappedFile(path, size)

    def fsync_folder(self, path: Path) -> None:
        pass
