"""The thread runner: order, errors, progress, threads."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import pytest

from octavo.system.runner import ThreadRunner


@dataclass(frozen=True)
class Number:
    number: int
    size: int = 10


def double(task: Number) -> int:
    if task.number % 7 == 3:
        raise ValueError(task.number)
    return 2 * task.number


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outcomes_come_in_the_order_of_the_tasks_and_an_error_does_not_lose_others(threads: int) -> None:
    tasks = [Number(number) for number in range(100)]
    outcomes = list(ThreadRunner(threads).run(double, tasks))
    assert [outcome.task for outcome in outcomes] == tasks
    for outcome in outcomes:
        if outcome.task.number % 7 == 3:
            with pytest.raises(ValueError, match=str(outcome.task.number)):
                outcome.get()
        else:
            assert outcome.get() == 2 * outcome.task.number


def test_progress_is_reported_for_every_task() -> None:
    told: list[int] = []
    outcomes = ThreadRunner(2).run(double, [Number(number, number) for number in range(50)], told.append)
    assert len(list(outcomes)) == 50
    assert sorted(told) == list(range(50))


def test_tasks_run_at_once() -> None:
    together = threading.Barrier(2, timeout=30)

    def meet(_: Number) -> int:
        return together.wait()

    outcomes = list(ThreadRunner(2).run(meet, [Number(0), Number(1)]))
    assert sorted(outcome.get() for outcome in outcomes) == [0, 1]


def test_closing_the_outcomes_stops_the_work() -> None:
    done: list[int] = []

    def note(task: Number) -> int:
        done.append(task.number)
        return task.number

    outcomes = ThreadRunner(1).run(note, [Number(number) for number in range(10_000)])
    assert next(iter(outcomes)).get() == 0
    outcomes.close()  # type: ignore[attr-defined]
    assert len(done) < 1000


def test_there_is_a_thread_per_processor_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 6}, raising=False)
    assert ThreadRunner().threads == 3


def test_there_is_no_outcome_without_tasks() -> None:
    assert list(ThreadRunner().run(double, [])) == []
