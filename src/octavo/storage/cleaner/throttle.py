"""How fast the cleaner's threads may read and write together."""

from __future__ import annotations

import threading
from collections.abc import Callable

from octavo.system.clock import Clock

PERIOD_MS = 300  # rates are looked at over no less


class Throttle:
    """Counts bytes of all threads; whoever brings the rate above the limit waits until it is the limit again."""

    def __init__(self, bytes_per_second: float, clock: Clock, wait_ms: Callable[[int], None]) -> None:
        self._bytes_per_ms = bytes_per_second / 1000
        self._clock = clock
        self._wait_ms = wait_ms
        self._lock = threading.Lock()
        self._begin_ms = clock.monotonic_ms()
        self._bytes = 0

    def add(self, count: int) -> None:
        """Count bytes that were read or written, and wait if that was too fast."""
        with self._lock:
            self._bytes += count
            elapsed_ms = self._clock.monotonic_ms() - self._begin_ms
            if elapsed_ms <= PERIOD_MS:
                return
            if self._bytes > elapsed_ms * self._bytes_per_ms:
                self._wait_ms(round(self._bytes / self._bytes_per_ms - elapsed_ms))
            self._begin_ms, self._bytes = self._clock.monotonic_ms(), 0
