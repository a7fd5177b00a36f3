"""A directory's life in one process, step by step: the same seed does the same work.

It has a clock and a scheduler that only this life moves, and a filesystem that fails where it is told to.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

from octavo.client.log_dir import LogDir
from octavo.storage.environment import Environment
from octavo.system.clock import ManualClock
from octavo.system.filesystem import FileSystem
from tests.attack.journal import Memory
from tests.attack.scene import Scene
from tests.attack.works import all_works
from tests.attack.worlds import make_topics, opened
from tests.storage.worlds import NOW_MS, ManualScheduler


class Life:
    """`live` opens, works, closes, and opens again, until its steps are done or something raises."""

    def __init__(self, root: Path, files: FileSystem, seed: int, *forgiven: type[Exception]) -> None:
        self._forgiven = forgiven  # what a step may raise without ending this life
        self.journal = Memory()
        self.draw = Random(seed)
        self.generation = 0
        self._root = root
        self._files = files
        self._clock = ManualClock(NOW_MS)

    def live(self, steps: int, openings: int = 2) -> None:
        for _ in range(openings):
            with self.open() as logs:
                make_topics(logs)
                self.work(logs, steps // openings)

    def open(self) -> LogDir:
        self.scheduler = ManualScheduler(self._clock)
        return opened(self._root, environment=Environment(self.scheduler, self._clock, self._files))

    def work(self, logs: LogDir, steps: int) -> None:
        works = all_works(Scene(logs, self.journal, self.draw, self.generation, has_threads=False))
        self.generation += 1
        for _ in range(steps):
            with suppress(*self._forgiven):
                self.draw.choice(works).step()
                if self.draw.random() < 0.2:  # then the cleaner, retention, checkpoints and deletions have their turn
                    self.scheduler.advance(self.draw.choice((10, 100, 500)))
