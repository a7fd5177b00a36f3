"""The options of streams: where one starts, how far it follows the log, how large a micro-batch is, and where progress
is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from octavo.errors import ConfigError
from octavo.spark.query.limits import Limit, stream_reads_to_high_watermark, stream_start
from octavo.spark.query.options import warn_of
from octavo.spark.query.values import Address, addresses, duration_ms, given, integer, positive, wait_ms

_MIN_OFFSETS, _MAX_OFFSETS = "minOffsetsPerTrigger", "maxOffsetsPerTrigger"


@dataclass(frozen=True, slots=True)
class Admission:
    """The most and the least that a micro-batch reads."""

    max_offsets: int | None = None
    max_bytes: int | None = None
    min_offsets: int | None = None
    max_trigger_delay_ms: int = 0

    @property
    def is_limited(self) -> bool:
        return self.max_offsets is not None or self.max_bytes is not None or self.min_offsets is not None


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Picklable. Built from a mapping whose names are case-insensitive."""

    start: Limit
    to_high_watermark: bool
    admission: Admission
    commit_group: str | None = None
    commit_servers: tuple[Address, ...] = ()
    lock_timeout_seconds: float = 0.0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        admission = Admission(
            given(integer, _MAX_OFFSETS, options),
            given(positive, "maxBytesPerTrigger", options),
            given(integer, _MIN_OFFSETS, options),
            duration_ms("maxTriggerDelay", options.get("maxTriggerDelay", "15m")),
        )
        return cls(
            stream_start(options),
            stream_reads_to_high_watermark(options),
            admission,
            _group(options),
            given(addresses, "commitServers", options) or (),
            wait_ms("lockTimeout", options.get("lockTimeout", "60s")) / 1000,
        )


def _group(options: Mapping[str, str]) -> str | None:
    group = options.get("commitGroup")
    if group is None and "commitServers" in options:
        raise ConfigError("commitServers is given without commitGroup, the group whose offsets are sent there")
    if group is not None and not group.strip():
        raise ConfigError("commitGroup is empty, expected the name of a group")
    return group


def warn_of_stream(options: Mapping[str, str]) -> None:
    """Warn about options that have no effect in a stream; endingOffsets is exempt, because it may name the high
    watermark."""
    warn_of({name: text for name, text in options.items() if name.lower() != "endingoffsets"}, "stream")


def check_trigger_limits(options: Mapping[str, str]) -> None:
    """Refuse two contradictory limits, even in a batch, as Spark's source does."""
    if _MIN_OFFSETS in options and _MAX_OFFSETS in options:
        least, most = integer(_MIN_OFFSETS, options[_MIN_OFFSETS]), integer(_MAX_OFFSETS, options[_MAX_OFFSETS])
        if least > most:
            raise ConfigError(
                f"The value of minOffsetPerTrigger({least}) is higher than the maxOffsetsPerTrigger({most})."
            )
