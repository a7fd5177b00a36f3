"""The log directories that a job owns while it runs: locked, recovered if needed, and closed cleanly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from octavo.config import Given
from octavo.jobs.directories import check_log_dirs
from octavo.jobs.losses import Losses
from octavo.jobs.url_files import UrlFiles
from octavo.storage.directory.log_root import Only
from octavo.storage.directory.log_roots import Paths, as_paths
from octavo.storage.directory.partition_opener import RecoveryProgress
from octavo.storage.environment import Environment
from octavo.storage.files.overlay import OverlayFileSystem
from octavo.storage.log_manager import LogManager
from octavo.system.clock import Clock, ManualClock, SystemClock
from octavo.system.scheduler import EndScheduler, JobScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """How a job opens the directories it owns: by default all partitions, and only directories that exist."""

    only: Only | None = None
    create: bool = False
    upkeep: bool = False  # remove files that are marked as deleted
    configs: Mapping[str, Given] = field(default_factory=dict)  # the broker's
    topic_configs: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    now_ms: int | None = None
    skip_unreadable: bool = False  # leave partitions that cannot be loaded untouched
    check_all: bool = False  # check every batch, even if the directory was closed cleanly
    losses: Losses = field(default_factory=Losses)  # what recovery cuts
    dry_run: bool = False  # change nothing on disk, and lock nothing
    accepts_urls: bool = False  # in a dry run: read log directories at URLs, too
    runs_when_due: bool = False  # run what the job schedules when it is due, instead of everything at the end

    @classmethod
    def read_only(cls, configs: Mapping[str, Given]) -> Ownership:
        """How a read-only broker opens directories: as they are, wherever they are."""
        return cls(dry_run=True, accepts_urls=True, skip_unreadable=True, configs=configs)


Store = TypeVar("Store", bound=LogManager)


@contextmanager
def owned_as(
    kind: type[Store], paths: Paths, ownership: Ownership, progress: RecoveryProgress | None = None
) -> Iterator[Store]:
    """Within the block this job owns the directories, as a `LogManager` or a subclass of it. No background work runs.

    What the job itself schedules, such as the removal of files, is done when the block ends, or, with `runs_when_due`,
    when it is due. In a dry run it is dropped.
    """
    clock: Clock = SystemClock() if ownership.now_ms is None else ManualClock(ownership.now_ms)
    scheduler = JobScheduler() if ownership.runs_when_due else EndScheduler(runs_at_end=not ownership.dry_run)
    with ExitStack() as stack:
        environment = Environment(scheduler, clock)
        if ownership.dry_run:
            scratch = Path(stack.enter_context(TemporaryDirectory(prefix="octavo-")))
            at_urls = UrlFiles(scratch)
            if ownership.accepts_urls:
                paths = at_urls.paths(paths)
            environment = Environment(scheduler, clock, OverlayFileSystem(scratch, at_urls))
        if not ownership.create:
            check_log_dirs(as_paths(paths))
        logs = kind(
            paths,
            configs=ownership.configs,
            topic_configs=ownership.topic_configs,
            background=False,
            environment=environment,
            only=ownership.only,
            create=ownership.create,
            upkeep=ownership.upkeep,
            skip_unreadable=ownership.skip_unreadable,
            check_all=ownership.check_all,
            progress=progress,
            on_loss=ownership.losses.see,
        )
        scheduler.begin_job()
        try:
            yield logs
        finally:  # a dry run closes nothing: a running broker may have removed the files meanwhile
            logs.close(discard=ownership.dry_run)
