"""What all kinds of `Work` share: an open directory, the journal, and names that no record had before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from octavo.client.log_dir import LogDir
from tests.attack.journal import Journal

PATIENCE_SECONDS = 60


@dataclass
class Scene:
    """Thread-safe, except for the order of random draws."""

    logs: LogDir
    journal: Journal
    draw: Random
    generation: int = 0  # how often the directory was opened before
    has_threads: bool = True  # without them nothing happens in the background, so no step may wait for it
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def number(self) -> int:
        """A number larger than all before it."""
        return self.generation * 10_000_000 + next(self._numbers)

    def name(self) -> str:
        return f"r{self.number()}"


class Work(Protocol):
    """Something that a program does again and again. After a step that raised, the next one goes on with the same
    clients where they allow it.
    """

    def step(self) -> None: ...
