"""The last requests that a broker got."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from octavo.system.clock import Clock

_MOST_REQUESTS = 1000


class JournalEntry(NamedTuple):
    """A request, and the fault that hit it, if any."""

    time_ms: int
    api: str
    version: int
    client_id: str
    fault: str | None = None

    def __str__(self) -> str:
        fault = f"  <- {self.fault}" if self.fault else ""
        return f"{self.api} v{self.version} from {self.client_id or 'a client without an id'}{fault}"


class Journal:
    """The newest request is last. Written on the loop's thread, read on any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: deque[JournalEntry] = deque(maxlen=_MOST_REQUESTS)

    def note(self, api: str, version: int, client_id: str, fault: str | None) -> None:
        self._entries.append(JournalEntry(self._clock.time_ms(), api, version, client_id, fault))

    @property
    def entries(self) -> list[JournalEntry]:
        return list(self._entries)

    def last(self, count: int) -> str:
        """The last requests as text; equal requests in a row become one line with their count."""
        lines: list[tuple[str, int]] = []
        for entry in self.entries[-count:]:
            if lines and lines[-1][0] == str(entry):
                lines[-1] = (str(entry), lines[-1][1] + 1)
            else:
                lines.append((str(entry), 1))
        return "\n".join(f"{text}{f' ({times} times)' if times > 1 else ''}" for text, times in lines)
