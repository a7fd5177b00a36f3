"""CPU clocks: of this process, of the ones that it has started and waited for, of one that is running."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

Clock = Callable[[], float]  # seconds of CPU, user and system
own: Clock = time.process_time


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def together(*clocks: Clock) -> Clock:
    return lambda: sum(clock() for clock in clocks)
