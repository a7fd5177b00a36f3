"""What a micro-batch reads between two offsets of the checkpoint, and what of it is not there any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from octavo.format.names import TopicPartition
from octavo.spark.query.values import Offsets, listed
from octavo.spark.source.data_loss import DataLoss
from octavo.spark.source.log_view import Partitions
from octavo.spark.source.offset_ranges import PartitionRange

# For a partition: how many bytes lie between two offsets, and up to which offset so many bytes reach.
Measure = Callable[[TopicPartition, int, int], int]
Reach = Callable[[TopicPartition, int, int, int], int]


def backlog(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """How many offsets there are to read."""
    return sum(max(end - starts.get(name, 0), 0) for name, end in ends.items())


def must_wait(new_offsets: int, min_offsets: int, since_last_ms: int, max_delay_ms: int) -> bool:
    """Whether to wait for more: too few offsets, and the longest delay is not over."""
    return new_offsets < min_offsets and since_last_ms < max_delay_ms


def limit_offsets(most: int, starts: Offsets, ends: Offsets) -> Offsets:
    """Share out a number of offsets in proportion to what each partition has; none that has some gets nothing."""
    sizes = {name: end - starts[name] for name, end in ends.items() if end > starts[name]}
    total = sum(sizes.values())
    limited = dict(ends)
    for name, size in sizes.items():
        share = most * size // total or min(most, 1)
        limited[name] = min(starts[name] + share, ends[name])
    return limited


def limit_bytes(most: int, starts: Offsets, ends: Offsets, measure: Measure, reach: Reach) -> Offsets:
    """Share out a number of bytes likewise. Each partition goes on by a batch at least, so that a large one passes."""
    sizes = {name: measure(name, starts[name], end) for name, end in ends.items() if end > starts[name]}
    total = sum(sizes.values())
    limited = dict(ends)
    if total > most:
        for name, size in sizes.items():
            limited[name] = reach(name, starts[name], ends[name], most * size // total)
    return limited


def ranges_between(starts: Offsets, ends: Offsets, partitions: Partitions, loss: DataLoss) -> Iterator[PartitionRange]:
    """The offsets of each partition that are there; the rest is reported. A new partition is read from its start.

    Only what a log's start or end says counts as lost: offsets without a record, which compaction and transactions
    leave, do not.
    """
    deleted = starts.keys() - ends.keys()
    if deleted:
        loss.report(f"Partitions {listed(deleted)} have been deleted.")
    gone = {name for name in ends.keys() - partitions.keys() if ends[name] != starts.get(name)}
    if gone:
        loss.report(f"Cannot find offsets for partitions {listed(gone)}. They may have been deleted.")
    for name in sorted(ends.keys() & partitions.keys()):
        view, end = partitions[name], ends[name]
        start = starts.get(name)
        if start is None:
            start = view.start
            if start != 0:
                loss.report(f"Added partition {listed([name])} starts from {start} instead of 0.")
        if end < start:
            loss.report(
                f"Partition {listed([name])} offset was changed from {start} to {end}. This could be either 1) a user"
                " error that the start offset is set beyond available offset when starting query, or 2) the kafka"
                " topic-partition is deleted and re-created."
            )
            continue
        if start < end and (start < view.start or view.end < end):
            loss.report(
                f"Could not read records in offset [{start}, {end}) for topic partition {listed([name])}, which has"
                f" [{view.start}, {view.end})."
            )
        yield PartitionRange(name, max(start, view.start), min(end, view.end))
