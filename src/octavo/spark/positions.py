"""Limits to offsets: where a query starts and ends in each partition that is there."""

from __future__ import annotations

from octavo.errors import ConfigError, ScanError
from octavo.format.names import TopicPartition
from octavo.scan.lookup import NOT_FOUND, find_timestamp
from octavo.scan.partition import look_at, retrying
from octavo.spark.limits import EARLIEST_OFFSET, LATEST_OFFSET, AtOffsets, AtTimestamp, AtTimestamps, Limit, Named
from octavo.spark.log_view import Partitions, PartitionView
from octavo.spark.source_options import OnNoMatch
from octavo.spark.values import Offsets, listed


def starts(limit: Limit, partitions: Partitions, on_no_match: OnNoMatch) -> Offsets:
    """The first offset of each partition."""
    if isinstance(limit, AtTimestamp | AtTimestamps):
        return {
            name: _start_at(name, view, timestamp, on_no_match)
            for name, (view, timestamp) in _timestamps(limit, partitions, "start").items()
        }
    return _at_offsets(limit, partitions)


def ends(limit: Limit, partitions: Partitions) -> Offsets:
    """The offset behind the last one of each partition. A time that no record reaches is no limit."""
    if isinstance(limit, AtTimestamp | AtTimestamps):
        found = {}
        for name, (view, timestamp) in _timestamps(limit, partitions, "end").items():
            offset = _offset_at(view, timestamp)
            found[name] = view.end if offset == NOT_FOUND else offset
        return found
    return _at_offsets(limit, partitions)


def _timestamps(
    limit: AtTimestamp | AtTimestamps, partitions: Partitions, side: str
) -> dict[TopicPartition, tuple[PartitionView, int]]:
    if isinstance(limit, AtTimestamp):
        return {name: (view, limit.timestamp) for name, view in partitions.items()}
    if limit.timestamps.keys() != partitions.keys():
        raise ConfigError(
            f"Partitions specified for Kafka timestamp based {side} offsets don't match what are assigned. Maybe topic"
            " partitions are created or deleted while the query is running, or you didn't specify all the partitions."
            f" Specified: {listed(limit.timestamps)} Assigned: {listed(partitions)}"
        )
    return {name: (view, limit.timestamps[name]) for name, view in partitions.items()}


def _start_at(name: TopicPartition, view: PartitionView, timestamp: int, on_no_match: OnNoMatch) -> int:
    offset = _offset_at(view, timestamp)
    if offset != NOT_FOUND:
        return offset
    if on_no_match == "latest":
        return view.end
    raise ConfigError(f"No offset matched from request of topic-partition {listed([name])} and timestamp {timestamp}.")


def _offset_at(view: PartitionView, timestamp: int) -> int:
    """What a broker would answer; files that went away since are looked for in a new listing."""
    listed_first = view.snapshot.files
    return retrying(
        listed_first,
        lambda files: (
            find_timestamp(view.snapshot if files is listed_first else look_at(files), timestamp, view.end).offset
        ),
    )


def _at_offsets(limit: Named | AtOffsets, partitions: Partitions) -> Offsets:
    if limit is Named.EARLIEST:
        return {name: view.start for name, view in partitions.items()}
    if limit is Named.LATEST:
        return {name: view.end for name, view in partitions.items()}
    if limit is Named.HIGH_WATERMARK:
        return {name: _high_watermark(view) for name, view in partitions.items()}
    assert isinstance(limit, AtOffsets)
    if limit.offsets.keys() != partitions.keys():
        raise ConfigError(
            "If startingOffsets contains specific offsets, you must specify all TopicPartitions. Use -1 for latest, -2"
            f" for earliest, if you don't care. Specified: {listed(limit.offsets)} Assigned: {listed(partitions)}"
        )
    special = {EARLIEST_OFFSET: lambda view: view.start, LATEST_OFFSET: lambda view: view.end}
    return {
        name: special[offset](partitions[name]) if offset in special else offset
        for name, offset in limit.offsets.items()
    }


def _high_watermark(view: PartitionView) -> int:
    if view.snapshot.high_watermark is None:
        place = view.snapshot.files.location
        raise ScanError(f"{place}: replication-offset-checkpoint does not name this partition")
    return view.committed_end
