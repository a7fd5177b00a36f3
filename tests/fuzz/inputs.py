"""The inputs of a run: number n of a seed always gives the same bytes for the same target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.target import Target


@dataclass(frozen=True, slots=True)
class Plan:
    """Which inputs a run makes."""

    targets: Sequence[Target]
    seed: int
    inputs: int

    def schedule(self) -> list[Target]:
        """The targets in turn, each as often as its weight says."""
        turns = [(turn / target.weight, target) for target in self.targets for turn in range(target.weight)]
        return [target for _, target in sorted(turns, key=lambda pair: pair[0])]

    def make(self, number: int) -> tuple[Target, bytes]:
        schedule = self.schedule()
        target = schedule[number % len(schedule)]
        return target, target.make(self.random(number))

    def random(self, number: int) -> Random:
        return Random(f"{self.seed}/{number}")
