"""Waiting for a change that another thread makes, without a lock that an interrupt could leave taken."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class Signal:
    """Threads wait until something is so; whoever may have made it so calls `notify`. Thread-safe.

    `threading.Condition` and `Event` are Python code around a lock: a KeyboardInterrupt inside them may leave it taken
    for ever. Here each wait has a latch of its own, which only it and `notify` know.
    """

    __slots__ = ("_latches",)

    def __init__(self) -> None:
        self._latches: deque[threading.Lock] = deque()

    def wait(self, is_so: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `is_so()`, at most so many seconds; says whether it is. It is asked again after each `notify`."""
        end = None if timeout is None else time.monotonic() + timeout
        while not is_so():
            left = threading.TIMEOUT_MAX if end is None else min(end - time.monotonic(), threading.TIMEOUT_MAX)
            if left <= 0:
                return False
            self._wait_once(is_so, left)
        return True

    def notify(self) -> None:
        """Let all who wait look again."""
        while self._latches:
            with suppress(IndexError):  # another thread has taken the last one
                self._latches.popleft().release()

    def _wait_once(self, is_so: Callable[[], bool], seconds: float) -> None:
        latch = threading.Lock()
        latch.acquire()
        self._latches.append(latch)
        try:
            if not is_so():  # else what is waited for may have come before the latch was there to see it
                latch.acquire(timeout=seconds)
        finally:
            with suppress(ValueError):  # `notify` has taken it
                self._latches.remove(latch)
