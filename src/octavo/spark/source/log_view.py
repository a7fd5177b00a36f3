"""The subscribed partitions of the log directories: where each begins and ends now."""

from __future__ import annotations

from functools import partial

from octavo.errors import ScanError
from octavo.format.names import LOG_START_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT, TopicPartition
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying, until_settled
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.root import Root
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.offset_ranges import PartitionRange

Snapshots = dict[TopicPartition, PartitionSnapshot]


def committed_end(snapshot: PartitionSnapshot) -> int:
    """The end for readers, or the checkpointed high watermark if that is lower; without a checkpoint nothing is
    committed."""
    high_watermark = snapshot.high_watermark
    return snapshot.log_start_offset if high_watermark is None else min(snapshot.readable_end, high_watermark)


def range_within(snapshot: PartitionSnapshot, start: int, end: int, findings: SourceFindings) -> PartitionRange:
    """The offsets of a range that exist; the others are reported as lost."""
    topic_partition = snapshot.files.topic_partition
    first, last = snapshot.log_start_offset, snapshot.readable_end
    if start < end and (start < first or last < end):
        findings.lost(
            f"Could not read records in offset [{start}, {end}) for topic partition {topic_partition}, which has"
            f" [{first}, {last})."
        )
    return PartitionRange(topic_partition, max(start, first), min(end, last))


class LogView:
    """Looks at the partitions that the options subscribe to, without a lock and without keeping files open.

    A partition whose files have not changed is not read again, because a stream asks many times a second.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._findings = SourceFindings(options)
        self._known: Snapshots = {}

    def look(self, *, check_topics: bool = False) -> Snapshots:
        """The partitions that exist now. With `check_topics`, raises if a named topic does not exist."""
        return until_settled(lambda again: self._look_once(check_topics))

    def _look_once(self, check_topics: bool) -> tuple[Snapshots, list[Root]]:
        subscription = self._options.subscription
        log_dirs = open_log_dirs(self._options.paths, subscription.wants)
        if check_topics:
            subscription.check(log_dirs.topics(), log_dirs.shown())
        for topic_partition, error in log_dirs.unreadable().items():
            if subscription.wants(topic_partition):
                self._findings.unreadable(topic_partition, error)
        looked = {
            topic_partition: self._snapshot(files)
            for topic_partition, files in log_dirs.partitions.items()
            if subscription.wants(topic_partition)
        }
        self._known = {topic_partition: found for topic_partition, found in looked.items() if found is not None}
        return self._known, [directory.root for directory in log_dirs.directories]

    def _snapshot(self, files: PartitionFiles) -> PartitionSnapshot | None:
        """A partition as it is now; None if it was deleted since it was listed, or cannot be read and is skipped."""
        known = self._known.get(files.topic_partition)
        if known is not None and _is_unchanged(known, files):
            return known
        is_committed = self._options.isolation_level == "read_committed"
        try:
            found = retrying(files, partial(look_at, is_committed=is_committed))
        except ScanError:
            if _is_there(files):
                raise
            return None
        except OSError as error:
            self._findings.unreadable(files.location, error)
            return None
        if found.failure is not None:
            self._findings.unreadable(files.location, found.failure)
        return found


def _is_there(files: PartitionFiles) -> bool:
    try:
        return files.location.entry().is_folder
    except FileNotFoundError:
        return False


def _is_unchanged(known: PartitionSnapshot, files: PartitionFiles) -> bool:
    """Whether a listing shows that nothing was written since.

    It cannot show that for a preallocated log, whose size does not change and whose modification time is too coarse.
    Checkpoints are read again with each listing, so they are compared too.
    """
    before = known.files
    return (
        before.location == files.location
        and before.segments == files.segments
        and before.others == files.others
        and not (known.tail is not None and known.tail.zeros)
        and _limits(before) == _limits(files)
    )


def _limits(files: PartitionFiles) -> list[int | None]:
    """What the files in the root say about a partition."""
    checkpoints = map(files.root.offsets, (LOG_START_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT))
    return [offsets.get(files.topic_partition) for offsets in (*checkpoints, files.root.pending_starts())]
