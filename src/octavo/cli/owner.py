"""The log directories that a command owns while it runs: locked, recovered if need be, closed as after a clean stop."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from octavo.cli.listing import bytes_to_recover
from octavo.cli.progress import progress_bar
from octavo.clock import Clock, ManualClock, SystemClock
from octavo.config import Given
from octavo.format.names import TopicPartition
from octavo.scheduler import EndScheduler
from octavo.storage.environment import Environment
from octavo.storage.log_dir import LogDir
from octavo.storage.overlay import OverlayFileSystem
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recover import Recovered
from octavo.storage.selection import Only


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How directories are opened. By default all partitions of directories that exist."""

    only: Only | None = None
    create: bool = False
    topic_configs: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    now_ms: int | None = None
    dry_run: bool = False  # nothing on the disk changes, and nothing is locked


Store = TypeVar("Store", bound=LogDir)


def owned(logdirs: Sequence[str], terms: Terms) -> AbstractContextManager[LogDir]:
    """Within the block the directories are this command's. It does its own job alone: no background work runs.

    What the command itself schedules, such as the removal of files, is done when the block ends.
    """
    return owned_as(LogDir, logdirs, terms)


@contextmanager
def owned_as(kind: type[Store], logdirs: Sequence[str], terms: Terms) -> Iterator[Store]:
    """`owned`, opened as another class, such as the one with producers and consumers."""
    clock: Clock = SystemClock() if terms.now_ms is None else ManualClock(terms.now_ms)
    scheduler = EndScheduler(runs_at_end=not terms.dry_run)
    with ExitStack() as stack:
        environment = Environment(scheduler, clock)
        if terms.dry_run:
            scratch = stack.enter_context(TemporaryDirectory(prefix="octavo-"))
            environment = Environment(scheduler, clock, OverlayFileSystem(Path(scratch)))
        total = bytes_to_recover(logdirs, terms.only) if sys.stderr.isatty() else 0
        with progress_bar("recovering", total) as progress:

            def advance(_: TopicPartition, segment: Recovered, __: int) -> None:
                progress(segment.size + segment.bytes_cut)

            logs = kind(
                logdirs,
                topic_configs=terms.topic_configs,
                background=False,
                environment=environment,
                only=terms.only,
                create=terms.create,
                progress=advance,
            )
        scheduler.forget()
        with logs:
            yield logs


def say_recoveries(logs: LogDir, *, dry_run: bool = False) -> None:
    """Say on stderr what opening the directories had to cut, or would have."""
    for name, log in logs.logs.items():
        for line in cuts(name, log, dry_run=dry_run):
            print(f"octavo: {line}", file=sys.stderr)


def cuts(name: TopicPartition, log: PartitionLog, *, dry_run: bool) -> list[str]:
    """What was cut of a log when it was opened, and why: a sentence each."""
    lines, would_be = [], "would be " if dry_run else ""
    for segment in log.recovered:
        if segment.bytes_cut:
            place = f"{name}: segment {segment.base_offset}, position {segment.size}"
            lines.append(f"{place}: {segment.bytes_cut} bytes {would_be}cut: {segment.problem}")
    for dropped in log.dropped:
        lines.append(
            f"{name}: segment {dropped.base_offset}: {would_be}dropped, {dropped.size} bytes: {dropped.reason}"
        )
    return lines
