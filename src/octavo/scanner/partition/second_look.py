"""Second looks: on the disk of a running broker a file may be half written, or gone, when it is first looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.system.clock import Clock, SystemClock

if TYPE_CHECKING:
    from octavo.scanner.places.location import Entry

LOOKS = 5
_PAUSE_SECONDS = 0.02
_RECENT_MS = 60_000
_CHASE_SECONDS = 30.0


class Chase:
    """Whether to list a folder again whose files went away before they could be read.

    A cleaner that never rests renames and deletes for ever, and each time something else: that is followed up to a
    deadline. Where listings stay the same a file that cannot be opened is given up after some tries.
    """

    def __init__(self, seconds: float = _CHASE_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self.listings = 0
        self._now = now
        self._end = now() + seconds
        self._last: object = None
        self._same = 0

    def goes_on(self, listing: object) -> bool:
        """Whether to try what a new listing shows."""
        self.listings += 1
        self._same = self._same + 1 if listing == self._last else 0
        self._last = listing
        return self._same < LOOKS and self._now() < self._end


@dataclass(frozen=True, slots=True)
class Patience:
    """Whether a file may be being written, and how a writer is waited for. Picklable."""

    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep

    def is_recent(self, entry: Entry) -> bool:
        """Whether the file was changed within the last minute (or the clocks disagree)."""
        return self.clock.time_ms() - entry.mtime_ms < _RECENT_MS

    def pause(self) -> None:
        """Let a writer go on."""
        self.sleep(_PAUSE_SECONDS)
