"""The timers of groups: thousands of deadlines, most of them moved before they are reached, and one task."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable

from octavo.system.clock import Clock
from octavo.system.scheduler import ScheduledTask, Scheduler


class Timers:
    """Deadlines by name. Moving one to a later time is a single assignment. Not thread-safe.

    `check` is scheduled for the first deadline; it has to call `next_due` until that returns None.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock, check: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._check = check
        self._deadlines: dict[Hashable, int] = {}
        # Each timer has one entry that counts, at the time in `_entries`, which is never after its deadline. Entries of
        # timers that were cancelled or moved to an earlier time are dropped when due.
        self._heap: list[tuple[int, int, Hashable]] = []
        self._entries: dict[Hashable, int] = {}
        self._numbers = itertools.count()
        self._task: ScheduledTask | None = None
        self._task_at_ms = 0

    def set(self, timer: Hashable, at_ms: int) -> None:
        """Set a timer, or move it."""
        self._deadlines[timer] = at_ms
        entry_ms = self._entries.get(timer)
        if entry_ms is None or at_ms < entry_ms:
            self._push(timer, at_ms)
            self._schedule()

    def cancel(self, timer: Hashable) -> None:
        """Drop a timer, if it is set."""
        self._deadlines.pop(timer, None)

    @property
    def is_due(self) -> bool:
        """Whether a timer may be due."""
        return bool(self._heap) and self._heap[0][0] <= self._clock.monotonic_ms()

    def next_due(self) -> Hashable | None:
        """Remove and return a timer that is due; if there is none, schedule the next check and return None."""
        now_ms = self._clock.monotonic_ms()
        self._task = None
        while self._heap and self._heap[0][0] <= now_ms:
            entry_ms, _, timer = heapq.heappop(self._heap)
            if self._entries.get(timer) != entry_ms:
                continue
            del self._entries[timer]
            deadline = self._deadlines.get(timer)
            if deadline is None:
                continue
            if deadline <= now_ms:
                del self._deadlines[timer]
                return timer
            self._push(timer, deadline)
        self._schedule()
        return None

    def _push(self, timer: Hashable, at_ms: int) -> None:
        self._entries[timer] = at_ms
        heapq.heappush(self._heap, (at_ms, next(self._numbers), timer))

    def _schedule(self) -> None:
        if not self._heap:
            return
        first_ms = self._heap[0][0]
        if self._task is not None:
            if self._task_at_ms <= first_ms:
                return
            self._task.cancel()
        delay_ms = max(first_ms - self._clock.monotonic_ms(), 0)
        self._task = self._scheduler.schedule("group-timers", self._check, delay_ms=delay_ms)
        self._task_at_ms = first_ms
