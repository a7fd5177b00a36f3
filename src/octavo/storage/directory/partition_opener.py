"""Opens the log of one partition, or all logs of a `LogManager`, several at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from octavo.config import BrokerConfig
from octavo.errors import KafkaStorageError, OctavoError
from octavo.format.names import FolderState, PartitionFolder, TopicPartition
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.check_ahead import Checkers
from octavo.storage.recovery.load import LoadRequest
from octavo.storage.recovery.recover import OnLoss, no_loss, no_progress
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import is_disk_failure
from octavo.system.os_errors import described

# Called from any thread with the number of bytes that recovery has read in a partition since the last call.
RecoveryProgress = Callable[[TopicPartition, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """How the logs of a `LogManager` are opened."""

    progress: RecoveryProgress | None = None
    on_loss: OnLoss = no_loss
    upkeep: bool = False  # remove files and folders marked as deleted
    check_all: bool = False  # check every batch, even after a clean stop and before the recovery points


class PartitionOpener:
    """Opens logs with their topic's configs and their offsets from the directory's checkpoints."""

    def __init__(
        self,
        logs: OpenLogs,
        environment: Environment,
        broker_config: BrokerConfig,
        configs: TopicConfigs,
        options: OpenOptions,
    ) -> None:
        self._logs = logs
        self._environment = environment
        self._broker_config = broker_config
        self._configs = configs
        self._options = options

    def load_all(self, *, skip_unreadable: bool = False) -> None:
        """Open every selected partition of the directories.

        With `skip_unreadable`, a partition that cannot be loaded stays closed and is listed in `OpenLogs.unreadable`.
        Without it, its error is raised and nothing is opened (a directory that was stopped cleanly still counts as
        such), but if its disk failed, only its directory goes offline.
        """
        loading = self._begin_loading()
        unreadable: list[OctavoError] = []
        for root, folder, future in loading:
            try:
                self._add(root, folder, future.result())
            except (OctavoError, OSError) as error:
                if skip_unreadable:
                    self._logs.unreadable[root.path / folder.name] = error
                    root.leave_unread(folder)
                elif isinstance(error, OctavoError):
                    unreadable.append(error)
                elif is_disk_failure(error):
                    root.take_offline(error)
                else:
                    unreadable.append(
                        KafkaStorageError(f"{root.path / folder.name}: cannot load it: {described(error)}")
                    )
        self._logs.abandon_offline()
        if unreadable:
            self._close_unchanged()
            raise unreadable[0]
        if all(root.failure is not None for root in self._logs.roots):
            raise KafkaStorageError("; ".join(f"{root.path}: {root.failure}" for root in self._logs.roots))

    def _begin_loading(self) -> list[tuple[LogRoot, PartitionFolder, Future[PartitionLog]]]:
        """Load logs in parallel; returns when each has been loaded or has failed."""
        loading: list[tuple[LogRoot, PartitionFolder, Future[PartitionLog]]] = []
        threads = self._broker_config.num_recovery_threads_per_data_dir
        with ExitStack() as pools:
            for root in self._logs.live_roots:
                checks = pools.enter_context(ThreadPoolExecutor(threads, "octavo-check"))
                pool = pools.enter_context(ThreadPoolExecutor(threads, "octavo-load"))
                opens = partial(self.open, root, checkers=Checkers(checks, threads) if threads > 1 else None)
                with root.unless_offline():
                    root.begin()
                    loading += [(root, folder, pool.submit(opens, folder)) for folder in root.to_open()]
        return loading

    def _add(self, root: LogRoot, folder: PartitionFolder, log: PartitionLog) -> None:
        if folder.state is not FolderState.CURRENT:
            self._logs.future_and_stray.append((root, log))
            return
        stored = self._configs.stored.get(folder.topic)
        if log.topic_id is None and stored is not None:
            # A crash came between creating the folder and its partition.metadata; a broker would take the folder for a
            # stray.
            with suppress(KafkaStorageError):
                log.set_topic_id(stored.topic_id)
        self._logs.add(folder.topic_partition, root, log)

    def _close_unchanged(self) -> None:
        """Close the loaded logs of directories that were stopped cleanly, and mark these directories as such again."""
        for root in self._logs.live_roots:
            if root.clean:
                with root.unless_offline():
                    for log in self._logs.all_of(root):
                        log.close()
                    root.mark_clean()

    def configure(self, broker_config: BrokerConfig) -> None:
        """Use new configs for the logs that are open and for those to come."""
        self._broker_config = broker_config
        for topic_partition, log in self._logs.logs.items():
            log.configure(self._configs.of(topic_partition.topic))
            log.producers.expiration_ms = broker_config.producer_id_expiration_ms

    def create(self, topic_partition: TopicPartition, root: LogRoot, topic_id: bytes) -> PartitionLog:
        """Create a partition's folder; returns its log, which is not visible yet."""
        with root.using():
            root.checkpoints.forget(topic_partition)
            log = self.open(root, PartitionFolder(*topic_partition), clean=True)
            log.set_topic_id(topic_id)
            return log

    def open(
        self, root: LogRoot, folder: PartitionFolder, *, clean: bool | None = None, checkers: Checkers | None = None
    ) -> PartitionLog:
        """The log in a folder, which is created if missing."""
        topic_partition, progress, checks_all = folder.topic_partition, self._options.progress, self._options.check_all
        is_current = folder.state is FolderState.CURRENT  # the checkpoint is not about a -future log
        recovery_point = root.checkpoints.recovery_points.get(topic_partition, 0)
        request = LoadRequest(
            folder=root.path / folder.name,
            config=self._configs.of(folder.topic),
            environment=self._environment,
            clean=root.clean and not checks_all if clean is None else clean,
            log_start_offset=root.checkpoints.log_start_offsets.get(topic_partition, 0),
            recovery_point=0 if checks_all else recovery_point,
            flushed_up_to=recovery_point if is_current else 0,
            producer_expiration_ms=self._broker_config.producer_id_expiration_ms,
            progress=no_progress if progress is None else partial(progress, topic_partition),
            on_loss=self._options.on_loss,
            upkeep=self._options.upkeep,
            checkers=checkers,
        )
        return PartitionLog(request, on_failure=root.take_offline)
