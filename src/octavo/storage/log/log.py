"""A partition's log in memory: segments, leader epochs and producers, the offsets that bound it, and the lock for
changes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from octavo.config import LogConfig
from octavo.errors import AppendRejected, KafkaStorageError, OffsetOutOfRangeError, PolicyViolationError
from octavo.storage.environment import Environment
from octavo.storage.log.epochs import LeaderEpochs
from octavo.storage.log.read import Isolation, Limits, OffsetMetadata, locate
from octavo.storage.log.validation_settings import ValidationSettings
from octavo.storage.producers.files import Producers
from octavo.storage.segment.delete import Deleter
from octavo.storage.segment.segment import Segment
from octavo.storage.segment.segments import Segments
from octavo.system.filesystem import is_disk_failure
from octavo.system.os_errors import described

# Errors raised before anything was changed.
_REFUSALS = AppendRejected, PolicyViolationError, OffsetOutOfRangeError


class LogParts(NamedTuple):
    """The result of loading a folder."""

    segments: Segments
    epochs: LeaderEpochs
    producers: Producers
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    is_changed: bool  # files were changed while loading


class Log(ABC):
    """Changes need `lock`; readers call `limits` without it.

    log start offset ≤ high watermark ≤ log end offset. But as in Kafka, a high watermark inside a batch becomes the
    batch's base offset as soon as its position is looked up.

    A failing disk makes the log unusable: `on_failure` is called, and later calls raise KafkaStorageError. Anything
    else that interrupts a change (Ctrl-C, too many open files) leaves the log uncertain, since memory and disk may
    differ: it is loaded again before its next change or flush.
    """

    def __init__(
        self,
        folder: Path,
        config: LogConfig,
        environment: Environment,
        parts: LogParts,
        *,
        is_sole_replica: bool,
        on_failure: Callable[[OSError], None] | None,
    ) -> None:
        self.lock = threading.RLock()
        self.folder = folder
        self.environment = environment
        self.is_sole_replica = is_sole_replica
        self.deleter = Deleter(environment.filesystem, environment.scheduler)
        self.closed_because: str | None = None
        self.is_uncertain = False  # a change has begun and not finished
        self.last_flush_ms = environment.clock.monotonic_ms()
        self.cuts = 0  # how often the log was truncated at its end, or loaded again
        self._watchers: tuple[Callable[[], None], ...] = ()
        self._on_failure = on_failure
        self.configure(config)
        self._high_watermark = parts.log_start_offset
        self.adopt(parts)

    def configure(self, config: LogConfig) -> None:
        """Use new configs from the next append, roll or retention round; open segments keep theirs."""
        with self.lock:
            self.config = config
            self.settings = ValidationSettings.of(config)

    def adopt(self, parts: LogParts) -> None:
        """Take over what was loaded: when the log is opened, or when it is loaded again, with `lock` held."""
        self.segments, self.epochs, self.producers = parts.segments, parts.epochs, parts.producers
        self.log_start_offset, self.recovery_point = parts.log_start_offset, parts.recovery_point
        self.set_log_end(parts.log_end_offset)
        self.is_changed = parts.is_changed  # later: changed since it was loaded
        self._high_watermark_place: OffsetMetadata | None = None
        self.refresh_first_unstable()
        if self.is_sole_replica:
            self.high_watermark_to_end()

    @property
    def size(self) -> int:
        """Total size of all segments' log files, in bytes."""
        return sum(segment.size for segment in self.segments)

    @property
    def log_end_offset(self) -> int:
        return self.log_end.offset

    def set_log_end(self, offset: int) -> None:
        """Move the log's end; the recovery point never exceeds it."""
        self.is_changed = True
        active = self.segments.active
        self.log_end = OffsetMetadata(offset, active.base_offset, active.size)
        self.recovery_point = min(self.recovery_point, offset)

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment, not yet part of the log."""
        filesystem, clock = self.environment.filesystem, self.environment.clock
        return Segment(self.folder, base_offset, self.config, filesystem, clock, create=True)

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, clamped to the log's bounds; returns the new value."""
        with self.lock:
            log_end = self.log_end
            self._high_watermark = min(max(offset, self.log_start_offset), log_end.offset)
            self._high_watermark_place = log_end if self._high_watermark == log_end.offset else None
            self.producers.transactions.forget_before(self._high_watermark)
            self.refresh_first_unstable()
            return self._high_watermark

    def high_watermark_to_end(self) -> None:
        """Raise the high watermark to the log's end, so readers see everything; `lock` is held."""
        log_end = self.log_end
        self._high_watermark, self._high_watermark_place = log_end.offset, log_end
        transactions = self.producers.transactions
        if transactions.unreplicated:
            transactions.forget_before(log_end.offset)
            self.refresh_first_unstable()

    @property
    def last_stable_offset(self) -> int:
        """Where a reader of committed records must stop."""
        unstable = self.first_unstable_offset
        return self._high_watermark if unstable is None else min(unstable, self._high_watermark)

    def refresh_first_unstable(self) -> None:
        """Find the first offset of a transaction that is undecided, or whose marker is not replicated yet.

        Call it after every change of transactions or of the log's start.
        """
        self.first_unstable_offset = self.producers.transactions.first_unstable_offset(self.log_start_offset)

    def last_fetchable_offset(self, isolation: Isolation) -> int:
        """Where a reader with this isolation must stop."""
        if isolation is Isolation.READ_COMMITTED:
            return self.last_stable_offset
        return self.high_watermark if isolation is Isolation.READ_UNCOMMITTED else self.log_end_offset

    def limits(self, isolation: Isolation) -> Limits:
        """The part of the log that a reader may see now."""
        log_end = self.log_end
        if isolation is Isolation.LOG_END:
            return Limits(self.log_start_offset, log_end, log_end)
        bound = self._locate_high_watermark()
        if isolation is Isolation.READ_COMMITTED:
            stable = self.last_stable_offset
            if stable < bound.offset:
                bound = self.locate(stable)
        return Limits(self.log_start_offset, log_end, bound)

    def locate(self, offset: int) -> OffsetMetadata:
        """Like `read.locate`; OffsetOutOfRangeError before the first segment and after the log's end."""
        segments, log_end = self.segments, self.log_end
        if segments.floor(offset) is None or offset > log_end.offset:
            raise OffsetOutOfRangeError(offset, self.log_start_offset, log_end.offset)
        return locate(segments, offset, log_end)

    def _locate_high_watermark(self) -> OffsetMetadata:
        place = self._high_watermark_place
        if place is None:
            with self.lock:
                place = self._high_watermark_place = self.locate(self._high_watermark)
                self._high_watermark = place.offset
        return place

    @property
    def is_closed(self) -> bool:
        return self.closed_because is not None

    @contextmanager
    def changing(self, action: str) -> Iterator[None]:
        """Change the log under its lock; a change that does not finish leaves the log uncertain."""
        with self.usable(action), self.lock:
            self.make_certain(action)
            self.is_uncertain = True
            try:
                yield
            except _REFUSALS:
                self.is_uncertain = False
                raise
            self.is_uncertain = False

    @contextmanager
    def usable(self, action: str) -> Iterator[None]:
        """Refuse to work on a failed or closed log, and turn an OSError into a KafkaStorageError (see `failed`)."""
        self.check_usable(action)
        with self.noting_failure(action):
            yield

    @contextmanager
    def noting_failure(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.failed(action, error) from error

    def check_usable(self, action: str) -> None:
        if self.closed_because is not None:
            raise KafkaStorageError(f"{self.folder}: cannot {action}: {self.closed_because}")

    def make_certain(self, action: str) -> None:
        """Load the log again if a change was interrupted; `lock` is held.

        First checks again that the log can be used: it may have been closed while this thread waited for the lock, and
        its folder may have another owner by now.
        """
        self.check_usable(action)
        if self.is_uncertain:
            self.reload()
            self.is_uncertain = False

    @abstractmethod
    def reload(self) -> None:
        """Load the log again; `lock` is held."""

    def failed(self, action: str, error: OSError) -> KafkaStorageError:
        """The error to raise after an I/O error. If the disk failed, abandon the log and call `on_failure`."""
        if not is_disk_failure(error):
            return KafkaStorageError(f"{self.folder}: cannot {action}: {described(error)}")
        self.abandon(f"its disk failed: {described(error)}")
        if self._on_failure is not None:
            self._on_failure(error)
        return KafkaStorageError(f"{self.folder}: cannot {action}: {self.closed_because}")

    def abandon(self, reason: str) -> None:
        """Close without writing anything more; errors of later calls name the reason."""
        self.closed_because = reason
        for segment in self.segments:
            segment.files.release()
        self.tell_watchers()

    def watch(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` after each append, on the appending thread, and when the log can no longer be used."""
        self._watchers = (*self._watchers, on_change)

    def unwatch(self, on_change: Callable[[], None]) -> None:
        self._watchers = tuple(other for other in self._watchers if other != on_change)

    def tell_watchers(self) -> None:
        for on_change in self._watchers:
            on_change()
