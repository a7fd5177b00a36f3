"""The lines of a worker, read from its pipe."""

from __future__ import annotations

import json
import os
import select
from multiprocessing.connection import Connection

from tests.attack.isolation import Died
from tests.attack.journal import Line

PATIENCE_SECONDS = 60


class Lines:
    """Reads a pipe; `all` has the whole lines received."""

    def __init__(self, receiving: Connection) -> None:
        self._descriptor = receiving.fileno()
        self._data = bytearray()

    @property
    def all(self) -> list[Line]:
        return [json.loads(line) for line in self._data.split(b"\n")[:-1]]

    def wait_for(self, count: int) -> None:
        """Wait until this many lines have come after the directory was opened; with 0, until it is being opened."""
        while not self._data or (count and (b'"opened"' not in self._data or self._data.count(b"\n") < count + 2)):
            if not self._take(PATIENCE_SECONDS):
                raise Died(f"the worker ended or hangs: {self._data[-3000:].decode()}")

    def take_what_is_there(self) -> None:
        """Read everything written so far, or up to the end of a killed process."""
        while self._take(0):
            pass

    def _take(self, seconds: float) -> bool:
        waiting = select.poll()  # select() accepts no descriptor above 1023, and a test run may have that many
        waiting.register(self._descriptor, select.POLLIN)
        more = os.read(self._descriptor, 1 << 16) if waiting.poll(seconds * 1000) else b""
        self._data += more
        return bool(more)
