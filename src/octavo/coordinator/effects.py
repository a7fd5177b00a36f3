"""The time, which goes into the state machines of groups, and what comes out: records, replies and timers.

A machine is a function (state, event, now) → (state, effects) that changes nothing itself. `groups.driver` writes the
records first; if that fails, it keeps the old state. Then it adopts the new state, sets the timers and sends the
replies.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from octavo.format.messages.records import RecordType
from octavo.format.messages.schema import Row
from octavo.system.clock import Clock


class Moment(NamedTuple):
    """One moment, on both clocks."""

    monotonic_ms: int  # for timers
    time_ms: int  # for records

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        return cls(clock.monotonic_ms(), clock.time_ms())


class Write(NamedTuple):
    """A record for the internal topic; without a value it is a tombstone. All writes of one event form one batch."""

    kind: RecordType
    key: Row
    value: Row | None


class Reply(NamedTuple):
    """The answer to a request, which may have waited since an earlier event: `token` is what came with the request."""

    token: Hashable
    answer: Any


class SetTimer(NamedTuple):
    """Raise an event at a monotonic time in ms; this replaces an earlier timer of the same name."""

    name: Hashable
    at_ms: int


class CancelTimer(NamedTuple):
    """Drop a timer, if it is set."""

    name: Hashable


Effect = Write | Reply | SetTimer | CancelTimer


class Effects:
    """Collects what comes out of a machine while one event is handled."""

    def __init__(self, now: Moment) -> None:
        self.now = now
        self.effects: list[Effect] = []

    def reply(self, token: Hashable, answer: Row) -> None:
        self.effects.append(Reply(token, answer))

    def set_timer(self, timer: Hashable, delay_ms: int) -> None:
        self.effects.append(SetTimer(timer, self.now.monotonic_ms + delay_ms))

    def cancel_timer(self, timer: Hashable) -> None:
        self.effects.append(CancelTimer(timer))
