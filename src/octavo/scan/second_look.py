"""Second looks: on the disk of a running broker a file may be half written when it is first looked at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.scan.location import Entry

_PAUSE_SECONDS = 0.02
_RECENT_SECONDS = 60


def is_recent(entry: Entry) -> bool:
    """Whether somebody may be writing the file: it was changed within the last minute (or the clocks disagree)."""
    return time.time() - entry.mtime_ms / 1000 < _RECENT_SECONDS


def pause() -> None:
    """Let a writer go on."""
    time.sleep(_PAUSE_SECONDS)
