"""The time as the machines of coordinators see it."""

from __future__ import annotations

from typing import NamedTuple

from octavo.system.clock import Clock


class Moment(NamedTuple):
    """The same moment on both clocks."""

    monotonic_ms: int  # for timers
    time_ms: int  # for records

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        return cls(clock.monotonic_ms(), clock.time_ms())
