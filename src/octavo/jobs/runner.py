"""Where tasks run. A job plans tasks that know nothing of each other; a runner runs them and hands back what they give.

This one uses the threads of this process: the kernels and the codecs work without the GIL.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

# How many tasks may be finished and wait for an earlier one: their results are small, their order is kept.
_AHEAD = 32

Result = TypeVar("Result")
Progress = Callable[[int], None]  # told of each finished task by its bytes, from any thread


class Task(Protocol):
    """A piece of a job: picklable, and independent of all others."""

    @property
    def size(self) -> int:
        """About how many bytes it will read: what progress is measured in."""
        ...


TaskType = TypeVar("TaskType", bound=Task)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[TaskType, Result]):
    """What became of a task: its result, or the error that ended it."""

    task: TaskType
    result: Result | None = None
    error: Exception | None = None

    def get(self) -> Result:
        """The result; raises the error that there is instead of one."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


class Runner(Protocol):
    """Runs a function on each task. The outcomes come in the tasks' order; a failed task loses no other."""

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[Outcome[TaskType, Result]]: ...


class ThreadRunner:
    """Runs tasks on threads, as many as there are processors unless told otherwise.

    `is_ending` tells a long task that nobody waits for its result any more, as after an interrupt.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or _processors()
        self.is_ending = False

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[Outcome[TaskType, Result]]:
        executor, self.is_ending = ThreadPoolExecutor(self.threads, "octavo-job"), False
        waiting: deque[tuple[TaskType, Future[Result]]] = deque()
        try:
            for task in tasks:
                future = executor.submit(function, task)
                if progress is not None:
                    future.add_done_callback(partial(_tell, progress, task.size))
                waiting.append((task, future))
                if len(waiting) > _AHEAD:
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            self.is_ending = True
            executor.shutdown(wait=True, cancel_futures=True)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _tell(progress: Progress, size: int, _: object) -> None:
    progress(size)


def _outcome(task: TaskType, future: Future[Result]) -> Outcome[TaskType, Result]:
    error = future.exception()
    if error is None:
        return Outcome(task, future.result())
    if not isinstance(error, Exception):
        raise error
    return Outcome(task, error=error)
