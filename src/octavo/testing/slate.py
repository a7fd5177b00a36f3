"""A clean slate: a log directory, a broker, a clock and faults that are made and thrown away together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from octavo.client.log_dir import LogDir
from octavo.config import Given
from octavo.storage.environment import Environment
from octavo.system.clock import ShiftedClock
from octavo.system.scheduler import ThreadScheduler
from octavo.testing.broker import InstrumentedBroker
from octavo.testing.clock import BrokerClock
from octavo.testing.profile import KEEP_ALL, PROFILE
from octavo.testing.start_from import copy_of
from octavo.testing.unsynced_files import UnsyncedFileSystem


class Slate:
    """Starting one takes about as long as emptying another would, and nothing of the other can remain."""

    def __init__(self, path: Path, configs: Mapping[str, Given], start_from: Path | None, port: int = 0) -> None:
        if start_from is not None:
            copy_of(start_from, path)
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

    def close(self) -> None:
        self.logs.close()  # which closes the broker first
