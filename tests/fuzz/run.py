"""A run of many inputs in several processes."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import Synchronized

from tests.fuzz.inputs import Plan
from tests.fuzz.worker import Report, work

MOST_FINDINGS = 20


@dataclass(slots=True)
class Finding:
    """An input that breaks the contract."""

    number: int
    target: str
    data: bytes
    problem: str


@dataclass(slots=True)
class Outcome:
    """The outcome of a run."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return self.accepted.total() + self.refused.total() + len(self.findings)


@dataclass(slots=True)
class _Worker:
    process: ForkProcess
    results: Connection
    current: Synchronized[int]
    step: int


def run(
    plan: Plan, processes: int, *, seconds: float | None = None, progress: Callable[[Outcome], None] | None = None
) -> Outcome:
    """Feed all inputs of the plan, or as many as the time allows."""
    for target in plan.targets:
        target.make(plan.random(0))  # seeds are read once, before the processes split
    outcome = Outcome()
    workers = [_start(plan, first, processes) for first in range(processes)]
    deadline = None if seconds is None else time.monotonic() + seconds
    while workers:
        for ready in wait([worker.results for worker in workers], timeout=1.0):
            worker = next(worker for worker in workers if worker.results is ready)
            following = _receive(plan, worker, outcome)
            if following is not worker:
                workers.remove(worker)
            if following is not None and following is not worker:
                workers.append(following)
        if progress is not None:
            progress(outcome)
        if (deadline is not None and time.monotonic() > deadline) or len(outcome.findings) >= MOST_FINDINGS:
            for worker in workers:
                worker.process.terminate()
            return outcome
    return outcome


def _start(plan: Plan, first: int, step: int) -> _Worker:
    context = multiprocessing.get_context("fork")
    current: Synchronized[int] = context.Value("q", -1, lock=False)
    results, sending = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(plan, first, step, current, sending), daemon=True)
    process.start()
    sending.close()
    return _Worker(process, results, current, step)


def _receive(plan: Plan, worker: _Worker, outcome: Outcome) -> _Worker | None:
    """Take a report; returns the worker that continues, another one after a crash, or None at the end."""
    try:
        report: Report = worker.results.recv()
    except EOFError:
        worker.process.join()
        number = worker.current.value
        outcome.findings.append(_finding(plan, number, _death(worker.process.exitcode)))
        return _start(plan, number + worker.step, worker.step)
    outcome.accepted += report.accepted
    outcome.refused += report.refused
    outcome.findings += [_finding(plan, number, problem) for number, problem in report.findings]
    return None if report.finished else worker


def _finding(plan: Plan, number: int, problem: str) -> Finding:
    target, data = plan.make(number)
    return Finding(number, target.name, data, problem)


def _death(exit_code: int | None) -> str:
    if exit_code == -signal.SIGPROF:
        return "took too much CPU time"
    return f"ended the process with exit code {exit_code}"
