"""Background work: tasks that run once after a delay, or again and again.

Retention, flushes, checkpoints and delayed deletions go through a `Scheduler`, so that tests run them by hand.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from octavo.system.clock import ManualClock
from octavo.system.signals import Signal

_LOOK_MS = 1000
_SHUTDOWN_SECONDS = 60  # a task may hang on a disk: the end does not
_log = logging.getLogger(__name__)


@dataclass(order=True)
class Task:
    """Work that waits for its time; order is that of due times, then of scheduling."""

    due_ms: int
    number: int
    name: str = field(compare=False)
    run: Callable[[], None] = field(compare=False)
    period_ms: int | None = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Never run it (again); a run that has begun goes on."""
        self.cancelled = True


class Scheduler(Protocol):
    """Runs tasks. An exception of a task is logged and ends that run, not the task's next ones."""

    def schedule(
        self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None
    ) -> Task: ...

    def shutdown(self) -> None:
        """Run what is left to be run once, such as the removal of files, and nothing more; returns when it is done.

        One that was interrupted can be called again.
        """
        ...


class ThreadScheduler:
    """Runs tasks on a few threads of its own. Many tasks may be due at once, so runs may be late."""

    def __init__(self, threads: int = 2) -> None:
        self._tasks: list[tuple[int, int, Task]] = []  # a heap, by due time and number: tuples are compared in one step
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._changed = Signal()
        self._ended = False
        self._threads: list[threading.Thread] = []
        self.start(threads)

    def start(self, threads: int) -> None:
        """Run tasks on so many more threads."""
        for number in range(len(self._threads), len(self._threads) + threads):
            thread = threading.Thread(target=self._work, name=f"octavo-scheduler-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def schedule(self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None) -> Task:
        task = Task(_monotonic_ms() + delay_ms, next(self._numbers), name, run, period_ms)
        self._push(task)
        return task

    def shutdown(self) -> None:
        self._ended = True
        self._changed.notify()
        end = time.monotonic() + _SHUTDOWN_SECONDS
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(end - time.monotonic(), 0))
                if thread.is_alive():
                    _log.warning("%s still runs a task after %d seconds, and is left", thread.name, _SHUTDOWN_SECONDS)
        for _ in range(len(self._tasks)):  # counted once: what still runs may schedule more
            with self._lock:
                task = heapq.heappop(self._tasks)[2] if self._tasks else None
            if task is not None and task.period_ms is None:
                _run(task)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            _run(task)
            if task.period_ms is not None:
                task.due_ms = _monotonic_ms() + task.period_ms
                self._push(task)

    def _push(self, task: Task) -> None:
        with self._lock:
            heapq.heappush(self._tasks, (task.due_ms, task.number, task))
        self._changed.notify()

    def _next(self) -> Task | None:
        """Wait for a due task; None when there is nothing more to run."""
        while not self._ended:
            with self._lock:
                while self._tasks and self._tasks[0][2].cancelled:
                    heapq.heappop(self._tasks)
                first = self._tasks[0] if self._tasks else None
                wait_ms = _LOOK_MS if first is None else first[0] - _monotonic_ms()
                if first is not None and wait_ms <= 0:
                    return heapq.heappop(self._tasks)[2]
            # An interrupt may have kept somebody who scheduled a task from telling so: a wait is never long.
            self._changed.wait(partial(self._has_changed, first), min(wait_ms, _LOOK_MS) / 1000)
        return None

    def _has_changed(self, first: tuple[int, int, Task] | None) -> bool:
        tasks = self._tasks
        return self._ended or (tasks[0] if tasks else None) is not first


class ManualScheduler:
    """Runs tasks only when told to, in the order of their times, on the caller's thread."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._tasks: list[Task] = []
        self._numbers = itertools.count()

    def schedule(self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None) -> Task:
        task = Task(self._clock.monotonic_ms() + delay_ms, next(self._numbers), name, run, period_ms)
        heapq.heappush(self._tasks, task)
        return task

    def advance(self, by_ms: int) -> None:
        """Move the clock, stopping at each task that comes due on the way to run it."""
        end_ms = self._clock.monotonic_ms() + by_ms
        while self._tasks and self._tasks[0].due_ms <= end_ms:
            task = heapq.heappop(self._tasks)
            if task.cancelled:
                continue
            self._clock.now_ms = max(self._clock.now_ms, task.due_ms)
            task.run()
            if task.period_ms is not None:
                task.due_ms = self._clock.now_ms + max(task.period_ms, 1)
                heapq.heappush(self._tasks, task)
        self._clock.now_ms = end_ms

    def run_due(self) -> None:
        """Run what is due now."""
        self.advance(0)

    @property
    def waiting(self) -> list[str]:
        """The names of the tasks to come, the next first."""
        return [task.name for task in sorted(self._tasks) if not task.cancelled]

    def shutdown(self) -> None:
        self._tasks.clear()


class EndScheduler:
    """Runs nothing before its end, for a program of one job: then each task once, or none of them."""

    def __init__(self, *, runs_at_end: bool = True) -> None:
        self._tasks: list[Task] = []
        self._runs_at_end = runs_at_end
        self._numbers = itertools.count()

    def schedule(self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None) -> Task:
        task = Task(_monotonic_ms() + delay_ms, next(self._numbers), name, run, period_ms)
        self._tasks.append(task)
        return task

    def forget(self) -> None:
        """Drop what was scheduled so far: it is not this job's business."""
        self._tasks.clear()

    def shutdown(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks if self._runs_at_end else ():
            if task.period_ms is None:
                _run(task)


class JobScheduler(ThreadScheduler):
    """For a program of one job that takes its time, such as sending what somebody types.

    From its beginning on, which `forget` marks, tasks run when they are due; what is left at the end is run then. Work
    that comes again and again is not the job's and never runs.
    """

    def __init__(self) -> None:
        super().__init__(threads=0)

    def schedule(self, name: str, run: Callable[[], None], *, delay_ms: int = 0, period_ms: int | None = None) -> Task:
        if period_ms is None:
            return super().schedule(name, run, delay_ms=delay_ms)
        return Task(_monotonic_ms() + delay_ms, next(self._numbers), name, run, period_ms, cancelled=True)

    def forget(self) -> None:
        """Drop what was scheduled so far, and begin."""
        self._tasks.clear()
        self.start(1)


def _run(task: Task) -> None:
    if task.cancelled:
        return
    try:
        task.run()
    except Exception:
        _log.exception("background task %s failed", task.name)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
