"""Waits for a change made by another thread, without a lock that an interrupt could leave held."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class Signal:
    """Threads wait until a condition holds; code that may have made it true calls `notify`. Thread-safe.

    `threading.Condition` and `Event` are Python code around a lock: a KeyboardInterrupt inside them may leave it held
    forever. Here each wait has its own latch, known only to it and to `notify`.
    """

    __slots__ = ("_latches",)

    def __init__(self) -> None:
        self._latches: deque[threading.Lock] = deque()

    def wait(self, is_so: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `is_so()` is true, at most `timeout` seconds; returns whether it is. Checks again after each
        `notify`."""
        end = None if timeout is None else time.monotonic() + timeout
        while not is_so():
            left = threading.TIMEOUT_MAX if end is None else min(end - time.monotonic(), threading.TIMEOUT_MAX)
            if left <= 0:
                return False
            self._wait_once(is_so, left)
        return True

    def notify(self) -> None:
        """Let all waiting threads check again."""
        while self._latches:
            with suppress(IndexError):  # another thread has taken the last one
                self._latches.popleft().release()

    def _wait_once(self, is_so: Callable[[], bool], seconds: float) -> None:
        latch = threading.Lock()
        latch.acquire()
        self._latches.append(latch)
        try:
            if not is_so():  # it may have become true before `notify` could see the latch
                latch.acquire(timeout=seconds)
        finally:
            with suppress(ValueError):  # `notify` has already taken it
                self._latches.remove(latch)
