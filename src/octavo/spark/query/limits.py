"""Where a query starts and where a batch ends, according to the options; no log is read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from octavo.errors import ConfigError
from octavo.spark.query.values import PartitionOffsets, integer, listed, offsets, timestamps

# Special numbers instead of an offset, as in Spark's Kafka source.
LATEST_OFFSET = -1
EARLIEST_OFFSET = -2


class NamedLimit(StrEnum):
    """A limit given by name, in upper or lower case."""

    EARLIEST = "earliest"
    LATEST = "latest"
    HIGH_WATERMARK = "highWatermark"


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset for each partition; −1 is latest, −2 earliest."""

    offsets: PartitionOffsets


@dataclass(frozen=True, slots=True)
class AtTimestamps:
    """The first record from a time on, for each partition."""

    timestamps: PartitionOffsets


@dataclass(frozen=True, slots=True)
class AtTimestamp:
    """The first record from a time on, in every partition."""

    timestamp: int


Limit = NamedLimit | AtOffsets | AtTimestamps | AtTimestamp


def limit_of(options: Mapping[str, str], side: str, otherwise: NamedLimit) -> Limit:
    """The limit of one side, `starting` or `ending`: one timestamp for all, else timestamps, else offsets."""
    if f"{side}Timestamp" in options:
        text = options[f"{side}Timestamp"].strip()
        try:
            return AtTimestamp(integer(f"{side}Timestamp", text))
        except ConfigError:
            raise ConfigError(f"{side}Timestamp: Expected a single long value, got {text}") from None
    if f"{side}OffsetsByTimestamp" in options:
        name = f"{side}OffsetsByTimestamp"
        return AtTimestamps(timestamps(name, options[name].strip()))
    text = options.get(f"{side}Offsets", otherwise).strip()
    for limit in NamedLimit:
        if text.lower() == limit.lower():
            return limit
    return AtOffsets(offsets(f"{side}Offsets", text, NamedLimit))


def batch_limits(options: Mapping[str, str]) -> tuple[Limit, Limit]:
    """The start and end of a batch, which cannot start at latest or end at earliest."""
    start = limit_of(options, "starting", NamedLimit.EARLIEST)
    if start is NamedLimit.LATEST or start is NamedLimit.HIGH_WATERMARK:
        raise ConfigError(f"starting offset can't be {start} for batch queries on Kafka")
    _refuse_offset(start, LATEST_OFFSET, "startingOffsets", "latest")
    end = limit_of(options, "ending", NamedLimit.LATEST)
    if end is NamedLimit.EARLIEST:
        raise ConfigError("ending offset can't be earliest for batch queries on Kafka")
    _refuse_offset(end, EARLIEST_OFFSET, "ending offset", "earliest")
    _check_pair(start, end)
    return start, end


def stream_start(options: Mapping[str, str]) -> Limit:
    """Where a new stream starts."""
    start = limit_of(options, "starting", NamedLimit.LATEST)
    if start is NamedLimit.HIGH_WATERMARK:
        raise ConfigError("startingOffsets: expected earliest, latest or offsets, got highWatermark")
    return start


def stream_reads_to_high_watermark(options: Mapping[str, str]) -> bool:
    """Whether a stream stays below the high watermark, the only end that an option can give it."""
    if "endingOffsetsByTimestamp" in options:
        raise ConfigError("ending timestamp not valid in streaming queries")
    text = options.get("endingOffsets")
    if text is not None and text.strip().lower() != NamedLimit.HIGH_WATERMARK.lower():
        raise ConfigError("ending offset not valid in streaming queries (but highWatermark is)")
    return text is not None


def _refuse_offset(limit: Limit, refused: int, side: str, name: str) -> None:
    for topic_partition, offset in limit.offsets.items() if isinstance(limit, AtOffsets) else ():
        if offset == refused:
            raise ConfigError(f"{side} for {listed([topic_partition])} can't be {name} for batch queries on Kafka")


def _check_pair(start: Limit, end: Limit) -> None:
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _check_each(start.offsets, end.offsets, "offset")
    elif isinstance(start, AtTimestamps) and isinstance(end, AtTimestamps):
        _check_each(start.timestamps, end.timestamps, "timestamp")


def _check_each(starts: PartitionOffsets, ends: PartitionOffsets, kind: str) -> None:
    if starts.keys() != ends.keys():
        raise ConfigError(
            "The specified start offset and end offset should have the same topic-partitions. Topic-partitions for"
            f" start offset: {listed(starts)}, topic-partitions for end offset: {listed(ends)}."
        )
    for topic_partition, first in starts.items():
        if first > ends[topic_partition] and first >= 0 and ends[topic_partition] >= 0:
            raise ConfigError(
                f"The specified start {kind} {first} is greater than the end {kind} {ends[topic_partition]} for topic"
                f" {topic_partition.topic} partition {topic_partition.partition}."
            )
