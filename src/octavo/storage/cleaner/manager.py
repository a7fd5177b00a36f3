"""Compaction in the background of a `LogDir`: the filthiest log first, one run after the other."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from octavo.config import BrokerConfig
from octavo.errors import CleaningAborted, KafkaStorageError
from octavo.format.names import TopicPartition
from octavo.storage.cleaner.clean import Cleaned, clean
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import plan_cleaning, range_of
from octavo.storage.cleaner.range import CleanableRange
from octavo.storage.cleaner.states import CleanerStates
from octavo.storage.cleaner.throttle import Throttle
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.system.filesystem import is_disk_failure
from octavo.system.signals import Signal

_log = logging.getLogger(__name__)


class Filthy(NamedTuple):
    """A log that is due, and what of it can be cleaned."""

    name: TopicPartition
    log: PartitionLog
    root: LogRoot
    cleanable: CleanableRange


def filthiest(found: Iterable[Filthy]) -> list[Filthy]:
    """The logs that are eligible, the one with the largest dirty ratio first; overdue ones have no other right."""
    eligible = [each for each in found if each.cleanable.is_eligible(each.log.config)]
    return sorted(eligible, key=lambda each: each.cleanable.ratio, reverse=True)


class CleanerManager:
    """Thread-safe. A log on which a run fails is marked uncleanable until it is opened anew; the others are cleaned on.

    `states` pauses partitions for those who are about to change them otherwise.
    """

    def __init__(self, logs: OpenLogs, environment: Environment, broker_config: BrokerConfig) -> None:
        self.states = CleanerStates()
        self._logs = logs
        self._environment = environment
        self._config = broker_config
        self._limits = MapLimits.of(broker_config, secrets.token_bytes(16))
        self._is_stopping = False
        self._stopping = Signal()
        rate = broker_config.log_cleaner_io_max_bytes_per_second
        self._throttle = Throttle(rate, environment.clock, self._wait_ms)

    def start(self) -> None:
        """Let log.cleaner.threads work through what is due, again and again."""
        for number in range(self._config.log_cleaner_threads if self._config.log_cleaner_enable else 0):
            name, period_ms = f"kafka-log-cleaner-thread-{number}", self._config.log_cleaner_backoff_ms
            self._environment.scheduler.schedule(name, self.work, period_ms=max(period_ms, 1))

    def stop(self) -> None:
        """Abort what is in progress; returns when nothing is."""
        self._is_stopping = True
        self._stopping.notify()
        self.states.stop()

    def work(self) -> None:
        """Clean until nothing is due; after each run compacted logs get their retention."""
        while self.clean_filthiest() is not None:
            self.retain()
        self.retain()
        self.states.keep_marks(self._logs.logs.keys())

    def clean_filthiest(self) -> Cleaned | None:
        """A run on the log that is due most; None if none is, or its run failed or was aborted."""
        for chosen in filthiest(self._candidates()):
            if self.states.begin(chosen.name):
                return self._clean(chosen)
        return None

    def retain(self) -> None:
        """Retention of compacted logs, while no run is on them."""
        for name, log in list(self._logs.logs.items()):
            if "compact" not in log.config.cleanup_policy or not self.states.begin(name):
                continue
            try:
                log.retain()
            except KafkaStorageError as error:
                _log.debug("retention of %s: %s", name, error)  # deleted meanwhile, or offline, which was said
            except Exception:
                _log.exception("retention of %s failed", name)
            finally:
                self.states.end(name)

    def _candidates(self) -> list[Filthy]:
        found: list[Filthy] = []
        for root in self._logs.live_roots:
            with root.unless_offline():  # offline then, which is said
                found += self._compacted(root)
        return found

    def _compacted(self, root: LogRoot) -> Iterator[Filthy]:
        """The compacted logs of a directory; a checkpoint that lies outside its log is corrected."""
        offsets, now_ms = root.checkpoints.cleaner_offsets(), self._environment.clock.time_ms()
        with self._logs.lock:
            logs = self._logs.of(root)
        for name, log in logs.items():
            if "compact" not in log.config.cleanup_policy or name in self.states.uncleanable:
                continue
            try:
                cleanable = range_of(log, offsets.get(name), now_ms)
            except OSError as error:
                if is_disk_failure(error):
                    raise
                _log.debug("%s is passed over: %s", name, error)  # a file was renamed just now; the next round sees it
                continue
            if cleanable.is_checkpoint_invalid:
                _log.warning("the checkpoint of the cleaner for %s lies outside of its log: all is dirty", name)
                root.checkpoints.write_cleaner_offset(name, cleanable.first_dirty_offset)
            yield Filthy(name, log, root, cleanable)

    def _clean(self, chosen: Filthy) -> Cleaned | None:
        """1. The run, which puts new segments into the log. 2. The checkpoint. A crash between them repeats work."""
        try:
            with chosen.root.using():
                return self._run(chosen)
        except CleaningAborted as aborted:
            _log.info("%s", aborted)
        except KafkaStorageError as error:
            _log.debug("cleaning of %s: %s", chosen.name, error)  # deleted meanwhile, or offline, which was said
        except Exception as error:
            self.states.mark_uncleanable(chosen.name, str(error))
            _log.exception("%s cannot be cleaned, and is left alone until it is opened again", chosen.name)
        finally:
            self.states.end(chosen.name)  # also where the directory went offline before the run began
        return None

    def _run(self, chosen: Filthy) -> Cleaned:
        try:
            plan = plan_cleaning(chosen.log, chosen.cleanable, self._limits, self._environment.clock.time_ms())
            cleaned = clean(chosen.log, plan, partial(self._on_bytes, chosen))
            chosen.root.checkpoints.write_cleaner_offset(chosen.name, cleaned.end_offset)
            return cleaned
        finally:
            self.states.end(chosen.name)  # before a failing disk is dealt with: who waits may hold that one's lock

    def _on_bytes(self, chosen: Filthy, count: int) -> None:
        self.states.check(chosen.name)
        if "compact" not in chosen.log.config.cleanup_policy:
            raise CleaningAborted(f"the cleaning of {chosen.name} was aborted: its cleanup.policy is another now")
        self._throttle.add(count)

    def _wait_ms(self, duration_ms: int) -> None:
        self._stopping.wait(lambda: self._is_stopping, duration_ms / 1000)
