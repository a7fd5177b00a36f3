"""The subscribed partitions of the log directories, looked at again and again: where each begins and ends now."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying, until_settled
from octavo.scanner.partition.transactions import PartitionTransactions, read_transactions
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.root import Root
from octavo.spark.query.source_options import SourceOptions


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition at one moment, with what its reader may see of it."""

    snapshot: PartitionSnapshot
    transactions: PartitionTransactions | None  # None for read_uncommitted

    @property
    def start(self) -> int:
        return self.snapshot.log_start_offset

    @property
    def end(self) -> int:
        """Behind the last offset of a whole batch; for read_committed, the last stable offset."""
        return self.snapshot.log_end_offset if self.transactions is None else self.transactions.last_stable_offset

    @property
    def committed_end(self) -> int:
        """The end, or the high watermark's checkpoint if that is lower; what it does not name has nothing committed."""
        high_watermark = self.snapshot.high_watermark
        return self.start if high_watermark is None else min(self.end, high_watermark)


Partitions = dict[TopicPartition, PartitionView]


class LogView:
    """Looks at the partitions that the options subscribe to. It takes no lock and keeps no file open.

    A partition whose files are as they were is not read again: a stream asks many times a second.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._known: dict[TopicPartition, tuple[PartitionFiles, PartitionView]] = {}

    def look(self, *, check_topics: bool = False) -> Partitions:
        """The partitions that are there now. With `check_topics`, a named topic that is not is an error."""
        return until_settled(lambda again: self._look_once(check_topics))

    def _look_once(self, check_topics: bool) -> tuple[Partitions, list[Root]]:
        subscription = self._options.subscription
        log_dirs = open_log_dirs(self._options.paths, subscription.wants)
        if check_topics:
            subscription.check(log_dirs.topics(), log_dirs.shown())
        found = {name: files for name, files in log_dirs.partitions.items() if subscription.wants(name)}
        views = {name: self._view(name, files) for name, files in found.items()}
        self._known = {name: (found[name], view) for name, view in views.items() if view is not None}
        roots = [directory.root for directory in log_dirs.directories]
        return {name: view for name, view in views.items() if view is not None}, roots

    def _view(self, name: TopicPartition, files: PartitionFiles) -> PartitionView | None:
        """A partition as it is now; None where it was deleted since it was listed."""
        known, view = self._known.get(name, (None, None))
        if known is not None and view is not None and _is_unchanged(known, files, view):
            return view
        try:
            return retrying(files, self._look_at)
        except ScanError:
            if _is_there(files):
                raise
            return None

    def _look_at(self, files: PartitionFiles) -> PartitionView:
        snapshot = look_at(files)
        if snapshot.failure is not None:
            raise snapshot.failure
        committed = self._options.isolation_level == "read_committed"
        return PartitionView(snapshot, read_transactions(snapshot) if committed else None)


def _is_there(files: PartitionFiles) -> bool:
    try:
        return files.location.entry().is_folder
    except FileNotFoundError:
        return False


def _is_unchanged(known: PartitionFiles, files: PartitionFiles, view: PartitionView) -> bool:
    """Whether a listing says that nothing was written. Of a preallocated log only its time would, and too coarsely.

    The checkpoints in the root are read anew with each listing, so a view with other ones is another.
    """
    tail, name = view.snapshot.tail, files.topic_partition
    return (
        known.location == files.location
        and known.segments == files.segments
        and known.others == files.others
        and not (tail is not None and tail.zeros)
        and known.root.log_start_offsets().get(name) == files.root.log_start_offsets().get(name)
        and known.root.high_watermarks().get(name) == files.root.high_watermarks().get(name)
        and known.root.pending_starts().get(name) == files.root.pending_starts().get(name)
    )
