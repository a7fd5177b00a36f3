"""Second looks: on the disk of a running broker a file may be half written when it is first looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.clock import Clock, SystemClock

if TYPE_CHECKING:
    from octavo.scan.location import Entry

LOOKS = 5
_PAUSE_SECONDS = 0.02
_RECENT_MS = 60_000


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
