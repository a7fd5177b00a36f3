"""What a partition's log is made of, and the offsets that bound what readers see of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from octavo.config import LogConfig
from octavo.errors import KafkaStorageError, OffsetOutOfRangeError
from octavo.storage.environment import Environment
from octavo.storage.log.epochs import LeaderEpochs
from octavo.storage.log.local_log import LocalLog
from octavo.storage.log.read import Isolation, Limits, OffsetMetadata, locate
from octavo.storage.log.validation_settings import ValidationSettings
from octavo.storage.producers.files import Producers
from octavo.storage.segment.segment import Segment


class LogParts(NamedTuple):
    """What a log is loaded as."""

    local: LocalLog
    epochs: LeaderEpochs
    producers: Producers
    log_start_offset: int


class LogState:
    """Segments, epochs, producers and watermarks. Changes need `lock`; readers take `limits` without it.

    log start offset ≤ high watermark ≤ log end offset, but for a high watermark inside a batch: once it is looked
    up, it counts as that batch's base offset, as in Kafka.
    """

    def __init__(self, parts: LogParts, config: LogConfig, environment: Environment) -> None:
        self.lock = threading.RLock()
        self.environment = environment
        self.local, self.epochs, self.producers, self.log_start_offset = parts
        self.settings = ValidationSettings.of(config)
        self.last_flush_ms = environment.clock.monotonic_ms()
        self.is_closed = False  # what is still scheduled does nothing then, and what waits for the lock is refused
        self.is_uncertain = False  # a change was begun and has not come to its end
        self.heal: Callable[[], None] = lambda: None  # loads an uncertain log again
        self.guard: Callable[[str], AbstractContextManager[None]] = lambda action: nullcontext()  # of background work
        self._high_watermark = parts.log_start_offset
        self._high_watermark_place: OffsetMetadata | None = None
        self._first_unstable_offset: int | None = None
        self.refresh_first_unstable()

    @property
    def config(self) -> LogConfig:
        return self.local.config

    def configure(self, config: LogConfig) -> None:
        """Take new configs; segments that are open keep what they were opened with."""
        with self.lock:
            self.local.config = config
            self.settings = ValidationSettings.of(config)

    def check_open(self) -> None:
        """Refuse to change a log that was closed while its lock was waited for: another may own its folder by now.

        One that is uncertain is loaded again first; `lock` is held.
        """
        if self.is_closed:
            raise KafkaStorageError(f"{self.local.folder}: it was closed meanwhile")
        if self.is_uncertain:
            self.heal()
            self.is_uncertain = False

    def adopt(self, parts: LogParts) -> None:
        """Take what was loaded again; `lock` is held."""
        parts.local.cuts = self.local.cuts + 1  # a flush that is under way has synced files that were rewritten since
        self.local, self.epochs, self.producers, self.log_start_offset = parts
        self._high_watermark_place = None
        self.refresh_first_unstable()

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set it, within the log's bounds; returns what it became."""
        with self.lock:
            log_end = self.local.log_end
            self._high_watermark = min(max(offset, self.log_start_offset), log_end.offset)
            self._high_watermark_place = log_end if self._high_watermark == log_end.offset else None
            self.producers.state.transactions.forget_before(self._high_watermark)
            self.refresh_first_unstable()
            return self._high_watermark

    def high_watermark_to_end(self) -> None:
        """Let readers see everything. The end is taken under the lock: another append may just have moved it."""
        with self.lock:
            log_end = self.local.log_end
            self._high_watermark, self._high_watermark_place = log_end.offset, log_end
            transactions = self.producers.state.transactions
            if transactions.has_unreplicated:
                transactions.forget_before(log_end.offset)
                self.refresh_first_unstable()

    @property
    def last_stable_offset(self) -> int:
        """What a reader of committed records sees ends here."""
        unstable = self._first_unstable_offset
        return self._high_watermark if unstable is None else min(unstable, self._high_watermark)

    @property
    def first_unstable_offset(self) -> int | None:
        """The earliest offset of a transaction that is not decided, or not safely so."""
        return self._first_unstable_offset

    def refresh_first_unstable(self) -> None:
        """To be called after each change of transactions or of the log's start."""
        self._first_unstable_offset = self.producers.state.transactions.first_unstable_offset(self.log_start_offset)

    def limits(self, isolation: Isolation) -> Limits:
        """What a reader may see now."""
        log_end = self.local.log_end
        if isolation is Isolation.LOG_END:
            return Limits(self.log_start_offset, log_end, log_end)
        bound = self._high_watermark_metadata()
        if isolation is Isolation.READ_COMMITTED:
            unstable = self._first_unstable_offset
            if unstable is not None and unstable < bound.offset:
                bound = self.locate(unstable)
        return Limits(self.log_start_offset, log_end, bound)

    def locate(self, offset: int) -> OffsetMetadata:
        """Where an offset lies: at the batch that holds it, whose base offset stands for it then."""
        segments, log_end = self.local.segments, self.local.log_end
        if segments.floor(offset) is None or offset > log_end.offset:
            raise OffsetOutOfRangeError(offset, self.log_start_offset, log_end.offset)
        return locate(segments, offset, log_end)

    def roll(self, base_offset: int) -> Segment:
        """Begin a new segment. What came before is flushed in the background; until then a crash recovers it.

        1. Roll the segments. 2. Write a snapshot of the producers at the new base offset, not yet synced unless the
        recovery point is there already. 3. In the background flush everything before the new segment, the snapshot
        first.
        """
        with self.lock:
            segment = self.local.roll(base_offset)
            self.producers.state.map_end_offset = segment.base_offset
            self.producers.take_snapshot(sync=self.local.recovery_point >= segment.base_offset)
            if self._high_watermark >= self.local.log_end_offset:
                self._high_watermark_place = self.local.log_end

        def flush() -> None:
            if self.is_closed:
                return
            with self.guard("flush"):
                self.flush(segment.base_offset)

        self.environment.scheduler.schedule("flush-log", flush)
        return segment

    def maybe_flush(self) -> bool:
        """Flush where flush.messages records wait for it."""
        local = self.local
        log_end_offset = local.log_end.offset
        if log_end_offset - local.recovery_point < local.config.flush_messages:
            return False
        self.flush(log_end_offset)
        return True

    def flush(self, up_to: int, *, with_empty_active: bool = False, in_change: bool = False) -> None:
        """Sync everything before an offset to the disk and move the recovery point there.

        `in_change`: the caller holds the lock, in the middle of a change of its own.
        """
        while up_to > self.local.recovery_point or with_empty_active:
            cuts, end = self.local.cuts, up_to + 1 if with_empty_active else up_to
            active = self.local.segments.active
            self.producers.snapshots.sync_up_to(up_to)
            try:
                self.local.flush(end, with_folder=with_empty_active)
            except FileNotFoundError:
                with self.lock:  # the cleaner was just giving a file another name; now all keep theirs
                    self.local.flush(end, with_folder=with_empty_active)
            with self.lock:
                if self.is_uncertain and not in_change and not self.is_closed:
                    self.check_open()  # else recovery would no longer look at what was interrupted
                if self.local.cuts != cuts:
                    # What was cut off meanwhile may have been written again, after its old bytes were synced.
                    up_to = min(up_to, self.local.log_end_offset)
                    continue
                if self.local.segments.active is not active and up_to > active.base_offset:
                    with suppress(FileNotFoundError):  # retention may have taken it
                        active.files.flush()  # a roll has closed it since it was synced, and nobody would do it later
                self.local.recovery_point = max(self.local.recovery_point, min(up_to, self.local.log_end_offset))
                self.last_flush_ms = self.environment.clock.monotonic_ms()
                return

    def advance_log_start(self, offset: int) -> bool:
        """Let the log begin at a later offset: readers get nothing before it. No file changes."""
        with self.lock:
            if offset <= self.log_start_offset:
                return False
            if offset <= self.local.log_end_offset:
                # The recovery point must not pass what is not synced: a power loss would leave zeros in the middle.
                self.flush(offset, in_change=True)
            self.log_start_offset = offset
            if self._high_watermark < offset:
                self.update_high_watermark(offset)
            self.local.recovery_point = max(self.local.recovery_point, offset)
            self.epochs.truncate_from_start(offset)
            self.producers.advance_log_start(offset)
            self.refresh_first_unstable()
            return True

    def delete_segments(self, segments: list[Segment]) -> None:
        """Take segments out of the log and delete their files, and their snapshots, after a delay."""
        self.local.delete_segments(segments)
        self.delete_snapshots(segments)

    def delete_snapshots(self, segments: list[Segment]) -> None:
        renamed = [self.producers.snapshots.mark_deleted(segment.base_offset) for segment in segments]
        paths: list[Path] = [path for path in renamed if path is not None]
        self.local.delete_paths(paths)

    def _high_watermark_metadata(self) -> OffsetMetadata:
        place = self._high_watermark_place
        if place is None:
            with self.lock:
                place = self._high_watermark_place = self.locate(self._high_watermark)
                self._high_watermark = place.offset
        return place
