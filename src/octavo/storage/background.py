"""The periodic work of an open `LogManager`: flushes, checkpoints and producer expiry. With upkeep, it also applies
retention, sweeps staged files and removes deleted partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from octavo.config import BrokerConfig
from octavo.errors import KafkaStorageError
from octavo.storage.directory.checkpoints import Logs, OffsetCheckpoints
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.delete import remove_folder
from octavo.storage.staging.ledger import CommitLedger
from octavo.storage.staging.sweep import SWEEP_INTERVAL_MS, sweep_dead

_log = logging.getLogger(__name__)


class Background:
    """The periodic tasks, most of them under Kafka's names. A failing log or directory does not stop the others."""

    def __init__(
        self, open_logs: OpenLogs, environment: Environment, broker_config: BrokerConfig, commits: CommitLedger
    ) -> None:
        self._open_logs = open_logs
        self._commits = commits
        self._environment = environment
        self._config = broker_config

    def start(self) -> None:
        """Schedule the tasks that delete nothing. A period of 0 means the task runs once."""
        config = self._config
        self.every(config.log_flush_scheduler_interval_ms, "kafka-log-flusher", self.flush)
        self.every(config.producer_id_expiration_check_interval_ms, "expire-producers", self.expire_producers)
        for period_ms, name, write in (
            (
                config.log_flush_offset_checkpoint_interval_ms,
                "kafka-recovery-point-checkpoint",
                OffsetCheckpoints.write_recovery_points,
            ),
            (
                config.log_flush_start_offset_checkpoint_interval_ms,
                "kafka-log-start-offset-checkpoint",
                OffsetCheckpoints.write_log_start_offsets,
            ),
            (
                config.replica_high_watermark_checkpoint_interval_ms,
                "highwatermark-checkpoint",
                OffsetCheckpoints.write_high_watermarks,
            ),
        ):
            self.every(period_ms, name, partial(self._checkpoint, write))

    def every(self, period_ms: int, name: str, run: Callable[[], None]) -> None:
        """Run a function periodically, for the first time after log.initial.task.delay.ms."""
        delay_ms = self._config.log_initial_task_delay_ms
        self._environment.scheduler.schedule(name, run, delay_ms=delay_ms, period_ms=period_ms or None)

    def start_upkeep(self, delay_ms: int) -> None:
        """Schedule retention, the sweep of staged files, and the removal of `-delete` folders that were there when
        the directories were opened."""
        self.every(self._config.log_retention_check_interval_ms, "kafka-log-retention", self.retain)
        self.every(SWEEP_INTERVAL_MS, "octavo-staged-files", self.sweep_staged)
        for root in self._open_logs.live_roots:
            for folder in root.deleted_folders:
                remove = partial(remove_folder, root.files, folder)
                self._environment.scheduler.schedule("delete-log", remove, delay_ms=delay_ms)

    def sweep_staged(self) -> None:
        """Remove what dead writers staged, in directories that were opened completely."""
        now_ms, keep = self._environment.clock.time_ms(), self._commits.pending_files()
        for root in self._open_logs.live_roots:
            if root.selection.is_all:
                with root.unless_offline():
                    sweep_dead(root.files, [root.path], now_ms, keep=keep)

    def retain(self) -> None:
        """Drop segments beyond the retention limits. Compacted logs are left to the cleaner, which cleans and retains
        in turn."""

        def retain(log: PartitionLog) -> None:
            if "compact" not in log.config.cleanup_policy:
                log.retain()

        self._each("retention", retain)

    def flush(self) -> None:
        """Flush the logs whose flush.ms has passed."""
        now_ms = self._environment.clock.monotonic_ms()

        def flush(log: PartitionLog) -> None:
            if now_ms - log.last_flush_ms >= log.config.flush_ms:
                log.flush()

        self._each("flush", flush)

    def expire_producers(self) -> None:
        """Forget producers that have been idle for producer.id.expiration.ms."""
        self._each("expiry of producers", PartitionLog.remove_expired_producers)

    def _checkpoint(self, write: Callable[[OffsetCheckpoints, Logs], None]) -> None:
        for root in self._open_logs.live_roots:
            try:
                with self._open_logs.lock, root.unless_offline():
                    write(root.checkpoints, self._open_logs.of(root))
            except KafkaStorageError as error:
                _log.warning("a checkpoint was not written: %s", error)

    def _each(self, name: str, work: Callable[[PartitionLog], None]) -> None:
        for topic_partition, log in list(self._open_logs.logs.items()):
            try:
                work(log)
            except KafkaStorageError as error:
                _log.debug("%s of %s: %s", name, topic_partition, error)  # deleted, offline, or an error of one call
            except Exception:
                _log.exception("%s of %s failed", name, topic_partition)
