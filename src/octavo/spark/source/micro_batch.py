"""How far a micro-batch goes, and what it reads: functions of offsets, without access to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from octavo.format.names import TopicPartition
from octavo.spark.query.values import PartitionOffsets, listed
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.log_view import Snapshots, range_within
from octavo.spark.source.offset_ranges import PartitionRange

# For a partition: how many bytes lie between two offsets, and the offset that a number of bytes reaches from a start.
Measure = Callable[[TopicPartition, int, int], int]
Reach = Callable[[TopicPartition, int, int, int], int]


def backlog(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """How many offsets there are to read."""
    return sum(max(end - starts.get(topic_partition, 0), 0) for topic_partition, end in ends.items())


def must_wait(new_offsets: int, min_offsets: int, since_last_ms: int, max_delay_ms: int) -> bool:
    """Whether to wait for more: there are too few offsets, and the longest delay is not over."""
    return new_offsets < min_offsets and since_last_ms < max_delay_ms


def limit_offsets(most: int, starts: PartitionOffsets, ends: PartitionOffsets) -> PartitionOffsets:
    """Divide a number of offsets, if there are more, in proportion to each partition's backlog; each partition with a
    backlog gets at least one (unless `most` is 0)."""
    sizes = {
        topic_partition: end - starts[topic_partition]
        for topic_partition, end in ends.items()
        if end > starts[topic_partition]
    }
    total = sum(sizes.values())
    limited = dict(ends)
    for topic_partition, size in sizes.items():
        share = most * size // total or min(most, 1)
        limited[topic_partition] = min(starts[topic_partition] + share, ends[topic_partition])
    return limited


def limit_bytes(
    most: int, starts: PartitionOffsets, ends: PartitionOffsets, measure: Measure, reach: Reach
) -> PartitionOffsets:
    """Divide a number of bytes in the same way. Each partition advances by at least one batch, however large."""
    sizes = {
        topic_partition: measure(topic_partition, starts[topic_partition], end)
        for topic_partition, end in ends.items()
        if end > starts[topic_partition]
    }
    total = sum(sizes.values())
    limited = dict(ends)
    if total > most:
        for topic_partition, size in sizes.items():
            limited[topic_partition] = reach(
                topic_partition, starts[topic_partition], ends[topic_partition], most * size // total
            )
    return limited


def ranges_between(
    starts: PartitionOffsets, ends: PartitionOffsets, partitions: Snapshots, findings: SourceFindings
) -> Iterator[PartitionRange]:
    """The existing offsets of each partition; the others are reported. A new partition is read from its start.

    Only offsets outside the log count as lost. Offsets without a record, as left by compaction and transactions, do
    not.
    """
    deleted = starts.keys() - ends.keys()
    if deleted:
        findings.lost(f"Partitions {listed(deleted)} have been deleted.")
    gone = {missing for missing in ends.keys() - partitions.keys() if ends[missing] != starts.get(missing)}
    if gone:
        findings.lost(f"Cannot find offsets for partitions {listed(gone)}. They may have been deleted.")
    for topic_partition in sorted(ends.keys() & partitions.keys()):
        snapshot, end = partitions[topic_partition], ends[topic_partition]
        start = starts.get(topic_partition)
        if start is None:
            start = snapshot.log_start_offset
            if start != 0:
                findings.lost(f"Added partition {topic_partition} starts from {start} instead of 0.")
        if end < start:
            findings.lost(
                f"Partition {topic_partition} offset was changed from {start} to {end}. This could be either 1) a user"
                " error that the start offset is set beyond available offset when starting query, or 2) the kafka"
                " topic-partition is deleted and re-created."
            )
            continue
        yield range_within(snapshot, start, end, findings)
