"""What a micro-batch reads between two offsets of the checkpoint, and what of it is not there any more."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.spark.query.values import Offsets, listed
from octavo.spark.source.data_loss import DataLoss
from octavo.spark.source.log_view import Partitions
from octavo.spark.source.offset_ranges import PartitionRange


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
