"""Turns limits into offsets: where a query starts and ends in each existing partition."""

from __future__ import annotations

from octavo.errors import ConfigError, ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import ScanFindings
from octavo.scanner.lookup.lookup import NOT_FOUND, find_timestamp
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying
from octavo.spark.query.limits import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Limit,
    NamedLimit,
)
from octavo.spark.query.source_options import OnNoMatch
from octavo.spark.query.values import PartitionOffsets, listed
from octavo.spark.source.log_view import Snapshots, committed_end


def log_ends(partitions: Snapshots) -> PartitionOffsets:
    """Where each partition ends now."""
    return {topic_partition: found.readable_end for topic_partition, found in partitions.items()}


def starts(
    limit: Limit, partitions: Snapshots, on_no_match: OnNoMatch, latest: PartitionOffsets, findings: ScanFindings
) -> PartitionOffsets:
    """The first offset of each partition. `latest` has the offsets that the limit "latest" stands for; with the
    `on_no_match` of that name, a query also starts there if no record reaches the time."""
    if not isinstance(limit, AtTimestamp | AtTimestamps):
        return _at_offsets(limit, partitions, latest, "start")
    offsets = {}
    for topic_partition, (snapshot, timestamp) in _timestamps(limit, partitions, "start").items():
        offset = _offset_at(snapshot, timestamp, findings)
        if offset == NOT_FOUND and on_no_match == "error":
            raise ConfigError(
                f"No offset matched from request of topic-partition {topic_partition} and timestamp {timestamp}."
            )
        offsets[topic_partition] = latest[topic_partition] if offset == NOT_FOUND else offset
    return offsets


def ends(limit: Limit, partitions: Snapshots, findings: ScanFindings) -> PartitionOffsets:
    """The end offset (exclusive) of each partition. A time that no record reaches does not limit it."""
    if isinstance(limit, AtTimestamp | AtTimestamps):
        offsets = {}
        for topic_partition, (snapshot, timestamp) in _timestamps(limit, partitions, "end").items():
            offset = _offset_at(snapshot, timestamp, findings)
            offsets[topic_partition] = snapshot.readable_end if offset == NOT_FOUND else offset
        return offsets
    return _at_offsets(limit, partitions, log_ends(partitions), "end")


def _timestamps(
    limit: AtTimestamp | AtTimestamps, partitions: Snapshots, side: str
) -> dict[TopicPartition, tuple[PartitionSnapshot, int]]:
    if isinstance(limit, AtTimestamp):
        return {topic_partition: (found, limit.timestamp) for topic_partition, found in partitions.items()}
    _check_assigned(limit.timestamps, partitions, f"timestamp based {side}")
    return {
        topic_partition: (found, limit.timestamps[topic_partition]) for topic_partition, found in partitions.items()
    }


def _offset_at(snapshot: PartitionSnapshot, timestamp: int, findings: ScanFindings) -> int:
    """What a broker would answer. If files disappeared, the partition is listed again."""
    end = snapshot.readable_end
    result = retrying(
        snapshot.files,
        lambda files: find_timestamp(snapshot if files is snapshot.files else look_at(files), timestamp, end),
    )
    findings.take(result.notes)
    return result.offset


def _at_offsets(
    limit: NamedLimit | AtOffsets, partitions: Snapshots, latest: PartitionOffsets, side: str
) -> PartitionOffsets:
    if limit is NamedLimit.EARLIEST:
        return {topic_partition: found.log_start_offset for topic_partition, found in partitions.items()}
    if limit is NamedLimit.LATEST:
        return latest
    if limit is NamedLimit.HIGH_WATERMARK:
        return {topic_partition: _high_watermark(found) for topic_partition, found in partitions.items()}
    assert isinstance(limit, AtOffsets)
    _check_assigned(limit.offsets, partitions, side)
    offsets = {}
    for topic_partition, offset in limit.offsets.items():
        special = {
            EARLIEST_OFFSET: partitions[topic_partition].log_start_offset,
            LATEST_OFFSET: latest[topic_partition],
        }
        offsets[topic_partition] = special.get(offset, offset)
    return offsets


def _check_assigned(specified: PartitionOffsets, partitions: Snapshots, kind: str) -> None:
    if specified.keys() != partitions.keys():
        hint = {"start": " Use -1 for latest, -2 for earliest, if you don't care.", "end": " Use -1 for latest."}
        raise ConfigError(
            f"Partitions specified for Kafka {kind} offsets don't match what are assigned. Maybe topic partitions are"
            " created or deleted while the query is running, or you didn't specify all the partitions."
            f"{hint.get(kind, '')} Specified: {listed(specified)} Assigned: {listed(partitions)}"
        )


def _high_watermark(snapshot: PartitionSnapshot) -> int:
    if snapshot.high_watermark is None:
        problem = "replication-offset-checkpoint does not name this partition"
        raise ScanError(f"{snapshot.files.location}: {problem}; give latest or offsets instead of highWatermark")
    return committed_end(snapshot)
