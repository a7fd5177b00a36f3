"""Runs background tasks: once after a delay, or periodically.

Retention, flushes, checkpoints and delayed deletions go through a `Scheduler`, so that tests can run them by hand.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from octavo.system.clock import Clock, SystemClock
from octavo.system.signals import Signal

_LOOK_MS = 1000
_SHUTDOWN_SECONDS = 60  # a task may hang on a disk, but the shutdown must not
_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class ScheduledTask:
    """Work that waits for its time."""

    due_ms: int
    name: str
    run: Callable[[], None]
    period_ms: int | None
    cancelled: bool = False

    def cancel(self) -> None:
        """Do not run it again; a run in progress continues."""
        self.cancelled = True


class Scheduler(Protocol):
    """Runs tasks. An exception is logged and ends that run of the task; later runs still happen."""

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask: ...

    def shutdown(self) -> None:
        """Run the remaining one-time tasks, such as removals of files, then nothing more.

        After an interrupt it can be called again.
        """
        ...


class ThreadScheduler:
    """Runs tasks on a few threads of its own; a run may be late if many are due at once.

    After its clock was moved, `run_due` runs what has come due.
    """

    def __init__(self, threads: int = 2, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._tasks: list[tuple[int, int, ScheduledTask]] = []  # a heap by due time, then by the order of scheduling
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._changed = Signal()
        self._ended = False
        self._running = 0
        self._threads: list[threading.Thread] = []
        self.start(threads)

    def start(self, threads: int) -> None:
        """Start this many more threads."""
        for number in range(len(self._threads), len(self._threads) + threads):
            thread = threading.Thread(target=self._work, name=f"octavo-scheduler-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        task = ScheduledTask(self._clock.monotonic_ms() + delay_ms, name, run, period_ms)
        self._push(task)
        return task

    def run_due(self) -> None:
        """Run the tasks that are due now, on the caller's thread, and wait for those that other threads are running."""
        while True:
            with self._lock:
                task = self._pop_due()
            if task is not None:
                self._do(task)
            elif not self._running:
                return
            else:
                self._changed.wait(lambda: not self._running, _LOOK_MS / 1000)

    def shutdown(self) -> None:
        self._ended = True
        self._changed.notify()
        end = time.monotonic() + _SHUTDOWN_SECONDS
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(end - time.monotonic(), 0))
                if thread.is_alive():
                    _log.warning("%s still runs a task after %d s and is abandoned", thread.name, _SHUTDOWN_SECONDS)
        for _ in range(len(self._tasks)):  # counted once, because running tasks may schedule more
            with self._lock:
                task = heapq.heappop(self._tasks)[2] if self._tasks else None
            if task is not None and task.period_ms is None:
                _run(task)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            self._do(task)

    def _do(self, task: ScheduledTask) -> None:
        try:
            _run(task)
            if task.period_ms is not None:
                task.due_ms = self._clock.monotonic_ms() + task.period_ms
                self._push(task)
        finally:
            with self._lock:
                self._running -= 1
            self._changed.notify()

    def _push(self, task: ScheduledTask) -> None:
        with self._lock:
            heapq.heappush(self._tasks, (task.due_ms, next(self._numbers), task))
        self._changed.notify()

    def _next(self) -> ScheduledTask | None:
        """Wait for a due task; None after the shutdown."""
        while not self._ended:
            with self._lock:
                task = self._pop_due()
                if task is not None:
                    return task
                first = self._tasks[0] if self._tasks else None
                wait_ms = _LOOK_MS if first is None else first[0] - self._clock.monotonic_ms()
            # An interrupt may have hit `_push` before its notify, so never wait for long.
            self._changed.wait(partial(self._has_changed, first), max(min(wait_ms, _LOOK_MS), 0) / 1000)
        return None

    def _pop_due(self) -> ScheduledTask | None:
        """The first task if it is due, which then counts as running; the caller holds the lock."""
        while self._tasks and self._tasks[0][2].cancelled:
            heapq.heappop(self._tasks)
        if not self._tasks or self._tasks[0][0] > self._clock.monotonic_ms():
            return None
        self._running += 1
        return heapq.heappop(self._tasks)[2]

    def _has_changed(self, first: tuple[int, int, ScheduledTask] | None) -> bool:
        tasks = self._tasks
        return self._ended or (tasks[0] if tasks else None) is not first


class EndScheduler:
    """For a program with one job: runs nothing until its shutdown, then each one-time task, or none."""

    def __init__(self, *, runs_at_end: bool = True) -> None:
        self._tasks: list[ScheduledTask] = []
        self._runs_at_end = runs_at_end

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        task = ScheduledTask(SystemClock().monotonic_ms() + delay_ms, name, run, period_ms)
        self._tasks.append(task)
        return task

    def begin_job(self) -> None:
        """Drop the tasks that opening the directory scheduled, because they are not part of this job."""
        self._tasks.clear()

    def shutdown(self) -> None:
        for _ in range(len(self._tasks)):  # one by one, since a call after an interrupt runs the rest
            task = self._tasks.pop(0)
            if self._runs_at_end and task.period_ms is None:
                _run(task)


class JobScheduler(ThreadScheduler):
    """For a program with one job that may take long, such as sending what somebody types.

    From `begin_job` on, tasks run when they are due; the rest run at the end. Periodic tasks never run, because they
    are not part of the job.
    """

    def __init__(self) -> None:
        super().__init__(threads=0)

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        if period_ms is None:
            return super().schedule(name, run, delay_ms=delay_ms)
        return ScheduledTask(self._clock.monotonic_ms() + delay_ms, name, run, period_ms, cancelled=True)

    def begin_job(self) -> None:
        """Drop the tasks that opening the directory scheduled, and start running new ones."""
        self._tasks.clear()
        self.start(1)


def _run(task: ScheduledTask) -> None:
    if task.cancelled:
        return
    try:
        task.run()
    except Exception:
        _log.exception("background task %s failed", task.name)
