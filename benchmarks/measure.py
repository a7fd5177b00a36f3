"""How everything here is measured: interleaved rounds after a warm-up, wall and CPU seconds; the best round counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks import clocks


@dataclass
class Contender:
    """One thing to measure; `run` does the whole work once, `clock` counts its CPU time.

    If `run` does more than the work, it returns the seconds of the work alone.
    """

    name: str
    run: Callable[[], object]
    clock: clocks.Clock = clocks.own
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def best_wall(self) -> float:
        return min(self.wall)

    @property
    def best_cpu(self) -> float:
        return min(self.cpu)


def measure(contenders: list[Contender], rounds: int) -> None:
    """Warm up each contender, then run `rounds` rounds in which all take turns, so that a busy minute affects all
    alike."""
    for contender in contenders:
        contender.run()
    for _ in range(rounds):
        for contender in contenders:
            wall, cpu = time.perf_counter(), contender.clock()
            seconds = contender.run()
            contender.wall.append(seconds if isinstance(seconds, float) else time.perf_counter() - wall)
            contender.cpu.append(contender.clock() - cpu)
