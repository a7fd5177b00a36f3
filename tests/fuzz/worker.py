"""One process of a run: feeds inputs to targets and reports what breaks the contract.

Guards: an input that takes too much CPU time ends the process by a signal (even inside a kernel), one that takes too
much memory is a finding, and so is any error but the documented ones. The parent finds the input by its number.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from octavo.errors import CorruptionError
from tests.fuzz.inputs import Plan
from tests.fuzz.target import Target

CPU_SECONDS = 2.0
LARGEST_GROWTH = 96 << 20  # how much one input may add to the resident memory
ADDRESS_SPACE = 2 << 30  # in addition to what the process has at its start
REPORT_EVERY = 500


@dataclass(slots=True)
class Report:
    """What happened since the last report."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)  # number of the input, what it did
    finished: bool = False


def work(plan: Plan, first: int, step: int, current: Synchronized[int], results: Connection) -> None:
    """Run the inputs first, first + step, … and send reports."""
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    limit_memory()
    schedule = plan.schedule()
    report, since = Report(), 0
    for number in range(first, plan.inputs, step):
        target = schedule[number % len(schedule)]
        current.value = number
        data = target.make(plan.random(number))
        problem = guarded(target, data, report)
        if problem is not None:
            report.findings.append((number, problem))
        since += 1
        if since == REPORT_EVERY or problem is not None:
            results.send(report)
            report, since = Report(), 0
    report.finished = True
    results.send(report)


def guarded(target: Target, data: bytes, report: Report) -> str | None:
    """Run one input and count it; returns a sentence if it breaks the contract."""
    before = resident_peak()
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        is_accepted, problem = attempt(target, data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resident_peak() - before
    if problem is None and grown > LARGEST_GROWTH:
        return f"took {grown >> 20} MiB of memory for an input of {len(data)} bytes"
    if problem is None:
        (report.accepted if is_accepted else report.refused)[target.name] += 1
    return problem


def attempt(target: Target, data: bytes) -> tuple[bool, str | None]:
    """Whether the input is accepted, and a sentence if it breaks the contract."""
    try:
        target.run(data)
    except target.errors as error:
        return False, misplaced(error, data)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False, traceback.format_exc()
    return True, None


def misplaced(error: Exception, data: bytes) -> str | None:
    """A documented error must be printable and point into the input."""
    text = str(error)
    if not text:
        return f"{type(error).__name__} without a sentence"
    if isinstance(error, CorruptionError) and error.position is not None and not 0 <= error.position <= len(data):
        return f"position {error.position} in an input of {len(data)} bytes: {text}"
    return None


def resident_peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def limit_memory() -> None:
    """Limit the address space, so that an allocation fails if a length field was believed.

    Do nothing under AddressSanitizer, which reserves more than any limit, or where there is no /proc.
    """
    statm = Path("/proc/self/statm")
    if "asan" in os.environ.get("LD_PRELOAD", "") or not statm.exists():
        return
    reserved = int(statm.read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (reserved + ADDRESS_SPACE, hard))
