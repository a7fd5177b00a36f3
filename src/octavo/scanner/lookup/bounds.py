"""Determines the offsets to read from a partition: the request, limited to what exists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from numbers import Integral
from typing import Literal, NamedTuple, get_args

from octavo.errors import ScanError, nearest, no_such_partition, no_such_topic
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note
from octavo.scanner.lookup.times import first_offset_from
from octavo.scanner.partition.snapshot import PartitionSnapshot

OffsetName = Literal["earliest", "latest", "highWatermark"]
_NAMES = get_args(OffsetName)


class FromEnd(NamedTuple):
    """This many offsets before the end, but not before the start."""

    offsets: int


Offset = int | OffsetName | FromEnd
Timestamp = int | str | date  # a datetime is a date
Offsets = Offset | Mapping[TopicPartition, Offset] | Mapping[tuple[str, int], Offset]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The requested limits: the later of two starts and the earlier of two ends count. Ends are exclusive.

    A time stands for the offset of the first record of that time or later. Records after that one may still be older.
    """

    from_offset: Offsets = "earliest"
    to_offset: Offsets = "latest"
    from_timestamp: int | None = None
    to_timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets to read, end exclusive; empty unless `start` is below `end`."""

    start: int
    end: int
    notes: tuple[Note, ...] = ()
    is_beyond: bool = False  # the requested start is beyond the log's end


def resolve(bounds: Bounds, snapshot: PartitionSnapshot) -> OffsetRange:
    """The offsets to read from one partition."""
    limit = snapshot.readable_end
    asked = _asked(bounds.from_offset, snapshot, "earliest")
    start = max(asked, snapshot.log_start_offset)
    end = min(_asked(bounds.to_offset, snapshot, "latest"), limit)
    notes: list[Note] = []
    if bounds.from_timestamp is not None:
        found = first_offset_from(snapshot, bounds.from_timestamp, notes)
        start = max(start, limit if found is None else found)
    if bounds.to_timestamp is not None and start < end:
        found = first_offset_from(snapshot, bounds.to_timestamp, [])  # the reader will report the same damage
        end = end if found is None else min(end, found)
    if asked < snapshot.log_start_offset:
        sentence = f"offset {asked} is below the log start offset; reading from {snapshot.log_start_offset} on"
        notes.append(Note(str(snapshot.files.location), sentence))
    elif asked > snapshot.log_end_offset:
        sentence = f"offset {asked} is beyond the log's end, {snapshot.log_end_offset}; nothing to read"
        notes.append(Note(str(snapshot.files.location), sentence))
    return OffsetRange(start, end, tuple(notes), asked > snapshot.log_end_offset)


def check_keys(argument: str, offsets: Offsets, there: Collection[TopicPartition], place: str) -> list[TopicPartition]:
    """The partitions that a mapping of offsets names; raises ScanError unless they are pairs and exist."""
    named = []
    for key in offsets if isinstance(offsets, Mapping) else ():
        if not _is_pair(key):
            topic, partition = _meant(key, there)
            example = f"{{({topic!r}, {partition}): 5}}"
            problem = f"{argument}: {key!r} is not a partition"
            raise ScanError(f"{problem}; give pairs of topic and number, such as {example}")
        topic, partition = key
        numbers = [other.partition for other in there if other.topic == topic]
        if not numbers:
            raise ScanError(f"{place}: {argument}: {no_such_topic(topic, {other.topic for other in there})}")
        if partition not in numbers:
            raise ScanError(f"{place}: {argument}: {no_such_partition(topic, partition, numbers)}")
        named.append(TopicPartition(topic, partition))
    return named


def check_offsets(offsets: Offsets) -> None:
    """Raise ScanError for anything that is neither an offset nor the name of one."""
    for offset in offsets.values() if isinstance(offsets, Mapping) else (offsets,):
        if isinstance(offset, int) and offset < 0:
            raise ScanError(f"offset {offset} is below 0; give 0 or more, earliest, latest or highWatermark")
        if not isinstance(offset, int | FromEnd) and offset not in _NAMES:
            raise ScanError(f"unknown offset {offset!r}; give a number, earliest, latest or highWatermark")


def _is_pair(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str) and isinstance(key[1], Integral)


def _meant(key: object, there: Collection[TopicPartition]) -> TopicPartition:
    """The partition that a wrong key may stand for, as an example of a right one: `orders-0`, `orders`, or else any."""
    text = str(key[0] if isinstance(key, tuple) and key else key)
    ordered = sorted(there, key=lambda partition: (partition.topic.startswith("__"), partition), reverse=True)
    spellings = {name: partition for partition in ordered for name in (str(partition), partition.topic)}
    near = nearest(text, spellings)
    return spellings[near[0]] if near else next(reversed(ordered), TopicPartition("orders", 0))


def _asked(offsets: Offsets, snapshot: PartitionSnapshot, otherwise: Offset) -> int:
    offset = offsets.get(snapshot.files.topic_partition, otherwise) if isinstance(offsets, Mapping) else offsets
    check_offsets(offset)
    if isinstance(offset, int):
        return offset
    if isinstance(offset, FromEnd):
        return max(snapshot.readable_end - offset.offsets, snapshot.log_start_offset)
    if offset == "earliest":
        return snapshot.log_start_offset
    if offset == "latest":
        return snapshot.readable_end
    if snapshot.high_watermark is None:
        problem = "replication-offset-checkpoint does not name this partition"
        raise ScanError(f"{snapshot.files.location}: {problem}; give latest or a number instead of highWatermark")
    return snapshot.high_watermark


def to_milliseconds(timestamp: Timestamp) -> int:
    """Milliseconds since 1970. A time without a zone is UTC, as in records; a date means its midnight."""
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
