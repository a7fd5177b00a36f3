"""The commit of staged batches into many partitions: all of them or none, once, whatever dies in between."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from octavo.config import LogConfig
from octavo.errors import AppendRejected, InvalidBatchError, RecordTooLargeError, StagedFileLostError
from octavo.format.commit_store import PendingCommit, PendingFile, PendingPart
from octavo.format.names import TopicPartition
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.bring_in import bring_in, find
from octavo.storage.staging.ledger import CommitLedger
from octavo.storage.staging.stage import StagedPart
from octavo.storage.validation_settings import ValidationSettings

_log = logging.getLogger(__name__)


class CommitStep(StrEnum):
    """What has just been done; tests stop here."""

    CHECKED = "checked"
    DECIDED = "decided"
    APPENDED = "appended"  # once for each partition
    FLUSHED = "flushed"
    CONCLUDED = "concluded"
    REMOVED = "removed"


OnStep = Callable[[CommitStep], None]


def _pass(step: CommitStep) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """Whose batch it is, and what its tasks staged, in the order in which records are to follow one another."""

    writer: str
    batch_id: int | None  # None: a writer that commits once, and is never asked again
    staged: Sequence[StagedPart]


def commit(
    ledger: CommitLedger, logs: Mapping[TopicPartition, PartitionLog], request: CommitRequest, on_step: OnStep = _pass
) -> bool:
    """Bring a batch into all its partitions; False, and no change, where it is there already.

    1. Check that every partition takes its batches. 2. Decide: write the pending commit, with each partition's end
    offset, to the log dir's root, synced. 3. Append the staged files, partition by partition, or adopt them as
    segments. 4. Flush the logs. 5. Conclude: write the batch's id as done, and nothing as pending, synced. 6. Remove
    the staged files.

    A crash before 2 leaves staged files that the sweep removes: the batch is in no partition. After 2 whoever opens the
    directory next runs `finish`, before anything else: it goes on at 3 with what is not there yet, so the batch is in
    all partitions. After 5 only staged files are left. Where an append is refused all the same, step 3 is undone.
    """
    assert ledger.pending is None, "whoever opens a log dir finishes what is pending"
    if ledger.has_done(request.writer, request.batch_id):
        return False
    parts = []
    by_partition = attrgetter("topic_partition")
    for name, staged in groupby(sorted(request.staged, key=by_partition), by_partition):
        log, files = logs[name], list(staged)
        for file in files:
            check(file, log.config)
            check_presence(file, log, ledger.roots)
        pending = tuple(PendingFile(file.name, file.facts.size, file.facts.records) for file in files)
        parts.append(PendingPart(name.topic, name.partition, log.log_end_offset, pending))
    on_step(CommitStep.CHECKED)
    ledger.decide(PendingCommit(request.writer, request.batch_id, tuple(parts)))
    on_step(CommitStep.DECIDED)
    try:
        _complete(ledger, logs, on_step)
    except AppendRejected:
        undo(ledger, logs)
        raise
    return True


def finish(ledger: CommitLedger, logs: Mapping[TopicPartition, PartitionLog]) -> bool:
    """End a commit that a crash interrupted; says whether there was one.

    It is brought to its end. Where staged files are lost that cannot be, and it is undone, unless someone has appended
    behind it: then StagedFileLostError says what is missing.
    """
    if ledger.pending is None:
        return False
    try:
        _complete(ledger, logs, _pass)
    except (AppendRejected, StagedFileLostError) as error:
        if any(logs[part.topic_partition].log_end_offset > part.end_offset for part in _parts(ledger, logs)):
            raise
        _log.warning("a commit of %s is undone: %s", ledger.pending.writer, error)
        undo(ledger, logs)
    return True


def undo(ledger: CommitLedger, logs: Mapping[TopicPartition, PartitionLog]) -> None:
    """Cut every partition of the pending commit at its end offset from before.

    1. Truncate the logs. 2. Flush them. 3. Write that nothing is pending. A crash before 3 leaves the commit pending,
    and it is ended anew.
    """
    parts = _parts(ledger, logs)
    for part in parts:
        log = logs[part.topic_partition]
        if log.log_end_offset > part.start_offset:
            log.truncate_to(part.start_offset)
            log.flush()
    ledger.revoke()


def check(staged: StagedPart, config: LogConfig) -> None:
    """Refuse what an append would refuse, before anything is decided."""
    facts, settings = staged.facts, ValidationSettings.of(config)
    if facts.largest_batch > config.max_message_bytes:
        expected = f"expected at most max.message.bytes, {config.max_message_bytes}"
        raise RecordTooLargeError(f"{staged.topic_partition}: a batch of {facts.largest_batch} bytes, {expected}")
    if facts.has_null_keys and settings.is_compacted:
        raise InvalidBatchError(f"{staged.topic_partition}: records without a key, which a compacted topic cannot take")
    if settings.codec is not None and settings.codec != facts.codec:
        found = f"batches staged with codec {facts.codec}"
        raise InvalidBatchError(
            f"{staged.topic_partition}: {found}, expected compression.type {config.compression_type}"
        )


def check_presence(staged: StagedPart, log: PartitionLog, roots: Sequence[Path]) -> None:
    """Refuse a staged file that is not there as its task left it."""
    path = find(log, staged.name, roots)
    size = None if path is None else log.state.environment.filesystem.size(path)
    if size != staged.facts.size:
        found = "there is nothing" if size is None else f"{size} bytes"
        raise StagedFileLostError(f"{log.folder / staged.name}: {found}, expected {staged.facts.size} staged bytes")


def _complete(ledger: CommitLedger, logs: Mapping[TopicPartition, PartitionLog], on_step: OnStep) -> None:
    parts = _parts(ledger, logs)
    for part in parts:
        bring_in(logs[part.topic_partition], part, ledger.roots)
        on_step(CommitStep.APPENDED)
    for part in parts:
        logs[part.topic_partition].flush()
    on_step(CommitStep.FLUSHED)
    ledger.conclude()
    on_step(CommitStep.CONCLUDED)
    for part in parts:
        log = logs[part.topic_partition]
        for file in part.files:
            path = find(log, file.name, ledger.roots)
            if path is not None:
                log.state.environment.filesystem.unlink(path)
    on_step(CommitStep.REMOVED)


def _parts(ledger: CommitLedger, logs: Mapping[TopicPartition, PartitionLog]) -> list[PendingPart]:
    """What the pending commit brings into partitions that are there: a topic may have been deleted since."""
    return [part for part in ledger.pending_parts() if part.topic_partition in logs]
