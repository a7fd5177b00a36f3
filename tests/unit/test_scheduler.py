"""Schedulers: the manual one of the tests, the one with threads, and those of single jobs."""

from __future__ import annotations

import heapq
import threading

import pytest

from octavo.system.clock import ManualClock, ShiftedClock, SystemClock
from octavo.system.scheduler import EndScheduler, JobScheduler, ScheduledTask, ThreadScheduler
from tests.storage.worlds import ManualScheduler


def test_manual_scheduler_runs_in_the_order_of_times() -> None:
    clock = ManualClock(1000)
    scheduler, ran = ManualScheduler(clock), list[tuple[str, int]]()
    scheduler.schedule("late", lambda: ran.append(("late", clock.time_ms())), delay_ms=50)
    scheduler.schedule("now", lambda: ran.append(("now", clock.time_ms())))
    scheduler.schedule("again", lambda: ran.append(("again", clock.time_ms())), delay_ms=20, period_ms=20)
    assert scheduler.waiting == ["now", "again", "late"]
    scheduler.run_due()
    assert ran == [("now", 1000)]
    scheduler.advance(45)
    assert ran[1:] == [("again", 1020), ("again", 1040)]
    scheduler.advance(20)
    assert ran[3:] == [("late", 1050), ("again", 1060)]
    assert clock.time_ms() == 1065


def test_cancelled_task_does_not_run() -> None:
    scheduler, ran = ManualScheduler(ManualClock()), list[int]()
    task = scheduler.schedule("never", lambda: ran.append(1), delay_ms=5)
    task.cancel()
    scheduler.advance(10)
    assert (ran, scheduler.waiting) == ([], [])
    scheduler.schedule("dropped", lambda: ran.append(2))
    scheduler.shutdown()
    scheduler.run_due()
    assert ran == []


def test_threads_run_delayed_and_periodic_tasks() -> None:
    scheduler, often, late = ThreadScheduler(), threading.Semaphore(0), threading.Event()
    periodic = scheduler.schedule("often", lambda: often.release(), period_ms=1)
    scheduler.schedule("late", late.set, delay_ms=1)
    for _ in range(3):
        assert often.acquire(timeout=10)
    assert late.wait(10)
    periodic.cancel()
    scheduler.shutdown()


def test_threads_run_what_comes_due_when_their_clock_is_moved() -> None:
    clock, ran = ShiftedClock(), list[str]()
    scheduler = ThreadScheduler(threads=1, clock=clock)
    scheduler.schedule("tomorrow", lambda: ran.append("tomorrow"), delay_ms=86_400_000)
    scheduler.schedule("hourly", lambda: ran.append("hourly"), delay_ms=3_600_000, period_ms=3_600_000)
    scheduler.run_due()
    assert ran == []
    for _ in range(2):
        clock.advance(86_400_000)
        scheduler.run_due()
    assert ran == ["hourly", "tomorrow", "hourly"]
    scheduler.shutdown()


def test_whoever_runs_what_is_due_waits_for_other_threads() -> None:
    scheduler, begun, may_end, ran = ThreadScheduler(threads=1), threading.Event(), threading.Event(), list[int]()

    def slow() -> None:
        begun.set()
        assert may_end.wait(10)
        ran.append(1)

    scheduler.schedule("slow", slow)
    assert begun.wait(10)

    def run_due() -> None:
        scheduler.run_due()
        ran.append(2)

    running = threading.Thread(target=run_due)
    running.start()
    may_end.set()
    running.join(10)
    assert ran == [1, 2]
    scheduler.shutdown()


def test_a_shifted_clock_runs_on_with_the_machines() -> None:
    clock, machine = ShiftedClock(), SystemClock()
    before = machine.time_ms(), machine.monotonic_ms()
    clock.advance(5000)
    assert clock.time_ms() >= before[0] + 5000 and clock.monotonic_ms() >= before[1] + 5000
    assert clock.time_ms() <= machine.time_ms() + 5000


def test_failing_task_runs_again() -> None:
    scheduler, runs = ThreadScheduler(threads=1), threading.Semaphore(0)

    def fail() -> None:
        runs.release()
        raise RuntimeError("a task that fails")

    scheduler.schedule("fails", fail, period_ms=1)
    assert runs.acquire(timeout=10)
    assert runs.acquire(timeout=10)
    scheduler.shutdown()


def test_shutdown_waits_for_the_task_that_is_running() -> None:
    scheduler, begun, is_down, seen = ThreadScheduler(threads=1), threading.Event(), threading.Event(), list[bool]()

    def work() -> None:
        begun.set()
        seen.append(is_down.wait(0.1))

    scheduler.schedule("work", work)
    assert begun.wait(10)
    scheduler.shutdown()
    is_down.set()
    assert seen == [False]
    scheduler.schedule("too late", lambda: None)


def test_an_end_scheduler_runs_the_work_of_its_job_at_the_end() -> None:
    scheduler, ran = EndScheduler(), list[str]()
    scheduler.schedule("others' business", lambda: ran.append("forgotten"))
    scheduler.begin_job()
    scheduler.schedule("later", lambda: ran.append("later"), delay_ms=60_000)
    scheduler.schedule("again and again", lambda: ran.append("again"), period_ms=1)
    assert ran == []
    scheduler.shutdown()
    scheduler.shutdown()
    assert ran == ["later"]
    without = EndScheduler(runs_at_end=False)
    without.schedule("never", lambda: ran.append("never"))
    without.shutdown()
    assert ran == ["later"]


def test_what_an_interrupt_left_runs_when_an_end_scheduler_is_shut_down_again() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    scheduler, ran = EndScheduler(), list[str]()
    scheduler.schedule("first", interrupted)
    scheduler.schedule("second", lambda: ran.append("second"))
    with pytest.raises(KeyboardInterrupt):
        scheduler.shutdown()
    scheduler.shutdown()
    assert ran == ["second"]


def test_a_manual_clock_is_advanced_and_the_systems_tells_the_time() -> None:
    clock = ManualClock(5)
    clock.advance(7)
    assert clock.time_ms() == 12
    assert SystemClock().time_ms() > 1_600_000_000_000


def test_work_of_a_job_runs_when_it_is_due_or_at_the_end() -> None:
    scheduler, ran, due = JobScheduler(), list[str](), threading.Event()
    scheduler.schedule("others' business", lambda: ran.append("forgotten"))
    scheduler.begin_job()
    scheduler.schedule("late", lambda: ran.append("late"), delay_ms=1_000_000)
    scheduler.schedule("dropped", lambda: ran.append("dropped"), delay_ms=1_000_000).cancel()
    scheduler.schedule("background", lambda: ran.append("background"), period_ms=1)
    scheduler.schedule("due", due.set, delay_ms=1)
    assert due.wait(10) and ran == []
    scheduler.shutdown()
    assert ran == ["late"]


def test_periodic_work_never_reaches_a_job_s_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cancelled at once; if it were queued first, the thread might run it before the cancellation."""
    scheduler, queued = JobScheduler(), list[ScheduledTask]()
    monkeypatch.setattr(heapq, "heappush", lambda tasks, task: queued.append(task))
    task = scheduler.schedule("background", lambda: None, period_ms=1)
    assert (queued, task.cancelled) == ([], True)
    scheduler.shutdown()
