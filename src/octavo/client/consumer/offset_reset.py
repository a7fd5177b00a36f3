"""Where a consumer begins that has no offset to begin with: auto.offset.reset."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from octavo.errors import NoOffsetForPartitionError
from octavo.format.names import TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog

_BY_DURATION = "by_duration:"
# Java's Duration: days, hours, minutes, seconds with a fraction.
_DURATION = re.compile(
    r"\+?P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{1,9})?)S)?)?", re.IGNORECASE | re.ASCII
)
_UNITS_MS = (86_400_000, 3_600_000, 60_000)


class OffsetReset(NamedTuple):
    """One of earliest, latest, none, by_duration; the last has how long ago."""

    kind: str
    duration_ms: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What a config's text means; None if nothing."""
        if text in ("earliest", "latest", "none"):
            return cls(text)
        if not text.startswith(_BY_DURATION):
            return None
        found = _DURATION.fullmatch(text[len(_BY_DURATION) :])
        if found is None or not any(found.groups()):
            return None
        *whole, seconds = found.groups()
        duration_ms = sum(int(count or 0) * unit for count, unit in zip(whole, _UNITS_MS, strict=True))
        return cls("by_duration", duration_ms + int(float((seconds or "0").replace(",", ".")) * 1000))

    def offset(self, name: TopicPartition, log: PartitionLog, isolation: Isolation, now_ms: int) -> int | None:
        """The offset to begin with; None where no record is young enough yet. NoOffsetForPartitionError for none."""
        match self.kind:
            case "earliest":
                return log.log_start_offset
            case "latest":
                return log.offset_for_timestamp(SpecialTimestamp.LATEST, isolation).offset
            case "by_duration":
                found = log.offset_for_timestamp(max(now_ms - self.duration_ms, 0), isolation).offset
                return None if found < 0 else found
        raise NoOffsetForPartitionError(f"{name}: no committed offset, and auto.offset.reset is none")
