"""The broker's clock, which a test can advance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from octavo.system.clock import ShiftedClock
from octavo.system.scheduler import ThreadScheduler

_STEPS = 16


class BrokerClock:
    """Shows the machine's time, plus all that it was advanced by.

    Clients keep the machine's time: a record that a client stamps after `advance(days=8)` is eight days old for the
    broker, unless the topic has `message.timestamp.type=LogAppendTime`.
    """

    def __init__(self, clock: ShiftedClock, scheduler: ThreadScheduler, run_timers: Callable[[], None]) -> None:
        self._clock = clock
        self._scheduler = scheduler
        self._run_timers = run_timers

    def now(self) -> datetime:
        """The broker's time, in UTC."""
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)

    def now_ms(self) -> int:
        """The broker's time in milliseconds since 1970, like the timestamps of records."""
        return self._clock.time_ms()

    def advance(
        self,
        by: timedelta | None = None,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> None:
        """Let time pass. When this returns, the broker has done what has come due.

            kafka.clock.advance(days=8)

        That includes retention, the cleaner, expired sessions and transactions, long polls: whatever waits for the
        broker's clock. Time passes in a few steps, so that one event can lead to the next; periods that pass within
        a step count as one. Consumers whose session timeout passes lose their place in their group, and join again.
        """
        given = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        total_ms = round(((by or timedelta()) + given) / timedelta(milliseconds=1))
        if total_ms < 0:
            raise ValueError(f"time cannot go back by {-total_ms} ms: a broker's clock only advances")
        passed_ms = 0
        for step in range(1, _STEPS + 1):
            now_ms = total_ms * step**2 // _STEPS**2  # short steps first, since much is due after a few seconds
            self._clock.advance(now_ms - passed_ms)
            passed_ms = now_ms
            self._scheduler.run_due()
            self._run_timers()
