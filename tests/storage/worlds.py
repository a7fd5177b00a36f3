"""The world around a log in tests: a clock and a scheduler that tests move, real files."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from octavo.config import Given, LogConfig
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.storage.segment.segment import Segment
from octavo.system.clock import ManualClock
from octavo.system.filesystem import LocalFileSystem
from octavo.system.scheduler import ScheduledTask
from tests.storage.batches import last_offset, walked

NOW_MS = 1_700_000_000_000


class Stopped(BaseException):
    """The process ends here. No `except Exception` may swallow it."""


class ManualScheduler:
    """Runs tasks only when told to, in the order of their due times, on the caller's thread."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._tasks: list[tuple[int, int, ScheduledTask]] = []  # a heap by due time, then by the order of scheduling
        self._numbers = itertools.count()

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        task = ScheduledTask(self._clock.monotonic_ms() + delay_ms, name, run, period_ms)
        self._push(task)
        return task

    def advance(self, by_ms: int) -> None:
        """Move the clock, and run each task at the moment it comes due."""
        end_ms = self._clock.monotonic_ms() + by_ms
        while self._tasks and self._tasks[0][0] <= end_ms:
            task = heapq.heappop(self._tasks)[2]
            if task.cancelled:
                continue
            self._clock.now_ms = max(self._clock.now_ms, task.due_ms)
            task.run()
            if task.period_ms is not None:
                task.due_ms = self._clock.now_ms + max(task.period_ms, 1)
                self._push(task)
        self._clock.now_ms = end_ms

    def run_due(self) -> None:
        """Run the tasks that are due now."""
        self.advance(0)

    @property
    def waiting(self) -> list[str]:
        """The names of the waiting tasks, in order of due time."""
        return [task.name for _, _, task in sorted(self._tasks) if not task.cancelled]

    def shutdown(self) -> None:
        self._tasks.clear()

    def _push(self, task: ScheduledTask) -> None:
        heapq.heappush(self._tasks, (task.due_ms, next(self._numbers), task))


class World:
    """The environment of logs, and its movable parts."""

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


def opened(*roots: Path, world: World | None = None, **options: Any) -> LogManager:
    """The log manager of directories, in a new world unless one is given."""
    return LogManager(list(roots), environment=(world or World()).environment, **options)


def opened_with_upkeep(root: Path, world: World, **configs: Given) -> LogManager:
    """The log manager of a directory, with retention and cleaning, and with these configs (underscores for dots)."""
    given = {name.replace("_", "."): value for name, value in configs.items()}
    return opened(root, world=world, upkeep=True, configs=given)


def names(root: Path) -> set[str]:
    """The names of the files and folders in a folder."""
    return {path.name for path in root.iterdir()}
