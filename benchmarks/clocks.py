"""CPU clocks: for this process, for its finished children, for a running process, and for a process tree."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

Clock = Callable[[], float]  # seconds of CPU, user and system
own: Clock = time.process_time
_SAMPLE_SECONDS = 0.05


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def together(*clocks: Clock) -> Clock:
    return lambda: sum(clock() for clock in clocks)


class Tree:
    """The CPU seconds of a process and all its descendants, sampled, so that the time of finished processes still
    counts.

    (Spark's Python workers come and go, and their parent does not wait for them, so the system's sums lose them.)
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used: dict[tuple[int, str], int] = {}  # ticks by process id and start time
        threading.Thread(target=self._sample_on, daemon=True).start()

    def __call__(self) -> float:
        self._sample()
        return sum(self._used.values()) / os.sysconf("SC_CLK_TCK")

    def _sample_on(self) -> None:
        while True:
            self._sample()
            time.sleep(_SAMPLE_SECONDS)

    def _sample(self) -> None:
        todo = [self._pid]
        while todo:
            each = todo.pop()
            try:
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                self._used[each, fields[19]] = int(fields[11]) + int(fields[12])
                for task in Path(f"/proc/{each}/task").iterdir():
                    todo += map(int, (task / "children").read_text().split())
            except OSError:
                continue  # it has ended in the meantime
