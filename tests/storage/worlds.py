"""The world around a log in tests: a clock and a scheduler that tests move, real files."""

from __future__ import annotations

from pathlib import Path

from octavo.config import LogConfig
from octavo.storage.environment import Environment
from octavo.storage.segment.segment import Segment
from octavo.system.clock import ManualClock
from octavo.system.filesystem import LocalFileSystem
from octavo.system.scheduler import ManualScheduler
from tests.storage.batches import last_offset, walked

NOW_MS = 1_700_000_000_000


class World:
    """Environment and its movable parts."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.clock = ManualClock(now_ms)
        self.scheduler = ManualScheduler(self.clock)
        self.filesystem = LocalFileSystem()
        self.environment = Environment(self.scheduler, self.clock, self.filesystem)

    def segment(
        self, folder: Path, *batches: bytes, base_offset: int = 0, config: LogConfig | None = None, create: bool = True
    ) -> Segment:
        """A segment with these batches, each appended on its own."""
        config = config or LogConfig.of()
        segment = Segment(folder, base_offset, config, self.filesystem, self.clock, create=create)
        for batch in batches:
            data, table = walked(batch)
            segment.append(last_offset(table), data, table)
        return segment
