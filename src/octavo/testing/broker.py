"""A broker whose loop follows a clock that tests advance, and whose answers can be made to fail."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Executor

from octavo.broker.broker import Broker
from octavo.broker.context import Context
from octavo.client.log_dir import LogDir
from octavo.system.clock import ShiftedClock
from octavo.testing.dispatch import FaultDispatcher
from octavo.testing.faults import Faults
from octavo.testing.journal import Journal


class ClockLoop(asyncio.SelectorEventLoop):
    """Its timers come due as time passes, and when the clock is advanced."""

    def __init__(self, clock: ShiftedClock) -> None:
        super().__init__()
        self._shifted = clock

    def time(self) -> float:
        return time.monotonic() + self._shifted.ahead_ms / 1000


class InstrumentedBroker(Broker):
    """Serves a LogDir whose environment has this clock."""

    def __init__(self, logs: LogDir, clock: ShiftedClock, *, listen: str) -> None:
        self._clock = clock
        self.faults = Faults(logs)
        self.journal = Journal(clock)
        super().__init__(logs, listen=listen)

    def make_loop(self) -> asyncio.AbstractEventLoop:
        return ClockLoop(self._clock)

    def make_dispatcher(self, context: Context, executor: Executor) -> FaultDispatcher:
        return FaultDispatcher(context, executor, self.faults, self.journal)

    def run_timers(self) -> None:
        """Run the loop's timers that are due now; returns when they have run."""
        for _ in range(2):  # what a timer runs may call something in the loop's next rounds
            self._call(lambda: None)

    def disconnect(self) -> None:
        """Close all connections; clients can connect again."""
        self._call(self._server.disconnect)
