"""How everything here is measured: interleaved rounds after a warm-up, wall and CPU seconds; the best round counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks import clocks

_CLEARLY_FASTER = 0.97
_STEADY_RUNS = 3


@dataclass
class Contender:
    """One thing to measure; `run` does the whole work once, `clock` counts its CPU time.

    If `run` does more than the work, it returns the seconds of the work alone.
    """

    name: str
    run: Callable[[], object]
    clock: clocks.Clock = clocks.own
    prepare: Callable[[], object] = lambda: None  # before each run; its time does not count
    most_warmups: int = 1  # more than one: warm up until it gets no faster
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
        _warm_up(contender)
    for _ in range(rounds):
        for contender in contenders:
            wall, cpu = _run(contender)
            contender.wall.append(wall)
            contender.cpu.append(cpu)


def _run(contender: Contender) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    contender.prepare()
    wall, cpu = time.perf_counter(), contender.clock()
    seconds = contender.run()
    cpu = contender.clock() - cpu
    return seconds if isinstance(seconds, float) else time.perf_counter() - wall, cpu


def _warm_up(contender: Contender) -> None:
    """Run `most_warmups` times, or until several runs in a row were not clearly faster than the best before them."""
    best, slower = float("inf"), 0
    for _ in range(contender.most_warmups):
        wall, _ = _run(contender)
        slower = slower + 1 if wall > best * _CLEARLY_FASTER else 0
        best = min(best, wall)
        if slower == _STEADY_RUNS:
            return
