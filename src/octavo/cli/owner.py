"""The log directories that a command owns while it runs, and what it says of their recovery."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from octavo.cli.options import echo
from octavo.cli.progress import progress_bar
from octavo.format.names import TopicPartition
from octavo.jobs import owner
from octavo.jobs.listing import bytes_to_recover
from octavo.jobs.owner import Store
from octavo.jobs.owner import Terms as Terms
from octavo.storage.log_dir import LogDir
from octavo.storage.partition_log import PartitionLog


def owned(logdirs: Sequence[str], terms: Terms) -> AbstractContextManager[LogDir]:
    """`octavo.jobs.owner.owned_as`, with a bar on a terminal while the directories are recovered."""
    return owned_as(LogDir, logdirs, terms)


@contextmanager
def owned_as(kind: type[Store], logdirs: Sequence[str], terms: Terms) -> Iterator[Store]:
    """`owned`, opened as another class, such as the one with producers and consumers."""
    total = bytes_to_recover(logdirs, terms.only) if sys.stderr.isatty() else 0
    with ExitStack() as stack:
        with progress_bar("recovering", total) as progress:
            logs = stack.enter_context(owner.owned_as(kind, logdirs, terms, lambda _, size: progress(size)))
        yield logs


def say_recoveries(logs: LogDir, *, dry_run: bool = False) -> None:
    """Say on stderr what opening the directories had to cut, or would have."""
    for name, log in logs.logs.items():
        for line in cuts(name, log, dry_run=dry_run):
            echo(f"octavo: {line}", err=True)


def cuts(name: TopicPartition | str, log: PartitionLog, *, dry_run: bool) -> list[str]:
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
