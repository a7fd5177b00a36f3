"""The logs that a `LogManager` has open, and the directory of each."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from octavo.errors import KafkaStorageError, OctavoError, UnknownTopicOrPartitionError, did_you_mean
from octavo.format.names import FileKind, PartitionFolder, SegmentFile, TopicPartition, by_topic
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live
from octavo.storage.partition_log import PartitionLog
from octavo.system.scheduler import Scheduler
from octavo.system.shown import count

_MOST_PREFERRED = 10_000


class Loss(NamedTuple):
    """Bytes on disk that recovery removed from a log."""

    topic_partition: TopicPartition
    path: Path  # the segment's log file
    position: int  # where the loss begins; 0 for a whole segment
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {count(self.bytes, 'byte')} cut at position {self.position}: {self.reason}"


class OpenLogs:
    """Logs by partition. Topics are created, changed and deleted under `lock`; looking up a log needs no lock.

    The partitions of a topic appear and disappear all at once: after the opening, `logs` is replaced, never modified.

    When a directory goes offline, its logs stay listed; using one raises KafkaStorageError with the reason.
    """

    def __init__(self, roots: Sequence[LogRoot]) -> None:
        self.roots = roots
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.future_and_stray: list[tuple[LogRoot, PartitionLog]] = []  # of -future and -stray folders
        self.unreadable: dict[Path, OctavoError | OSError] = {}  # folders that could not be loaded, and why
        self.lock = threading.RLock()
        self.is_closed = False
        self._root_by_partition: dict[TopicPartition, LogRoot] = {}
        self._preferred: dict[TopicPartition, LogRoot] = {}
        for root in roots:
            root.on_offline = self.abandon_offline

    @property
    def live_roots(self) -> list[LogRoot]:
        return live(self.roots)

    @property
    def known_topics(self) -> set[str]:
        """The topics that have a folder in one of the directories, opened or not."""
        return {topic_partition.topic for topic_partition in self.known_partitions}

    @property
    def known_partitions(self) -> set[TopicPartition]:
        """The partitions that have a folder in one of the directories, opened or not."""
        return {topic_partition for root in self.roots for topic_partition in root.partitions}

    def topics(self) -> dict[str, list[int]]:
        """The partitions of each topic, topics and partitions in order."""
        return by_topic(sorted(self.logs))

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic, in order; raises if the topic does not exist or one of them is not open."""
        known = sorted(topic_partition for topic_partition in self.known_partitions if topic_partition.topic == topic)
        if not known:
            raise UnknownTopicOrPartitionError(f"there is no topic {topic!r}{did_you_mean(topic, self.known_topics)}")
        for topic_partition in known:
            self.log(topic_partition)
        return known

    def log(self, topic_partition: TopicPartition) -> PartitionLog:
        """A partition's log; UnknownTopicOrPartitionError if it does not exist or was not opened."""
        log = self.logs.get(topic_partition)
        if log is None:
            is_known = any(topic_partition in root.partitions for root in self.roots)
            problem = "was not opened" if is_known else "does not exist"
            raise UnknownTopicOrPartitionError(f"partition {topic_partition} {problem}")
        return log

    def root_of(self, topic_partition: TopicPartition) -> LogRoot:
        """The directory of an open partition."""
        return self._root_by_partition[topic_partition]

    def of(self, root: LogRoot) -> dict[TopicPartition, PartitionLog]:
        """The open logs in one directory, in order."""
        return {
            topic_partition: log
            for topic_partition, log in sorted(self.logs.items())
            if self._root_by_partition.get(topic_partition) is root
        }

    def all_of(self, root: LogRoot) -> list[PartitionLog]:
        """Every open log in one directory, including those that are not served."""
        return [*self.of(root).values(), *(log for other, log in self.future_and_stray if other is root)]

    def add(self, topic_partition: TopicPartition, root: LogRoot, log: PartitionLog) -> None:
        """Add a log while opening, before anybody uses it."""
        self.logs[topic_partition], self._root_by_partition[topic_partition] = log, root
        root.partitions.add(topic_partition)

    def show(self, logs: Mapping[TopicPartition, tuple[LogRoot, PartitionLog]]) -> None:
        """Make partitions visible, all at once."""
        for topic_partition, (root, _) in logs.items():
            self._root_by_partition[topic_partition] = root
            root.partitions.add(topic_partition)
        self.logs = {**self.logs, **{topic_partition: log for topic_partition, (_, log) in logs.items()}}

    def hide(self, topic_partitions: Collection[TopicPartition]) -> None:
        """Make partitions invisible, all at once; their folders still exist."""
        self.logs = {
            topic_partition: log
            for topic_partition, log in self.logs.items()
            if topic_partition not in topic_partitions
        }

    def remove(self, topic_partition: TopicPartition) -> None:
        """Forget a hidden partition, whose folder is about to be deleted."""
        self._root_by_partition.pop(topic_partition).partitions.discard(topic_partition)

    def prefer(self, topic_partition: TopicPartition, root: LogRoot) -> None:
        """Put this partition into this directory if it is created later."""
        with self.lock:
            if len(self._preferred) >= _MOST_PREFERRED:  # clients may name partitions that nobody will create
                del self._preferred[next(iter(self._preferred))]
            self._preferred[topic_partition] = root

    def place(self, topic_partition: TopicPartition) -> LogRoot:
        """The directory for a new partition: the preferred one if it is online, or else the one with the fewest
        partitions among those that are online and not cordoned; if all are cordoned, the first one that is online."""
        usable = self.live_roots
        preferred = self._preferred.pop(topic_partition, None)
        if preferred in usable:
            return preferred
        if not usable:
            raise KafkaStorageError(f"all log directories are offline: {topic_partition} cannot be created")
        free = [root for root in usable if not root.is_cordoned]
        return min(free, key=lambda root: len(root.partitions)) if free else usable[0]

    def abandon_offline(self) -> None:
        """Close the logs of failed directories without writing anything more."""
        for root in self.roots:
            for log in self.all_of(root) if root.failure is not None else ():
                log.abandon(f"its directory is offline: {root.failure}")

    def losses(self) -> list[Loss]:
        """What recovery cut or dropped from the logs, at the opening or since then, log by log."""
        return [loss for log in self._all() for loss in _losses(log)]

    def _all(self) -> list[PartitionLog]:
        return [*self.logs.values(), *(log for _, log in self.future_and_stray)]

    def close(self, scheduler: Scheduler, *, discard: bool) -> list[KafkaStorageError]:
        """Stop cleanly: each directory then holds what a broker leaves behind.

        1. End background work. For one directory after the other: 2. Flush and close its logs. 3. Write its
        checkpoints, then, if all its logs were closed, `.kafka_cleanshutdown`. 4. Unlock all directories. After a crash
        before the end of 3, the next start recovers the directories that have not got that far. An interrupt before 4
        leaves the directories locked; call this again to close the rest. With `discard`, 2 flushes nothing and 3 is
        left out.

        Returns the errors of logs and directories that could not be closed cleanly; all the others are closed.
        """
        scheduler.shutdown()
        failures: list[KafkaStorageError] = []
        if discard:
            for log in self._all():
                log.abandon("its directory is being removed")
        else:
            failures = [failure for root in self.live_roots for failure in self._close(root)]
        for root in self.roots:
            root.unlock()
        return failures

    def _close(self, root: LogRoot) -> list[KafkaStorageError]:
        failures: list[KafkaStorageError] = []
        try:
            for log in self.all_of(root):
                try:
                    log.close()
                except KafkaStorageError as error:
                    failures.append(error)
            with root.using():
                root.checkpoints.write(self.of(root))
                if not failures:
                    root.mark_clean()
        except KafkaStorageError as error:
            failures.append(error)
        return failures

    def disown(self) -> None:
        """In a forked child: refuse any further use."""
        self.is_closed = True
        self.lock = threading.RLock()  # a thread of the parent may hold it
        for log in self._all():
            log.disown()
        for root in self.roots:
            root.disown()

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Hold the lock that topic changes need; raises after the close."""
        with self.lock:
            if self.is_closed:
                raise KafkaStorageError(f"{self.roots[0].path} is closed")
            yield


def _losses(log: PartitionLog) -> list[Loss]:
    topic_partition = PartitionFolder.parse(log.folder.name).topic_partition
    lost = [(cut.base_offset, cut.size, cut.bytes_cut, str(cut.problem)) for cut in log.recovered if cut.bytes_cut]
    lost += [(gone.base_offset, 0, gone.size, gone.reason) for gone in log.dropped]
    return [
        Loss(topic_partition, log.folder / SegmentFile(base_offset, FileKind.LOG).name, position, size, reason)
        for base_offset, position, size, reason in lost
    ]
