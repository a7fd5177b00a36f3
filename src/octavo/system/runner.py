"""Where independent tasks run: in the calling thread, on threads of this process or, with Spark's runner, elsewhere.

Threads pay off because the kernels and the codecs release the GIL.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

# How many finished tasks may wait for an earlier one, since results are returned in order. The results are small.
_AHEAD = 32

Result = TypeVar("Result")
Progress = Callable[[int], None]  # called with the number of bytes done since the last call, from any thread


class SizedTask(Protocol):
    """A piece of a job: picklable, and independent of all other pieces."""

    @property
    def size(self) -> int:
        """About how many bytes the task will read: the unit of progress."""
        ...


TaskType = TypeVar("TaskType", bound=SizedTask)


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[TaskType, Result]):
    """The result of a task, or the error that ended it."""

    task: TaskType
    result: Result | None = None
    error: Exception | None = None

    def get(self) -> Result:
        """The result; raises the error of a failed task."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


class Runner(Protocol):
    """Runs a function on each task and yields the outcomes in the order of the tasks.

    A task that fails does not stop the others, except with `InlineRunner`.
    """

    @property
    def shares_memory(self) -> bool:
        """Whether tasks run in this process, so that they need not be pickled and can use its filesystem."""
        ...

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[TaskOutcome[TaskType, Result]]: ...


class InlineRunner:
    """Runs tasks one by one in the calling thread; the first error is raised and ends the run."""

    shares_memory = True

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[TaskOutcome[TaskType, Result]]:
        for task in tasks:
            yield TaskOutcome(task, function(task))
            if progress is not None:
                progress(task.size)


class ThreadRunner:
    """Runs tasks on threads, by default one per processor.

    `is_ending` tells a long task that its result is no longer needed, for example after an interrupt.
    """

    shares_memory = True

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or _processors()
        self.is_ending = False

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[TaskOutcome[TaskType, Result]]:
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


def _outcome(task: TaskType, future: Future[Result]) -> TaskOutcome[TaskType, Result]:
    error = future.exception()
    if error is None:
        return TaskOutcome(task, future.result())
    if not isinstance(error, Exception):
        raise error
    return TaskOutcome(task, error=error)
