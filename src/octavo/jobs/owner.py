"""The log directories that a job owns while it runs: locked, recovered if need be, closed as after a clean stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from octavo.config import Given
from octavo.storage.directory.log_root import Only
from octavo.storage.directory.log_roots import Paths
from octavo.storage.directory.partition_opener import RecoveryProgress
from octavo.storage.environment import Environment
from octavo.storage.files.overlay import OverlayFileSystem
from octavo.storage.log_manager import LogManager
from octavo.system.clock import Clock, ManualClock, SystemClock
from octavo.system.scheduler import EndScheduler, JobScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How directories are opened. By default all partitions of directories that exist."""

    only: Only | None = None
    create: bool = False
    upkeep: bool = False  # what is marked as deleted is removed
    configs: Mapping[str, Given] = field(default_factory=dict)  # a broker's
    topic_configs: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    now_ms: int | None = None
    skip_unreadable: bool = False  # partitions that cannot be loaded are left as they are
    dry_run: bool = False  # nothing on the disk changes, and nothing is locked
    timely: bool = False  # what the job schedules runs when it is due, not all of it at the end


Store = TypeVar("Store", bound=LogManager)


@contextmanager
def owned_as(
    kind: type[Store], paths: Paths, terms: Terms, progress: RecoveryProgress | None = None
) -> Iterator[Store]:
    """Within the block this job owns the directories, as a `LogManager` or a child of it. No background work runs.

    What the job itself schedules, such as the removal of files, is done when the block ends, unless it is `timely`.
    """
    clock: Clock = SystemClock() if terms.now_ms is None else ManualClock(terms.now_ms)
    scheduler = JobScheduler() if terms.timely else EndScheduler(runs_at_end=not terms.dry_run)
    with ExitStack() as stack:
        environment = Environment(scheduler, clock)
        if terms.dry_run:
            scratch = stack.enter_context(TemporaryDirectory(prefix="octavo-"))
            environment = Environment(scheduler, clock, OverlayFileSystem(Path(scratch)))
        logs = kind(
            paths,
            configs=terms.configs,
            topic_configs=terms.topic_configs,
            background=False,
            environment=environment,
            only=terms.only,
            create=terms.create,
            upkeep=terms.upkeep,
            skip_unreadable=terms.skip_unreadable,
            progress=progress,
        )
        scheduler.begin_job()
        with logs:
            yield logs
