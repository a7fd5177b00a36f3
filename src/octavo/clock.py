"""The clock, injected wherever the time of day decides something, so that tests set it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Milliseconds since 1970-01-01 UTC."""

    def time_ms(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def time_ms(self) -> int:
        return self.now_ms

    def advance(self, by_ms: int) -> None:
        self.now_ms += by_ms
