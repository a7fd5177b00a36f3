"""How many bytes of batches are appended at once by those who have many of them ready."""

from __future__ import annotations

from octavo.config import LogConfig

# Half of it costs more calls, twice as much leaves the CPU's cache and takes twice the time (measured).
_MOST = 2 << 20
_SETS_A_SEGMENT = 16


def set_bytes(config: LogConfig) -> int:
    """The most that a set has, unless it is one batch. It goes into one segment, which ends up to a set too early."""
    return min(_MOST, max(config.segment_bytes // _SETS_A_SEGMENT, 1))
