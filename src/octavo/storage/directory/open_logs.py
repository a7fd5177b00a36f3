"""The logs that a `LogDir` has open, and the directory that each of them is in."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from octavo.errors import KafkaStorageError, OctavoError, UnknownTopicOrPartitionError
from octavo.format.names import FileKind, PartitionFolder, SegmentFile, TopicPartition
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, make_missing
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.system.scheduler import Scheduler


class Loss(NamedTuple):
    """Bytes that a log had on the disk and does not have any more."""

    topic_partition: TopicPartition
    path: Path  # the segment's log file
    position: int  # from there on; 0 for a whole segment
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.bytes} bytes cut at position {self.position}: {self.reason}"


class OpenLogs:
    """Logs by partition. Topics are created, changed and deleted under `lock`; a look-up needs none.

    Partitions of a topic are shown and hidden all at once: `logs` is replaced then, never changed.

    When a directory goes offline its logs stay listed; using one raises KafkaStorageError with the reason.
    """

    def __init__(self, roots: Sequence[LogRoot], environment: Environment) -> None:
        self.roots = roots
        self._environment = environment
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.unserved: list[tuple[LogRoot, PartitionLog]] = []  # of -future and -stray folders
        self.leaving: list[PartitionLog] = []  # their folders end in -delete
        self.unreadable: dict[Path, OctavoError | OSError] = {}  # folders that could not be loaded, and why
        self.lock = threading.RLock()
        self.is_closed = False
        self._homes: dict[TopicPartition, LogRoot] = {}
        for root in roots:
            root.on_offline = self.abandon_offline

    @property
    def live_roots(self) -> list[LogRoot]:
        return live(self.roots)

    @property
    def known_topics(self) -> set[str]:
        """The topics that have a folder in one of the directories, opened or not."""
        return {name.topic for name in self.known_partitions}

    @property
    def known_partitions(self) -> set[TopicPartition]:
        """The partitions that have a folder in one of the directories, opened or not."""
        return {name for root in self.roots for name in root.partitions}

    def topics(self) -> dict[str, list[int]]:
        """The partitions of each topic, both in order."""
        found: dict[str, list[int]] = {}
        for topic, partition in sorted(self.logs):
            found.setdefault(topic, []).append(partition)
        return found

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic, in order; refused if it is not there, or not opened as a whole."""
        known = sorted(name for name in self.known_partitions if name.topic == topic)
        if not known:
            raise UnknownTopicOrPartitionError(f"there is no topic {topic}")
        for name in known:
            self.log(name)
        return known

    def log(self, name: TopicPartition) -> PartitionLog:
        """A partition's log; UnknownTopicOrPartitionError if there is none, or none was opened."""
        log = self.logs.get(name)
        if log is None:
            found = "was not opened" if any(name in root.partitions for root in self.roots) else "is not there"
            raise UnknownTopicOrPartitionError(f"partition {name} {found}")
        return log

    def home(self, name: TopicPartition) -> LogRoot:
        """The directory that an open partition is in."""
        return self._homes[name]

    def of(self, root: LogRoot) -> dict[TopicPartition, PartitionLog]:
        """The open logs of one directory, in order."""
        return {name: log for name, log in sorted(self.logs.items()) if self._homes.get(name) is root}

    def all_of(self, root: LogRoot) -> list[PartitionLog]:
        """Every open log of one directory, those too that are not served."""
        return [*self.of(root).values(), *(log for home, log in self.unserved if home is root)]

    def add(self, name: TopicPartition, root: LogRoot, log: PartitionLog) -> None:
        """Take a log in while nobody looks yet."""
        self.logs[name], self._homes[name] = log, root
        root.partitions.add(name)

    def show(self, logs: Mapping[TopicPartition, tuple[LogRoot, PartitionLog]]) -> None:
        """Let partitions be seen, all of them at once."""
        for name, (root, _) in logs.items():
            self._homes[name] = root
            root.partitions.add(name)
        self.logs = {**self.logs, **{name: log for name, (_, log) in logs.items()}}

    def hide(self, names: Collection[TopicPartition]) -> None:
        """Let partitions be seen no more, all of them at once; their folders are still there."""
        self.logs = {name: log for name, log in self.logs.items() if name not in names}

    def remove(self, name: TopicPartition, log: PartitionLog) -> None:
        """Take note that a hidden log's folder is on its way out."""
        self.leaving.append(log)
        self._homes.pop(name).partitions.discard(name)

    def emptiest(self) -> LogRoot:
        """The directory with the fewest partitions, of those that are in use and not cordoned."""
        usable = self.live_roots
        if not usable:
            raise KafkaStorageError("all log directories are offline")
        free = [root for root in usable if not root.is_cordoned]
        return min(free, key=lambda root: len(root.partitions)) if free else usable[0]

    def abandon_offline(self) -> None:
        """Let the logs of directories whose disk failed go, without another write."""
        for name, home in list(self._homes.items()):
            if home.failure is not None and (log := self.logs.get(name)) is not None:
                log.abandon(f"its directory is offline: {home.failure}")

    def losses(self) -> list[Loss]:
        """What recovery cut off the logs or dropped from them when they were opened, in the order of each log."""
        logs = [*self.logs.values(), *(log for _, log in self.unserved)]
        return [loss for log in logs for loss in _losses(log)]

    def close(self, scheduler: Scheduler) -> list[KafkaStorageError]:
        """Stop cleanly: each directory then holds what a broker leaves.

        1. End background work. 2. Flush and close every log. 3. Write the checkpoints, then `.kafka_cleanshutdown`.
        4. Unlock. A crash before the end of 3 makes the next start recover. An interrupt before 4 leaves the
        directories locked; call it again to go on with what is not closed yet.

        Returns what kept logs and directories from being closed cleanly; all others are.
        """
        scheduler.shutdown()
        for log in self.leaving:
            log.abandon("it is deleted")
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

    def make_missing(self) -> None:
        """Make the directories that were not there when they were opened; `lock` is held."""
        make_missing(self.roots, self._environment)

    def disown(self) -> None:
        """In a forked child: refuse every use from now on."""
        self.is_closed = True
        self.lock = threading.RLock()  # a thread of the parent's may have held it
        for log in [*self.logs.values(), *(log for _, log in self.unserved)]:
            log.disown()
        for root in self.roots:
            root.disown()

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Hold the lock under which topics change; refused once all is closed."""
        with self.lock:
            if self.is_closed:
                raise KafkaStorageError(f"{self.roots[0].path}: it is closed")
            yield


def _losses(log: PartitionLog) -> list[Loss]:
    name = PartitionFolder.parse(log.folder.name).topic_partition
    cut = [
        Loss(name, _path(log, segment.base_offset), segment.size, segment.bytes_cut, str(segment.problem))
        for segment in log.recovered
        if segment.bytes_cut
    ]
    dropped = [Loss(name, _path(log, gone.base_offset), 0, gone.size, gone.reason) for gone in log.dropped]
    return cut + dropped


def _path(log: PartitionLog, base_offset: int) -> Path:
    return log.folder / SegmentFile(base_offset, FileKind.LOG).name
