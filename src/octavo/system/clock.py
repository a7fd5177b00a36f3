"""The clock, injected wherever time matters, so that tests can set it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The time of day, and a time that never goes backwards."""

    def time_ms(self) -> int:
        """Milliseconds since 1970-01-01 UTC. It may jump, even backwards, when somebody sets the machine's clock."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some fixed moment, to measure durations: it never goes backwards."""
        ...


class SystemClock:
    """The machine's clock."""

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def time_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def advance(self, by_ms: int) -> None:
        self.now_ms += by_ms


class ShiftedClock(SystemClock):
    """The machine's clock, plus all that it was advanced by."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def time_ms(self) -> int:
        return super().time_ms() + self.ahead_ms

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.ahead_ms

    def advance(self, by_ms: int) -> None:
        self.ahead_ms += by_ms


def end_of(timeout_ms: float) -> float | None:
    """When a timeout that begins now ends, by `time.monotonic`; None if it is negative: it never ends."""
    return None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
