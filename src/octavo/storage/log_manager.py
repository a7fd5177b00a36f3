"""`LogManager`: the log directories owned by a program, with their topics and partitions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import KafkaStorageError, LogDirError, OctavoError
from octavo.format.names import TopicPartition
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.storage.background import Background
from octavo.storage.cleaner.manager import CleanerManager
from octavo.storage.directory.dynamic_configs import DynamicConfigs
from octavo.storage.directory.log_root import LogRoot, Only, Selection
from octavo.storage.directory.log_roots import Paths, as_paths, live, make_missing, open_roots
from octavo.storage.directory.open_logs import Loss, OpenLogs
from octavo.storage.directory.partition_opener import OpenOptions, PartitionOpener, RecoveryProgress
from octavo.storage.directory.topic_admin import Partitions, TopicAdmin
from octavo.storage.environment import Environment
from octavo.storage.log.retain import Verdict
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.recover import OnLoss, no_loss
from octavo.storage.staging.commit import Commits, finish
from octavo.storage.staging.ledger import CommitLedger
from octavo.storage.topics.broker_configs import BrokerConfigs
from octavo.system.closing import Closing
from octavo.system.forks import on_fork
from octavo.system.scheduler import EndScheduler, ThreadScheduler
from octavo.system.urls import UrlPath

Shared = TypeVar("Shared")

RECOVERY_LOG = "octavo.recovery"
_log = logging.getLogger(__name__)


class LogManager(Closing):
    """One or several log directories, locked, recovered and loaded. Thread-safe; close it, or use it with `with`.

    `configs` are broker configs: they override those in the directory's metadata, and give topics their defaults.
    `topic_configs` override what is stored for a topic as long as this object lives. `only` names the partitions to
    open, or topics to open with all their partitions. The others stay untouched, so that a job on a few partitions need
    not wait for the rest; topics can still be created.
    A missing directory is created with the first topic, or at once with `create=True`; `create=False` refuses it.
    A commit to several partitions that was interrupted by a crash is completed, or undone, before anything else, unless
    a directory or partition cannot be opened.
    A partition that cannot be loaded raises an error; with `skip_unreadable` it stays closed and is listed in
    `unreadable`. With `check_all` every batch is checked, even if the directory was closed cleanly.

    Opening applies no retention. What recovery had to cut is logged, and listed in `recovery`. With `upkeep` the
    directory is maintained as by a broker: retention and the cleaner run in the background, and files and folders
    marked as deleted (`.deleted`, `-delete`) are removed. Without `background` nothing runs on its own, and scheduled
    deletions are carried out at the close.
    A directory whose disk fails goes offline; the others stay in use. A forked child cannot use its parent's object.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        configs: Mapping[str, Given] | None = None,
        topic_configs: Mapping[str, Mapping[str, Given]] | None = None,
        environment: Environment | None = None,
        only: Only | None = None,
        create: bool | None = None,
        upkeep: bool = False,
        background: bool = True,
        skip_unreadable: bool = False,
        check_all: bool = False,
        progress: RecoveryProgress | None = None,
        on_loss: OnLoss | None = None,
    ) -> None:
        places, selection = as_paths(paths), Selection(only)
        if background:  # for as long as that runs, the program may change its working directory
            places = [place if isinstance(place, UrlPath) else place.absolute() for place in places]
        self._dynamic = DynamicConfigs(places, configs or {}, topic_configs or {}, CleanerManager.check)
        self._configs = self._dynamic.topics
        self.upkeep = upkeep
        self._threads = ThreadScheduler() if background and environment is None else None
        self._cleaner_threads = 0
        self.environment = environment or Environment(self._threads or EndScheduler())
        self.roots: list[LogRoot] = []
        self._closing = threading.Lock()
        self._is_released = False
        self._shared: dict[object, Any] = {}
        self._sharing = threading.Lock()
        try:
            node_id = self.broker_config.node_id
            self.roots = open_roots(places, self.environment, selection, create=create, node_id=node_id)
            not_offline = [root.path for root in self.roots if root.failure is None]
            ledger = CommitLedger(self.environment.filesystem, not_offline)
            selection.include(ledger.pending_partitions())
            self._dynamic.read(self.roots)
            self._start_threads(self.broker_config)
            self._open = OpenLogs(self.roots)
            options = OpenOptions(progress=progress, on_loss=on_loss or no_loss, upkeep=upkeep, check_all=check_all)
            self._opener = PartitionOpener(self._open, self.environment, self.broker_config, self._configs, options)
            self._admin = TopicAdmin(self._open, self._opener, self.environment, self.broker_config, self._configs)
            self._opener.load_all(skip_unreadable=skip_unreadable)
            self._admin.complete_pending()
            self.commits = Commits(ledger, self._open, self._admin, self.environment)
            # Part of the commit may be in a directory that is missing or unreadable.
            halves = [topic for topic in ledger.pending_topics() if self._admin.is_pending(topic.topic)]
            absent = [part for part in ledger.pending_parts() if self._admin.is_absent(part.topic_partition)]
            if not self._open.unreadable and not self.offline and not halves and not absent:
                finish(self.commits)
            self.cleaner = CleanerManager(self._open, self.environment, self.broker_config)
            for listener in (self._start_threads, self._opener.configure, self.cleaner.configure):
                self._dynamic.on_change(listener)
            self._say_what_opening_did()
            on_fork(self)
            self.has_upkeep = background and upkeep
            if background:
                work = Background(self._open, self.environment, self.broker_config, ledger)
                work.start()
                if upkeep:
                    work.start_upkeep(self._configs.defaults.file_delete_delay_ms)
                    self.cleaner.start()
        except BaseException:
            if hasattr(self, "_open"):
                self._say_what_was_cut()  # the next opening will find nothing to cut
            self.environment.scheduler.shutdown()
            for root in self.roots:
                root.unlock()
            raise

    def _say_what_opening_did(self) -> None:
        missing = [root for root in self.roots if root.is_missing]
        # A new directory is nothing unusual, but next to others the missing one may be a disk that is not mounted.
        level = logging.INFO if len(missing) == len(self.roots) else logging.WARNING
        for root in missing:
            _log.log(level, "%s: no such directory; it will be created with the first topic", root.path)
        self._say_what_was_cut()

    def _say_what_was_cut(self) -> None:
        for loss in self.recovery:
            logging.getLogger(RECOVERY_LOG).warning("%s", loss)

    def _start_threads(self, config: BrokerConfig) -> None:
        """Start the threads that the cleaner needs, in addition to those for short work."""
        missing = config.log_cleaner_threads - self._cleaner_threads
        if self._threads is not None and missing > 0:
            self._threads.start(missing)
            self._cleaner_threads += missing

    @property
    def offline(self) -> dict[Path, str]:
        """The directories whose disk failed, and why."""
        return {root.path: root.failure for root in self.roots if root.failure is not None}

    @property
    def recovery(self) -> list[Loss]:
        """What recovery cut or dropped from the logs, at the opening or since then; empty if nothing was lost."""
        return self._open.losses()

    @property
    def logs(self) -> Mapping[TopicPartition, PartitionLog]:
        """The open logs."""
        return self._open.logs

    @property
    def future_and_stray(self) -> list[PartitionLog]:
        """The logs of -future and -stray folders. They are recovered and closed like the others, but not served."""
        return [log for _, log in self._open.future_and_stray]

    @property
    def unreadable(self) -> dict[Path, OctavoError | OSError]:
        """The folders of partitions that could not be loaded, and why."""
        return dict(self._open.unreadable)

    @property
    def topics(self) -> dict[str, list[int]]:
        """The open partitions of each topic, topics and partitions in order."""
        return self._open.topics()

    def log(self, topic: str, partition: int) -> PartitionLog:
        """A partition's log; UnknownTopicOrPartitionError if it does not exist or was not opened."""
        return self._open.log(TopicPartition(topic, partition))

    def config(self, topic: str) -> LogConfig:
        """A topic's effective configs."""
        return self._configs.of(topic)

    @property
    def node_id(self) -> int:
        """The id of the broker that the directories belong to."""
        return self._identity().node_id or 0

    @property
    def cluster_id(self) -> str:
        """The id of the cluster that the directories belong to."""
        return self._identity().cluster_id or ""

    @property
    def directory_id(self) -> bytes | None:
        """The id of the first directory in use; None if no broker since 3.7 has used it."""
        return self._identity().directory_id

    def _identity(self) -> MetaProperties:
        found = next((meta for root in live(self.roots) if (meta := root.meta()) is not None), None)
        if found is None:
            why = "either none has been created yet (the first topic does that), or all are offline"
            raise LogDirError(f"no log directory has a meta.properties: {why}")
        return found

    @property
    def broker_config(self) -> BrokerConfig:
        """The broker's configs with all changes, including those that take effect only at the next start."""
        return self._dynamic.broker

    @property
    def broker_properties(self) -> Mapping[str, Given]:
        """The broker's configs by name: those given, and those that clients set, here or on Kafka."""
        return self._configs.broker

    @property
    def broker_sources(self) -> BrokerConfigs:
        """The broker's configs by where they come from; replaced, never modified."""
        return self._configs.brokers

    @property
    def metadata_groups(self) -> dict[str, dict[str, str]]:
        """The configs of groups in the cluster's metadata."""
        return self._configs.groups

    def alter_broker_configs(
        self, changes: Mapping[str, str | None], *, of_cluster: bool = False, dry_run: bool = False
    ) -> None:
        """Set configs of the broker, or of all brokers of its cluster, while it runs; None removes one.

        They are kept in octavo-broker.json, and take precedence over those given when opening. Configs that Kafka calls
        dynamic take effect at once, the others at the next start at the latest. With `dry_run` nothing changes, but
        invalid configs are refused all the same.
        """
        with self._open.usable():
            self._dynamic.alter(changes, of_cluster=of_cluster, dry_run=dry_run)

    def topic_overrides(self, topic: str) -> Mapping[str, Given]:
        """The configs set on the topic itself."""
        return self._configs.overrides(topic)

    def check_topic(self, topic: str, partitions: Partitions | None, configs: Mapping[str, Given]) -> bytes:
        """Raise what `create_topic` would raise; returns a random topic id."""
        return self._admin.prepare(topic, partitions, configs).topic_id

    def check_configs(self, topic: str, changes: Mapping[str, Given | None]) -> None:
        """Raise what `alter_configs` would raise."""
        self._configs.altered(topic, changes)

    def create_topic(
        self,
        topic: str,
        partitions: Partitions | None = None,
        configs: Mapping[str, Given] | None = None,
        topic_id: bytes | None = None,
    ) -> bytes:
        """Create a topic, each partition in the directory with the fewest partitions; returns the topic's id.

        Directories in the broker config cordoned.log.dirs are not chosen, unless all are in it; a directory that a
        client named for a partition (AlterReplicaLogDirs) comes first. `partitions` is a number of partitions, or their
        numbers. A replica needs the `topic_id` of the topic it copies.
        """
        return self._admin.create(topic, partitions, configs or {}, topic_id)

    def create_partitions(self, topic: str, partitions: Partitions) -> None:
        """Add partitions to a topic: up to a total, or the ones with the given numbers."""
        self._admin.grow(topic, partitions)

    def prefer_directory(self, topic: str, partition: int, root: LogRoot) -> None:
        """If this partition is created later, put it into this directory, one of `roots`, if that is then online."""
        self._open.prefer(TopicPartition(topic, partition), root)

    def check_complete(self, topic: str) -> None:
        """Raise if a topic is unknown, is being deleted, or is known to have more partitions than are open, e.g. on
        another disk."""
        self._admin.check_complete(topic)

    def alter_configs(self, topic: str, changes: Mapping[str, Given | None]) -> LogConfig:
        """Change a topic's configs, effective at once; None resets a config to its default."""
        return self._admin.alter(topic, changes)

    def delete_topic(self, topic: str) -> None:
        """Rename a topic's folders to `-delete`, and remove them after the broker's log.segment.delete.delay.ms."""
        self.delete_topics([topic])

    def delete_topics(self, topics: Collection[str]) -> None:
        """Delete topics together, as `delete_topic` does; raises before it changes anything if one does not exist."""
        known = self.topics
        doomed = [TopicPartition(topic, partition) for topic in topics for partition in known.get(topic, ())]
        with self.cleaner.states.paused(doomed):
            self._admin.delete(topics)

    def shared(self, make: Callable[[LogManager], Shared]) -> Shared:
        """The object that `make` builds for these directories, such as a store of users: built once, and shared."""
        with self._sharing:
            if make not in self._shared:
                self._shared[make] = make(self)
            made: Shared = self._shared[make]
            return made

    def retain(self, *, dry_run: bool = False) -> dict[TopicPartition, list[Verdict]]:
        """Run one round of retention on all partitions; returns what happens to each segment and why."""
        verdicts: dict[TopicPartition, list[Verdict]] = {}
        for topic_partition, log in sorted(self.logs.items()):
            with self._unless_deleted(topic_partition, log):
                verdicts[topic_partition] = log.retain(dry_run=dry_run)
        return verdicts

    def truncate(self, topic: str, partition: int, offset: int) -> bool:
        """Drop the batch that holds the offset and everything after it; returns whether the log changed.

        The log then ends where its last batch does. (A follower's log ends at the offset, even inside a batch.)
        """
        log, topic_partition = self.log(topic, partition), TopicPartition(topic, partition)
        with self.cleaner.states.paused([topic_partition]), self._open.usable():
            changed = log.truncate_to(offset)
            if changed:
                log.truncate_to(log.segments.active.tail().next_offset)
            root = self._open.root_of(topic_partition)
            with root.using():
                root.checkpoints.limit_cleaner_offset(topic_partition, log.segments.active.base_offset)
                root.checkpoints.write(self._open.of(root))
            return changed

    def roll(self, topic: str) -> None:
        """Close the active segments of a topic's partitions and begin new ones; empty ones stay active.

        What is in a closed segment can be cleaned, and retention can delete it.
        """
        for topic_partition in self._open.partitions(topic):
            log = self.log(*topic_partition)
            if log.segments.active.size:
                log.roll()

    def flush(self) -> None:
        """Sync all logs to disk: afterwards no crash or power loss can lose what they hold now."""
        for topic_partition, log in list(self.logs.items()):
            with self._unless_deleted(topic_partition, log):
                log.flush()

    def make_missing(self) -> None:
        """Create the directories that were missing when this object was opened, without waiting for the first topic."""
        with self._open.usable():
            make_missing(self.roots, self.environment)

    def checkpoint(self) -> None:
        """Write the offset checkpoints of all directories; a directory whose disk fails goes offline."""
        with self._open.usable():
            for root in self._open.live_roots:
                with root.unless_offline():
                    root.checkpoints.write(self._open.of(root))

    @contextmanager
    def _unless_deleted(self, topic_partition: TopicPartition, log: PartitionLog) -> Iterator[None]:
        """Ignore the error of a log whose topic was deleted by another thread in the meantime."""
        try:
            yield
        except KafkaStorageError:
            if self.logs.get(topic_partition) is log:
                raise

    def close(self, *, discard: bool = False) -> None:
        """Stop cleanly: flush and close all logs, write the checkpoints, unlock the directories.

        After an interrupt it can be called again. With `discard` nothing more is written, because the directories are
        about to be removed.
        """
        with self._closing:
            if self._is_released:
                return
            with self._open.lock:  # a topic change in progress is completed first
                self._open.is_closed = True
            self.cleaner.stop()
            failures = self._open.close(self.environment.scheduler, discard=discard)
            self._is_released = True
        if all(root.is_missing for root in self.roots):  # the path may be mistyped
            _log.warning("%s: no such directory, and no topic was created in it", self.roots[0].path)
        if failures:
            raise failures[0]

    def disown(self) -> None:
        """In a forked child: let go of everything without writing; the parent continues."""
        self._closing, self._sharing = threading.Lock(), threading.Lock()  # a thread of the parent may hold them
        self._is_released = True
        self._open.disown()
