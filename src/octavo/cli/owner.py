"""Opens the log directories that a command owns while it runs, and reports their recovery."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from octavo.cli.plain import plain
from octavo.cli.progress import progress_bar
from octavo.format.names import TopicPartition
from octavo.jobs import owner
from octavo.jobs.directories import bytes_to_recover
from octavo.jobs.owner import Ownership as Ownership
from octavo.jobs.owner import Store
from octavo.storage.log_manager import RECOVERY_LOG, LogManager
from octavo.storage.partition_log import PartitionLog


def owned(logdirs: Sequence[str], ownership: Ownership) -> AbstractContextManager[LogManager]:
    """`octavo.jobs.owner.owned_as`, with a progress bar on a terminal during recovery."""
    return owned_as(LogManager, logdirs, ownership)


@contextmanager
def owned_as(kind: type[Store], logdirs: Sequence[str], ownership: Ownership) -> Iterator[Store]:
    """`owned`, opened as another class, such as the one with producers and consumers.

    What opening had to cut is printed on stderr, and so are the library's warnings while the block runs. (`recover`,
    whose job it is to cut, prints that itself.)
    """
    total = bytes_to_recover(logdirs, ownership.only) if sys.stderr.isatty() else 0
    with ExitStack() as stack:
        stack.enter_context(warnings_on_stderr())
        with progress_bar("recovering", total) as progress:
            logs = stack.enter_context(owner.owned_as(kind, logdirs, ownership, lambda _, size: progress(size)))
        if not ownership.upkeep:
            for name, log in logs.logs.items():
                for line in cuts(name, log, dry_run=ownership.dry_run):
                    _say(line)
        yield logs


class _Sentences(logging.Handler):
    """Prints a warning as commands do."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != RECOVERY_LOG:  # printed with its partition, and for a dry run as what would be cut
            _say(record.getMessage())


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Say what the library warns of while the block runs."""
    logger, handler = logging.getLogger("octavo"), _Sentences(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _say(sentence: str) -> None:
    print(plain(f"octavo: {sentence}"), file=sys.stderr)


def cuts(partition: TopicPartition | str, log: PartitionLog, *, dry_run: bool) -> list[str]:
    """What was cut off a log when it was opened, and why: one sentence each."""
    lines, would_be = [], "would be " if dry_run else ""
    for segment in log.recovered:
        if segment.bytes_cut:
            place = f"{partition}: segment {segment.base_offset}, position {segment.size}"
            lines.append(f"{place}: {segment.bytes_cut} bytes {would_be}cut: {segment.problem}")
    for dropped in log.dropped:
        lines.append(
            f"{partition}: segment {dropped.base_offset}: {would_be}dropped, {dropped.size} bytes: {dropped.reason}"
        )
    return lines
