"""The subscribed partitions of the log directories: where each begins and ends now."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying, until_settled
from octavo.scanner.partition.transactions import PartitionTransactions, read_transactions
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.root import Root
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.data_loss import SourceFindings
from octavo.spark.source.offset_ranges import PartitionRange


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition at one moment, and how much of it its reader may see."""

    snapshot: PartitionSnapshot
    transactions: PartitionTransactions | None  # None for read_uncommitted

    @property
    def start(self) -> int:
        return self.snapshot.log_start_offset

    @property
    def end(self) -> int:
        """The offset after the last whole batch; for read_committed, the last stable offset."""
        return self.snapshot.log_end_offset if self.transactions is None else self.transactions.last_stable_offset

    @property
    def committed_end(self) -> int:
        """The end, or the checkpointed high watermark if that is lower; without a checkpoint nothing is committed."""
        high_watermark = self.snapshot.high_watermark
        return self.start if high_watermark is None else min(self.end, high_watermark)

    def notes_up_to(self, end: int) -> list[Note]:
        """What may be missing for a reader up to an offset."""
        return [*self.snapshot.notes_up_to(end), *(self.transactions.notes if self.transactions else ())]

    def range_within(self, start: int, end: int, findings: SourceFindings) -> PartitionRange:
        """The offsets of a range that exist; the others are reported as lost."""
        topic_partition = self.snapshot.topic_partition
        if start < end and (start < self.start or self.end < end):
            findings.lost(
                f"Could not read records in offset [{start}, {end}) for topic partition {topic_partition}, which has"
                f" [{self.start}, {self.end})."
            )
        return PartitionRange(topic_partition, max(start, self.start), min(end, self.end))


Partitions = dict[TopicPartition, PartitionView]


class LogView:
    """Looks at the partitions that the options subscribe to, without a lock and without keeping files open.

    A partition whose files have not changed is not read again, because a stream asks many times a second.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._findings = SourceFindings(options)
        self._known: dict[TopicPartition, tuple[PartitionFiles, PartitionView]] = {}

    def look(self, *, check_topics: bool = False) -> Partitions:
        """The partitions that exist now. With `check_topics`, raises if a named topic does not exist."""
        return until_settled(lambda again: self._look_once(check_topics))

    def _look_once(self, check_topics: bool) -> tuple[Partitions, list[Root]]:
        subscription = self._options.subscription
        log_dirs = open_log_dirs(self._options.paths, subscription.wants)
        if check_topics:
            subscription.check(log_dirs.topics(), log_dirs.shown())
        for topic_partition, error in log_dirs.unreadable().items():
            if subscription.wants(topic_partition):
                self._findings.unreadable(topic_partition, error)
        wanted = {
            topic_partition: files
            for topic_partition, files in log_dirs.partitions.items()
            if subscription.wants(topic_partition)
        }
        views = {topic_partition: self._view(topic_partition, files) for topic_partition, files in wanted.items()}
        self._known = {
            topic_partition: (wanted[topic_partition], view)
            for topic_partition, view in views.items()
            if view is not None
        }
        roots = [directory.root for directory in log_dirs.directories]
        return {topic_partition: view for topic_partition, view in views.items() if view is not None}, roots

    def _view(self, topic_partition: TopicPartition, files: PartitionFiles) -> PartitionView | None:
        """A partition as it is now; None if it was deleted since it was listed, or cannot be read and is skipped."""
        known, view = self._known.get(topic_partition, (None, None))
        if known is not None and view is not None and _is_unchanged(known, files, view):
            return view
        try:
            return retrying(files, self._look_at)
        except ScanError:
            if _is_there(files):
                raise
            return None
        except OSError as error:
            self._findings.unreadable(files.location, error)
            return None

    def _look_at(self, files: PartitionFiles) -> PartitionView:
        snapshot = look_at(files)
        if snapshot.failure is not None:
            self._findings.unreadable(files.location, snapshot.failure)
        committed = self._options.isolation_level == "read_committed"
        return PartitionView(snapshot, read_transactions(snapshot) if committed else None)


def _is_there(files: PartitionFiles) -> bool:
    try:
        return files.location.entry().is_folder
    except FileNotFoundError:
        return False


def _is_unchanged(known: PartitionFiles, files: PartitionFiles, view: PartitionView) -> bool:
    """Whether a listing shows that nothing was written since.

    It cannot show that for a preallocated log, whose size does not change and whose modification time is too coarse.
    Checkpoints are read again with each listing, so they are compared too.
    """
    tail, topic_partition = view.snapshot.tail, files.topic_partition
    return (
        known.location == files.location
        and known.segments == files.segments
        and known.others == files.others
        and not (tail is not None and tail.zeros)
        and known.root.log_start_offsets().get(topic_partition) == files.root.log_start_offsets().get(topic_partition)
        and known.root.high_watermarks().get(topic_partition) == files.root.high_watermarks().get(topic_partition)
        and known.root.pending_starts().get(topic_partition) == files.root.pending_starts().get(topic_partition)
    )
