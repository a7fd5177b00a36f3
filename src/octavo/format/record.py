"""One record as a Python value, and Kafka's kinds of timestamps."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from octavo.kernels import layout


class SpecialTimestamp(IntEnum):
    """The special values that ListOffsets accepts instead of a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class TimestampType(IntEnum):
    """Which clock a timestamp comes from. Values are Kafka's ids; `str` gives what its tools print."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    @classmethod
    def of(cls, magic: int, attributes: int) -> TimestampType:
        """The type that these attributes of a batch or message indicate."""
        if magic == 0:
            return cls.NO_TIMESTAMP_TYPE
        return cls.LOG_APPEND_TIME if attributes & layout.LOG_APPEND_TIME else cls.CREATE_TIME

    def __str__(self) -> str:
        return _SHOWN[self]

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


_SHOWN = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


class Header(NamedTuple):
    """A record header. A key that is not UTF-8 keeps its bytes as surrogate escapes."""

    key: str
    value: bytes | None


class Record(NamedTuple):
    """Offset and timestamp are absolute. None means null, which is not the same as empty."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
