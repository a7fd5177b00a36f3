"""An answer that a coordinator gives on any thread, perhaps much later, and that is sent on the loop's thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from octavo.broker.request import Answer
from octavo.format.messages.schema import Row


class CoordinatorReply:
    """Pass it to the coordinator as the callback, then return `answer`: the row if it has come, otherwise a `Waiting`.

    `convert` turns the coordinator's row into the row that is sent.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, convert: Callable[[Row], Row] | None = None) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._convert = convert
        self._row: Row | None = None
        self._send: Callable[[Row], None] | None = None
        self._is_cancelled = False

    def __call__(self, row: Row) -> None:
        """Receive the answer; called once, on any thread."""
        if threading.get_ident() != self._thread:
            with suppress(RuntimeError):  # the broker was closed in the meantime
                self._loop.call_soon_threadsafe(self._take, row)
        elif self._send is None:
            self._take(row)
        else:  # another client's request has led to this answer: that request is answered first
            self._loop.call_soon(self._take, row)

    @property
    def answer(self) -> Answer:
        return self if self._row is None else self._row

    def start(self, answer: Callable[[Row], None]) -> None:
        self._send = answer
        if self._row is not None:
            answer(self._row)

    def cancel(self) -> None:
        self._is_cancelled = True

    def _take(self, row: Row) -> None:
        if self._is_cancelled:
            return
        row = row if self._convert is None else self._convert(row)
        if self._send is None:
            self._row = row
        else:
            self._send(row)
