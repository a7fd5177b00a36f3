"""A rate over the last seconds, measured in windows as in Kafka, and how long to wait until it is within a limit."""

from __future__ import annotations

from collections import deque

from octavo.kernels.integers import INT32_MAX

_LONGEST_MS = INT32_MAX  # what fits into a response


class Rate:
    """Sums per window: `samples` windows of `window_ms`, of which the last one is not over yet."""

    def __init__(self, samples: int, window_ms: int) -> None:
        self._samples = samples
        self._window_ms = window_ms
        self._windows: deque[list[float]] = deque()  # start, last event, sum

    def add(self, value: float, now_ms: int) -> None:
        if not self._windows or now_ms - self._windows[-1][0] >= self._window_ms:
            self._windows.append([now_ms, now_ms, 0.0])
            if len(self._windows) > self._samples:
                self._windows.popleft()
        self._windows[-1][1] = now_ms
        self._windows[-1][2] += value

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long to wait until the rate per second is down to the limit; 0 if it is not above it."""
        while self._windows and now_ms - self._windows[0][1] >= self._samples * self._window_ms:
            self._windows.popleft()
        total = sum(window[2] for window in self._windows)
        elapsed_ms = now_ms - (self._windows[0][0] if self._windows else now_ms)
        # If the rate were measured over less time than all whole windows, a first large request would stop the client.
        missing = self._samples - 1 - elapsed_ms // self._window_ms
        elapsed_ms = max(elapsed_ms + max(missing, 0) * self._window_ms, self._window_ms)
        rate = total * 1000 / elapsed_ms
        return round(min((rate - limit) / limit * elapsed_ms, _LONGEST_MS)) if rate > limit else 0
