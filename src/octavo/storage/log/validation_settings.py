"""The topic configs that the validation of appends uses, in a form ready for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from octavo.config import LogConfig
from octavo.format.compression import CODECS, Codec
from octavo.format.record import TimestampType

_CODECS_BY_NAME = {row.name: row for row in CODECS.values()} | {"uncompressed": CODECS[Codec.NONE]}
_TIMESTAMP_TYPES = {str(kind): kind for kind in (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSettings:
    """Built once per config change, not per append."""

    timestamp_type: TimestampType
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    codec: Codec | None  # None: each batch keeps its producer's codec
    level: int | None  # of the codec; None: its default
    keeps_plain: bool  # uncompressed batches stay uncompressed, with their producer's timestamps
    is_compacted: bool
    max_message_bytes: int

    def takes_times(self, oldest: int, latest: int, now_ms: int) -> bool:
        """Whether all timestamps from the oldest to the latest are surely within the limits; -1 means no timestamp."""
        if self.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return True
        return now_ms - oldest <= self.timestamp_before_max_ms and latest - now_ms <= self.timestamp_after_max_ms

    @classmethod
    def of(cls, config: LogConfig) -> Self:
        codec, level = None, None
        if config.compression_type != "producer":
            row = _CODECS_BY_NAME[config.compression_type]
            codec = row.codec
            level = getattr(config, row.level_config.replace(".", "_")) if row.level_config else None
        timestamp_type = _TIMESTAMP_TYPES[config.message_timestamp_type]
        return cls(
            timestamp_type=timestamp_type,
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms,
            codec=codec,
            level=level,
            keeps_plain=codec in (None, Codec.NONE) and timestamp_type is TimestampType.CREATE_TIME,
            is_compacted="compact" in config.cleanup_policy,
            max_message_bytes=config.max_message_bytes,
        )
