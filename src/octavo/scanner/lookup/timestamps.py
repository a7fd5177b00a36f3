"""Timestamps as people give them: milliseconds since 1970, ISO 8601 text, a date or a datetime."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from octavo.errors import ScanError

Timestamp = int | str | date  # a datetime is one

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_milliseconds(timestamp: Timestamp) -> int:
    """The milliseconds since 1970. A time without a zone is UTC, as records have it; a date is its midnight."""
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        text = timestamp.strip()
        if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
            return int(text)
        try:
            timestamp = datetime.fromisoformat(text)
        except ValueError:
            raise ScanError(
                f"timestamp {text!r}, expected milliseconds or ISO 8601 such as 2026-11-01T12:00Z"
            ) from None
    if isinstance(timestamp, date) and not isinstance(timestamp, datetime):
        timestamp = datetime.combine(timestamp, time())
    if not isinstance(timestamp, datetime):
        expected = "milliseconds as an integer, ISO 8601 text, a date or a datetime"
        raise ScanError(f"timestamp {timestamp!r}, expected {expected}")
    zoned = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(milliseconds=1)
