"""Wakes a fetch that waits for a log to grow, whichever thread appended to it.

An append calls `Log.tell_watchers` once its batches are in the log; the `Watch` then calls back on the loop's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from contextlib import suppress

from octavo.storage.partition_log import PartitionLog


class Watch:
    """Calls back on the loop after some logs have changed, until `end`. Several changes may lead to a single call."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, logs: Collection[PartitionLog], on_change: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._logs = logs
        self._on_change = on_change
        self._is_called = self._is_over = False
        for log in logs:
            log.watch(self._changed)

    def end(self) -> None:
        for log in self._logs:
            log.unwatch(self._changed)
        self._is_over = True

    def _changed(self) -> None:
        if self._is_called:
            return
        self._is_called = True
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._call)
        else:
            with suppress(RuntimeError):  # the broker was closed in the meantime
                self._loop.call_soon_threadsafe(self._call)

    def _call(self) -> None:
        self._is_called = False
        if not self._is_over:
            self._on_change()
