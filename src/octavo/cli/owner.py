"""Opens the log directories that a command owns while it runs, and reports their recovery."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from octavo.cli.options import echo, many
from octavo.cli.progress import progress_bar
from octavo.errors import OctavoError
from octavo.format.names import FileKind, SegmentFile, TopicPartition
from octavo.jobs import owner
from octavo.jobs.directories import bytes_to_recover
from octavo.jobs.losses import Losses, LostPart
from octavo.jobs.owner import Ownership as Ownership
from octavo.jobs.owner import Store
from octavo.scanner.partition.flushed import MissingEnd
from octavo.storage.directory.log_root import OFFLINE_LOG
from octavo.storage.log_manager import RECOVERY_LOG, LogManager
from octavo.storage.partition_log import PartitionLog


def owned(logdirs: Sequence[str], ownership: Ownership) -> AbstractContextManager[LogManager]:
    """Open the directories as a `LogManager`, like `owned_as`."""
    return owned_as(LogManager, logdirs, ownership)


@contextmanager
def owned_as(kind: type[Store], logdirs: Sequence[str], ownership: Ownership) -> Iterator[Store]:
    """`octavo.jobs.owner.owned_as`, with a progress bar on a terminal during recovery.

    What opening had to cut is printed on stderr, even if the opening then fails; with `upkeep` only then, since
    `recover` prints it on stdout. The library's warnings are printed on stderr while the block runs.
    """
    total = 0
    if sys.stderr.isatty():
        total = bytes_to_recover(logdirs, ownership.only, check_all=ownership.check_all)
    with ExitStack() as stack:
        stack.enter_context(warnings_on_stderr(hold_offline=True))
        with progress_bar("recovering", total) as progress:
            try:
                logs = stack.enter_context(owner.owned_as(kind, logdirs, ownership, lambda _, size: progress(size)))
            except BaseException:
                would_be = "would be " if ownership.dry_run else ""
                for path, loss in ownership.losses.by_path.items():
                    _say(f"{path}: {lost_text(loss)} {would_be}cut")
                raise
        if not ownership.upkeep:
            for topic_partition, log in logs.logs.items():
                for line in cuts(topic_partition, log, ownership.losses, dry_run=ownership.dry_run):
                    _say(line)
        if not ownership.create and ownership.only is None and not logs.logs:
            _say(f"{', '.join(str(root.path) for root in logs.roots)}: a log directory without partitions")
        yield logs


class _Sentences(logging.Handler):
    """Prints warnings in the form of the commands' messages; may hold back those about offline directories."""

    def __init__(self, *, hold_offline: bool) -> None:
        super().__init__(logging.WARNING)
        self._held_log = OFFLINE_LOG if hold_offline else None
        self.held: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == self._held_log and record.levelno == logging.ERROR:
            self.held.append(record)
        elif record.name != RECOVERY_LOG:  # `cuts` prints these, with their partition
            _say(record.getMessage())


@contextmanager
def warnings_on_stderr(*, hold_offline: bool = False) -> Iterator[None]:
    """Print the library's warnings while the block runs; of nested blocks, only the outermost prints them.

    With `hold_offline`, it prints those about offline directories when it ends, unless its error says the same.
    """
    logger, handler = logging.getLogger("octavo"), _Sentences(hold_offline=hold_offline)
    if any(isinstance(other, _Sentences) for other in logger.handlers):
        yield
        return
    logger.addHandler(handler)
    ending = ""
    try:
        yield
    except OctavoError as error:
        ending = str(error)
        raise
    finally:
        logger.removeHandler(handler)
        for record in handler.held:
            if not all(str(part) in ending for part in record.args or ()):
                _say(record.getMessage())


def without_reason(error: OctavoError, logs: LogManager) -> str:
    """The error of one partition, without the reason why its directory is offline, which is printed at the end."""
    sentence = str(error)
    for reason in logs.offline.values():
        sentence = sentence.removesuffix(f": {reason}")
    return sentence


def _say(sentence: str) -> None:
    echo(f"octavo: {sentence}", err=True)


def cuts(partition: TopicPartition | str, log: PartitionLog, losses: Losses, *, dry_run: bool) -> list[str]:
    """What was cut off a log when it was opened, and why, and what was already gone: one sentence each."""
    lines, would_be = [], "would be " if dry_run else ""
    for segment in log.recovered:
        if segment.bytes_cut:
            place = f"{partition}: segment {segment.base_offset}, position {segment.size}"
            lost = lost_text(loss_of(log, segment.base_offset, losses))
            lines.append(f"{place}: {lost} {would_be}cut: {segment.problem}")
    for dropped in log.dropped:
        lost = lost_text(loss_of(log, dropped.base_offset, losses))
        lines.append(f"{partition}: segment {dropped.base_offset}: {would_be}dropped, {lost}: {dropped.reason}")
    if (missing := missing_from(log, losses)) is not None:
        lines.append(f"{partition}: {missing}")
    return lines


def missing_from(log: PartitionLog, losses: Losses) -> MissingEnd | None:
    """What was flushed to a log and was gone before it was opened: neither in the log nor in what was cut off it."""
    lost = [loss for path, loss in losses.by_path.items() if path.parent == log.folder]
    cut = max((loss.last_offset for loss in lost if loss.last_offset is not None), default=-1)
    return MissingEnd.of(max(log.log_end_offset, cut + 1), log.flushed_up_to)


def loss_of(log: PartitionLog, base_offset: int, losses: Losses) -> LostPart:
    """What was cut off a segment, or dropped with it."""
    return losses.by_path[log.folder / SegmentFile(base_offset, FileKind.LOG).name]


def lost_text(loss: LostPart) -> str:
    """A loss such as `offsets 2013–2016 (4 records, 304 bytes) and 53943 zeros`."""
    parts, first, last = [], loss.first_offset, loss.last_offset
    if first is not None:
        offsets = f"offset {first}" if last in (None, first) else f"offsets {first}–{last}"
        held = f" ({many(loss.records, 'record')}, {many(loss.batch_bytes, 'byte')})" if loss.batch_bytes else ""
        parts.append(offsets + held)
    if loss.zeros:
        parts.append(many(loss.zeros, "zero"))
    if loss.other_bytes:
        parts.append(f"{many(loss.other_bytes, 'byte')} without a batch" if parts else many(loss.other_bytes, "byte"))
    return " and ".join(parts) or "0 bytes"
