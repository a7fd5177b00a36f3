"""Runs a job's tasks on the machines of a Spark application."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from octavo.errors import ConfigError
from octavo.spark.worker import use_this_python
from octavo.system.runner import Progress, Result, TaskOutcome, TaskType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Tasks are handed to Spark in waves of this many per core: the results of a wave are passed on before the next wave
# starts, so they do not pile up on the driver, and little time is lost waiting for the last task of a wave.
_TASKS_PER_CORE = 16


class SparkRunner:
    """A runner (`octavo.system.runner.Runner`) on a session; its workers must see the same paths and have this package.

    A task that raises does not affect the others. Spark repeats a task that it lost with its worker. Tasks `in_place`
    write next to a log, under names that two attempts at one task would share.
    """

    shares_memory = False

    def __init__(self, spark: SparkSession, *, in_place: bool = False) -> None:
        use_this_python(spark)
        self._context = spark.sparkContext
        if in_place and self._context.getConf().get("spark.speculation", "false").lower() == "true":
            reason = "two attempts at a task could write to the same files next to a log at once"
            raise ConfigError(f"spark.speculation is true, expected false: {reason}")

    def run(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], progress: Progress | None = None
    ) -> Iterator[TaskOutcome[TaskType, Result]]:
        wave = self._context.defaultParallelism * _TASKS_PER_CORE
        for first in range(0, len(tasks), wave):
            part = tasks[first : first + wave]
            outcomes = self._context.parallelize(part, len(part)).map(partial(_attempt, function)).collect()
            if progress is not None:
                progress(sum(task.size for task in part))
            yield from outcomes


def _attempt(function: Callable[[TaskType], Result], task: TaskType) -> TaskOutcome[TaskType, Result]:
    """What a worker does with a task. An error becomes an outcome; otherwise Spark would repeat the task and fail the
    job."""
    try:
        return TaskOutcome(task, function(task))
    except Exception as error:
        return TaskOutcome(task, error=error)
