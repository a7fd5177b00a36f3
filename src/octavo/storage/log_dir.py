"""`LogDir`: log directories that a program owns, with the topics and partitions in them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import (
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from octavo.format.names import FolderState, PartitionFolder, TopicPartition, collide, topic_problem
from octavo.scheduler import ThreadScheduler
from octavo.storage.delete import remove_folder
from octavo.storage.environment import Environment
from octavo.storage.identity import random_uuid
from octavo.storage.load import LoadRequest
from octavo.storage.log_root import LogRoot
from octavo.storage.log_roots import Paths, as_paths, open_roots
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recover import Recovered
from octavo.storage.retain import Verdict
from octavo.storage.topic_configs import TopicConfigs
from octavo.storage.topic_store import StoredTopic, write_topics

# Called with each segment that was recovered, and how many bytes of its partition are still to be.
RecoveryProgress = Callable[[TopicPartition, Recovered, int], None]

ALL_DIRECTORIES = "*"


class LogDir:
    """One or several log directories, locked, recovered and loaded. Thread-safe; to be closed, or used with `with`.

    `configs` are a broker's, which give topics their defaults; `topic_configs` hold for a topic as long as this object
    lives, over what is stored for it. A directory whose disk fails goes offline, the others stay in use.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        configs: Mapping[str, Given] | None = None,
        topic_configs: Mapping[str, Mapping[str, Given]] | None = None,
        environment: Environment | None = None,
        create: bool = True,
        progress: RecoveryProgress | None = None,
    ) -> None:
        self.broker_config = BrokerConfig.of(configs or {})
        self._defaults = LogConfig.of({}, configs or {})
        self._explicit = dict(topic_configs or {})
        self._progress = progress
        self._lock = threading.RLock()
        self._leaving: list[PartitionLog] = []  # their folders end in -delete
        self._unserved: list[PartitionLog] = []  # of -future and -stray folders
        self._homes: dict[TopicPartition, LogRoot] = {}
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self._closed = False
        places = as_paths(paths)
        self.environment = environment or Environment(ThreadScheduler())
        self.roots: list[LogRoot] = []
        try:
            self.roots = open_roots(places, self.environment, create=create)
            self._configs = TopicConfigs(self.environment.filesystem, places, configs or {})
            for topic, explicit in self._explicit.items():
                self._configs.of(topic, explicit)
            self._load()
        except BaseException:
            self.environment.scheduler.shutdown()
            for root in self.roots:
                root.unlock()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def topics(self) -> dict[str, list[int]]:
        """The partitions of each topic, both in order."""
        found: dict[str, list[int]] = {}
        for topic, partition in sorted(self.logs):
            found.setdefault(topic, []).append(partition)
        return found

    def log(self, topic: str, partition: int) -> PartitionLog:
        """A partition's log; UnknownTopicOrPartitionError if there is none."""
        log = self.logs.get(TopicPartition(topic, partition))
        if log is None:
            raise UnknownTopicOrPartitionError(f"there is no partition {topic}-{partition}")
        return log

    def config(self, topic: str) -> LogConfig:
        """A topic's configs in force."""
        return self._configs.of(topic, self._explicit.get(topic))

    def create_topic(
        self, topic: str, partitions: int | None = None, configs: Mapping[str, Given] | None = None
    ) -> bytes:
        """Make a topic, each partition in the directory that holds the fewest; returns its id.

        1. Store id and configs. 2. Make the folders. After a crash the topic has the partitions that were made.
        """
        with self._usable():
            problem = topic_problem(topic)
            if problem is not None:
                raise InvalidTopicError(f"topic name is invalid: {problem}")
            count = self.broker_config.num_partitions if partitions is None else partitions
            if count < 1:
                raise InvalidPartitionsError(f"{count} partitions for topic {topic}, expected at least 1")
            for other in self.topics:
                if other == topic:
                    raise TopicExistsError(f"topic {topic} exists already")
                if collide(topic, other):
                    raise InvalidTopicError(f"topic name {topic} collides with {other}: '.' and '_' count as the same")
            self._configs.stored.pop(topic, None)
            stored = StoredTopic(random_uuid(), self._configs.altered(topic, configs or {}))
            self._configs.stored[topic] = stored
            self._store_topics()
            for partition in range(count):
                self._create_partition(TopicPartition(topic, partition), stored.topic_id)
            return stored.topic_id

    def create_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions, up to a total."""
        with self._usable():
            known = self._partitions(topic)
            if total <= len(known):
                raise InvalidPartitionsError(f"topic {topic} has {len(known)} partitions, expected more than {total}")
            topic_id = self.logs[TopicPartition(topic, known[0])].topic_id or random_uuid()
            for partition in sorted(set(range(total)) - set(known)):
                self._create_partition(TopicPartition(topic, partition), topic_id)

    def alter_configs(self, topic: str, changes: Mapping[str, Given | None]) -> LogConfig:
        """Change configs of a topic, None being the default; its logs take them at once."""
        with self._usable():
            known = [self.logs[TopicPartition(topic, partition)] for partition in self._partitions(topic)]
            configs = self._configs.altered(topic, changes)
            stored = self._configs.stored.get(topic)
            topic_id = next((log.topic_id for log in known if log.topic_id), None)
            topic_id = topic_id or (stored.topic_id if stored else random_uuid())
            self._configs.stored[topic] = StoredTopic(topic_id, configs)
            self._store_topics()
            config = self.config(topic)
            for log in known:
                log.configure(config)
            return config

    def delete_topic(self, topic: str) -> None:
        """Rename a topic's folders to `-delete`, and remove them after the broker's file.delete.delay.ms."""
        with self._usable():
            names = [TopicPartition(topic, partition) for partition in self._partitions(topic)]
            roots = {self._homes[name].path: self._homes[name] for name in names}
            for name in names:
                log = self.logs[name]
                log.rename_folder(PartitionFolder(*name, FolderState.DELETE, secrets.token_hex(16)).name)
                del self.logs[name], self._homes[name]
                self._leaving.append(log)
                delay_ms = self._defaults.file_delete_delay_ms
                self.environment.scheduler.schedule("delete-log", log.delete, delay_ms=delay_ms)
            self._configs.stored.pop(topic, None)
            self._store_topics()
            for root in roots.values():
                root.forget_cleaner_offsets(names)
                root.write_checkpoints(self._logs_of(root))

    def retain(self, *, dry_run: bool = False) -> dict[TopicPartition, list[Verdict]]:
        """One round of retention over all partitions; says what becomes of each segment and why."""
        return {name: log.retain(dry_run=dry_run) for name, log in sorted(self.logs.items())}

    def truncate(self, topic: str, partition: int, offset: int) -> bool:
        """Drop every batch of a partition that holds the offset or lies behind it; says whether the log changed."""
        with self._usable():
            log, name = self.log(topic, partition), TopicPartition(topic, partition)
            changed = log.truncate_to(offset)
            root = self._homes[name]
            root.limit_cleaner_offset(name, log.segments.active.base_offset)
            root.write_checkpoints(self._logs_of(root))
            return changed

    def flush(self) -> None:
        """Sync all logs to the disk."""
        for log in list(self.logs.values()):
            log.flush()

    def checkpoint(self) -> None:
        """Write the offset checkpoints of all directories."""
        with self._usable():
            for root in self.roots:
                if root.failure is None:
                    root.write_checkpoints(self._logs_of(root))

    def close(self) -> None:
        """A clean stop: 1. End background work. 2. Flush and close every log. 3. Write the checkpoints, then
        `.kafka_cleanshutdown`. 4. Unlock. A crash before 3 is done makes the next start recover.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.environment.scheduler.shutdown()
            with ExitStack() as unlock:
                for root in self.roots:
                    unlock.callback(root.unlock)
                for log in self._leaving:
                    log.abandon("it is deleted")
                for root in self.roots:
                    self._close(root)

    def _close(self, root: LogRoot) -> None:
        if root.failure is not None:
            return
        try:
            self._stop(root)
        except KafkaStorageError:
            if root.failure is None:
                raise
            # Its disk failed meanwhile, which was said; the other directories are closed all the same.

    def _stop(self, root: LogRoot) -> None:
        logs = self._logs_of(root)
        for log in (*logs.values(), *(log for log in self._unserved if log.folder.parent == root.path)):
            log.close()
        root.write_checkpoints(logs)
        root.mark_clean()

    def _load(self) -> None:
        """Load every partition, several at a time in each directory."""
        loading: list[tuple[LogRoot, Path, PartitionFolder, Future[PartitionLog]]] = []
        threads = self.broker_config.num_recovery_threads_per_data_dir
        with ExitStack() as pools:
            for root in self.roots:
                pool = pools.enter_context(ThreadPoolExecutor(threads, "octavo-load"))
                root.begin()
                for name, folder in root.folders().items():
                    path = root.path / name
                    if folder.state is FolderState.DELETE:
                        self._queue_removal(path)
                        continue
                    loading.append((root, path, folder, pool.submit(self._open, root, path, folder)))
        for root, _, folder, future in loading:
            try:
                log = future.result()
            except OSError as error:
                self._take_offline(root, error)
                continue
            if folder.state is FolderState.CURRENT:
                self.logs[folder.topic_partition] = log
                self._homes[folder.topic_partition] = root
            else:
                self._unserved.append(log)
        failed = [root for root in self.roots if root.failure is not None]
        for root in failed:
            self._abandon(root)
        if len(failed) == len(self.roots):
            raise KafkaStorageError(f"{failed[0].path}: {failed[0].failure}")

    def _open(self, root: LogRoot, path: Path, folder: PartitionFolder, *, clean: bool | None = None) -> PartitionLog:
        name, progress = folder.topic_partition, self._progress

        def recovered(segment: Recovered, bytes_left: int) -> None:
            if progress is not None:
                progress(name, segment, bytes_left)

        request = LoadRequest(
            folder=path,
            config=self.config(folder.topic),
            environment=self.environment,
            clean=root.clean if clean is None else clean,
            log_start_offset=root.log_start_offsets.get(name, 0),
            recovery_point=root.recovery_points.get(name, 0),
            producer_expiration_ms=self.broker_config.producer_id_expiration_ms,
            progress=recovered,
        )
        return PartitionLog(request, on_failure=lambda error: self._take_offline(root, error))

    def _create_partition(self, name: TopicPartition, topic_id: bytes) -> None:
        root = self._emptiest()
        folder = PartitionFolder(*name)
        root.log_start_offsets.pop(name, None)
        root.recovery_points.pop(name, None)
        log = self._open(root, root.path / folder.name, folder, clean=True)
        log.set_topic_id(topic_id)
        self.environment.filesystem.fsync_folder(root.path)
        self.logs[name], self._homes[name] = log, root

    def _emptiest(self) -> LogRoot:
        """The directory with the fewest partitions, of those that are in use and not cordoned."""
        live = [root for root in self.roots if root.failure is None]
        if not live:
            raise KafkaStorageError("all log directories are offline")
        cordoned = self.broker_config.cordoned_log_dirs
        open_for_new = [root for root in live if str(root.path) not in cordoned and ALL_DIRECTORIES not in cordoned]
        counts = [(len(self._logs_of(root)), slot) for slot, root in enumerate(open_for_new)]
        return open_for_new[min(counts)[1]] if counts else live[0]

    def _partitions(self, topic: str) -> Sequence[int]:
        known = self.topics.get(topic)
        if known is None:
            raise UnknownTopicOrPartitionError(f"there is no topic {topic}")
        return known

    def _logs_of(self, root: LogRoot) -> dict[TopicPartition, PartitionLog]:
        return {name: self.logs[name] for name, home in sorted(self._homes.items()) if home is root}

    def _store_topics(self) -> None:
        for root in self.roots:
            if root.failure is None:
                write_topics(self.environment.filesystem, root.path, self._configs.stored)

    def _queue_removal(self, path: Path) -> None:
        files, delay_ms = self.environment.filesystem, self._defaults.file_delete_delay_ms
        self.environment.scheduler.schedule("delete-log", lambda: remove_folder(files, path), delay_ms=delay_ms)

    def _take_offline(self, root: LogRoot, error: OSError) -> None:
        root.take_offline(error)
        self._abandon(root)

    def _abandon(self, root: LogRoot) -> None:
        for name, home in list(self._homes.items()):
            if home is root:
                self.logs[name].abandon(f"its directory is offline: {root.failure}")

    def _usable(self) -> threading.RLock:
        """The lock under which topics change; refused once all is closed."""
        if self._closed:
            raise KafkaStorageError(f"{self.roots[0].path}: it is closed")
        return self._lock
