"""Formats times for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from octavo.kernels.layout import NO_TIMESTAMP

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(timestamp: int) -> str | None:
    """Milliseconds since 1970 as ISO 8601 in UTC, or the number if no date is that early or late; None for no time."""
    if timestamp == NO_TIMESTAMP:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03}Z"
