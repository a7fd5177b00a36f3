"""Compaction in the background of a `LogManager`: each thread cleans one log at a time, the one with the largest dirty
ratio first."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from functools import partial

from octavo.config import BrokerConfig
from octavo.errors import CleaningAborted, KafkaStorageError
from octavo.storage.cleaner.clean import Cleaned, Cleaner
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate
from octavo.storage.cleaner.states import CleanerStates
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.environment import Environment
from octavo.system.clock import Clock
from octavo.system.filesystem import is_disk_failure
from octavo.system.runner import InlineRunner
from octavo.system.scheduler import ScheduledTask
from octavo.system.signals import Signal

_THROTTLE_MS = 300  # the shortest time over which a rate is measured
_log = logging.getLogger(__name__)


class CleanerManager:
    """Thread-safe. A log that cannot be cleaned is left alone until it is opened again; others are still cleaned.

    `states` pauses partitions for callers that are about to change them.
    """

    def __init__(self, open_logs: OpenLogs, environment: Environment, broker_config: BrokerConfig) -> None:
        self.states = CleanerStates()
        self._open_logs = open_logs
        self._environment = environment
        self._is_stopping = False
        self._stopping = Signal()
        self._tasks: list[ScheduledTask] = []
        self._set(broker_config)

    def _set(self, broker_config: BrokerConfig) -> None:
        self._config = broker_config
        self._limits = MapLimits.of(broker_config, secrets.token_bytes(16))
        rate = broker_config.log_cleaner_io_max_bytes_per_second
        self._throttle = Throttle(rate, self._environment.clock, self._wait_ms)

    def start(self) -> None:
        """Schedule log.cleaner.threads tasks that clean what is due, unless log.cleaner.enable is false."""
        for number in range(self._config.log_cleaner_threads if self._config.log_cleaner_enable else 0):
            name, period_ms = f"kafka-log-cleaner-thread-{number}", self._config.log_cleaner_backoff_ms
            task = self._environment.scheduler.schedule(name, self.work, period_ms=max(period_ms, 1))
            self._tasks.append(task)

    @staticmethod
    def check(broker_config: BrokerConfig) -> None:
        """Raise ConfigError for configs with which nothing could be cleaned."""
        MapLimits.of(broker_config, b"")

    def configure(self, broker_config: BrokerConfig) -> None:
        """Use new configs: the I/O rate at once, the others from the next cleaning on."""
        self._set(broker_config)
        if self._tasks:
            for task in self._tasks:
                task.cancel()
            self._tasks.clear()
            self.start()

    def stop(self) -> None:
        """Abort cleanings in progress; returns when they have ended, or after a minute."""
        self._is_stopping = True
        self._stopping.notify()
        self.states.stop()

    def work(self) -> None:
        """Clean until nothing is due, a cleaning fails or the configs change; after each, apply retention to the
        compacted logs."""
        config = self._config
        while self._config is config and self.clean_filthiest() is not None:
            self.retain()
        self.retain()
        self.states.keep_marks(self._open_logs.logs.keys())

    def clean_filthiest(self) -> Cleaned | None:
        """Clean the log with the largest dirty ratio among those that are due and neither being cleaned nor paused.

        Returns None if there is none, or if the cleaning failed or was aborted. A log that has exceeded
        max.compaction.lag.ms is due, but gets no priority.
        """
        found: list[Candidate] = []
        for root in self._open_logs.live_roots:
            with root.unless_offline():  # it logs an error if the directory goes offline
                found += self._candidates(root)
        due = [candidate for candidate in found if candidate.cleanable.is_eligible(candidate.log.config)]
        for chosen in sorted(due, key=lambda candidate: candidate.cleanable.ratio, reverse=True):
            if self.states.begin(chosen.topic_partition):
                return self._clean(chosen)
        return None

    def retain(self) -> None:
        """Apply retention to the compacted logs, except those that are being cleaned, paused or uncleanable."""
        for topic_partition, log in list(self._open_logs.logs.items()):
            if "compact" not in log.config.cleanup_policy or not self.states.begin(topic_partition):
                continue
            try:
                log.retain()
            except KafkaStorageError as error:
                # deleted, offline (already reported), or an error of one call, after which the next round tries again
                _log.debug("retention of %s: %s", topic_partition, error)
            except Exception:
                _log.exception("retention of %s failed", topic_partition)
            finally:
                self.states.end(topic_partition)

    def _candidates(self, root: LogRoot) -> Iterator[Candidate]:
        """A directory's compacted logs, without uncleanable ones; corrects a checkpoint that lies outside its log."""
        offsets, now_ms = root.checkpoints.cleaner_offsets(), self._environment.clock.time_ms()
        with self._open_logs.lock:
            logs = self._open_logs.of(root)
        for topic_partition, log in logs.items():
            if "compact" not in log.config.cleanup_policy or topic_partition in self.states.uncleanable:
                continue
            try:
                candidate = Candidate.of(topic_partition, log, root, offsets.get(topic_partition), now_ms)
            except OSError as error:
                if is_disk_failure(error):
                    raise
                # such as a file that was just renamed: the next round tries again
                _log.debug("%s is skipped: %s", topic_partition, error)
                continue
            if candidate.cleanable.is_checkpoint_invalid:
                _log.warning(
                    "the cleaner's checkpoint for %s lies outside its log, so the whole log counts as dirty",
                    topic_partition,
                )
                root.checkpoints.write_cleaner_offset(topic_partition, candidate.cleanable.first_dirty_offset)
            yield candidate

    def _clean(self, chosen: Candidate) -> Cleaned | None:
        topic_partition, environment = chosen.topic_partition, self._environment
        on_bytes, now_ms = partial(self._on_bytes, chosen), environment.clock.time_ms()
        try:
            with chosen.root.using():
                try:
                    cleaner = Cleaner(InlineRunner(), environment.filesystem, self._limits, now_ms, on_bytes)
                    (outcome,) = cleaner.clean([chosen])
                    return outcome.get()
                finally:
                    # End the cleaning before `using` reacts to a failed disk: that takes a lock, which a thread waiting
                    # for this end may hold.
                    self.states.end(topic_partition)
        except CleaningAborted as aborted:
            _log.info("%s", aborted)
        except KafkaStorageError as error:
            # deleted, offline (already reported), or an error of one call, after which the next round tries again
            _log.debug("cleaning of %s: %s", topic_partition, error)
        except Exception as error:
            self.states.mark_uncleanable(topic_partition, str(error))
            _log.exception("%s cannot be cleaned, and is left alone until it is opened again", topic_partition)
        finally:
            self.states.end(topic_partition)  # even if the directory went offline before the cleaning began
        return None

    def _on_bytes(self, chosen: Candidate, count: int) -> None:
        self.states.check(chosen.topic_partition)
        if "compact" not in chosen.log.config.cleanup_policy:
            raise CleaningAborted(f"the cleaning of {chosen.topic_partition} was aborted: cleanup.policy has changed")
        self._throttle.add(count)

    def _wait_ms(self, duration_ms: int) -> None:
        self._stopping.wait(lambda: self._is_stopping, duration_ms / 1000)


class Throttle:
    """Limits how fast all cleaner threads together read and write: a thread that exceeds the rate waits."""

    def __init__(self, bytes_per_second: float, clock: Clock, wait_ms: Callable[[int], None]) -> None:
        self._bytes_per_ms = bytes_per_second / 1000
        self._clock = clock
        self._wait_ms = wait_ms
        self._lock = threading.Lock()
        self._begin_ms = clock.monotonic_ms()
        self._bytes = 0

    def add(self, count: int) -> None:
        """Count bytes read or written, and wait if that was too fast."""
        with self._lock:
            self._bytes += count
            elapsed_ms = self._clock.monotonic_ms() - self._begin_ms
            if elapsed_ms <= _THROTTLE_MS:
                return
            if self._bytes > elapsed_ms * self._bytes_per_ms:
                self._wait_ms(round(self._bytes / self._bytes_per_ms - elapsed_ms))
            self._begin_ms, self._bytes = self._clock.monotonic_ms(), 0
