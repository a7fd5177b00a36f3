"""Opens the directories for a single commit: lock, commit, sweep, close."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from octavo.errors import LogDirLockedError
from octavo.format.names import TopicPartition
from octavo.storage.directory.log_root import Only
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.storage.staging.commit import CommitRequest, OnStep, commit, no_step
from octavo.storage.staging.ledger import CommitLedger
from octavo.storage.staging.sweep import SWEEP_INTERVAL_MS, all_folders, sweep_dead, sweep_writer
from octavo.system.filesystem import LocalFileSystem

LOCK_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Commits batches to the directories, waiting for their lock. Picklable."""

    roots: tuple[Path, ...]
    lock_timeout_seconds: float = 60.0
    pause: Callable[[float], None] = time.sleep
    environment: Callable[[], Environment] | None = None  # None: this machine's

    def publish(self, request: CommitRequest, on_step: OnStep | None = None) -> bool:
        """Commit a batch; returns False if it was committed before.

        Except after a crash, only the partitions that the batch or a pending commit touches are opened.
        """
        touched = {part.topic_partition for part in request.staged}
        to_be_made = {part.topic for part in request.staged if part.partitions is not None}
        with self.own([*touched, *to_be_made]) as log_dir:
            is_new = commit(log_dir.commits, request, on_step or no_step)
            self._sweep(log_dir, request.writer, touched)
            return is_new

    @contextmanager
    def own(self, only: Only) -> Iterator[LogManager]:
        """Own the directories within the block, with these partitions and topics open; they need not exist yet.

        After a crash all partitions are opened once, because a directory counts as cleanly stopped only when all its
        logs have been recovered.
        """
        with self._open(only) as log_dir:
            is_clean = all(root.clean for root in log_dir.roots)
            if is_clean:
                yield log_dir
        if not is_clean:
            with self._open(None) as log_dir:
                yield log_dir

    def discard(self, writer: str) -> None:
        """Remove what a writer staged but will not commit, except files of a commit that was decided before it failed.

        This needs no lock: nobody else knows the files.
        """
        filesystem = LocalFileSystem()
        roots = [root for root in self.roots if filesystem.exists(root)]
        kept = CommitLedger(filesystem, roots).pending_files()
        sweep_writer(filesystem, all_folders(filesystem, roots), writer, keep=kept)

    def _open(self, only: Only | None) -> LogManager:
        """Open the directories as soon as they are free: other writers hold them for one commit at a time."""
        retries = int(self.lock_timeout_seconds / LOCK_RETRY_SECONDS)
        while True:
            environment = None if self.environment is None else self.environment()
            try:
                return LogManager(self.roots, only=only, create=True, background=False, environment=environment)
            except LogDirLockedError:
                if not retries:
                    raise
            self.pause(LOCK_RETRY_SECONDS)
            retries -= 1

    def _sweep(self, log_dir: LogManager, writer: str, touched: set[TopicPartition]) -> None:
        filesystem, now_ms = log_dir.environment.filesystem, log_dir.environment.clock.time_ms()
        if now_ms - log_dir.commits.ledger.swept_ms >= SWEEP_INTERVAL_MS:
            sweep_writer(filesystem, all_folders(filesystem, self.roots), writer)
            sweep_dead(filesystem, self.roots, now_ms)
            log_dir.commits.ledger.note_sweep(now_ms)
        else:
            there = sorted(touched & log_dir.logs.keys())
            folders = [*self.roots, *(log_dir.logs[topic_partition].folder for topic_partition in there)]
            sweep_writer(filesystem, folders, writer)
