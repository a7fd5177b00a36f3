"""Commits staged batches to many partitions: all or none, exactly once, whatever crashes in between."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from operator import attrgetter

from octavo.config import Given
from octavo.errors import AppendRejected, InvalidPartitionsError, LogDirError, StagedFileLostError
from octavo.format.names import TopicPartition
from octavo.format.small_files.commit_store import PendingCommit, PendingFile, PendingPart, PendingTopic
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.directory.topic_admin import TopicAdmin
from octavo.storage.environment import Environment
from octavo.storage.log.flush import flush
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.bring_in import bring_in, find, own_end
from octavo.storage.staging.check import check_batches, check_presence
from octavo.storage.staging.ledger import CommitLedger
from octavo.storage.staging.stage import StagedPart

_log = logging.getLogger(__name__)


class CommitStep(StrEnum):
    """The step just completed; a test may stop the commit there."""

    CHECKED = "checked"
    DECIDED = "decided"
    MADE = "made"  # the topics that were missing
    APPENDED = "appended"  # once per partition
    FLUSHED = "flushed"
    CONCLUDED = "concluded"
    REMOVED = "removed"


OnStep = Callable[[CommitStep], None]


def no_step(step: CommitStep) -> None:
    """The default `on_step`: do nothing."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """The writer and its batch, and what its tasks staged, in the order in which it is to be appended."""

    writer: str
    batch_id: int | None  # None: a writer that commits only once
    staged: Sequence[StagedPart]
    topic_configs: Mapping[str, Given] = field(default_factory=dict)  # for topics to be created


@dataclass(frozen=True, slots=True)
class Commits:
    """What a commit needs from the owner of the directories' locks."""

    ledger: CommitLedger
    open_logs: OpenLogs
    topics: TopicAdmin
    environment: Environment

    @property
    def logs(self) -> Mapping[TopicPartition, PartitionLog]:
        """The logs that are open now."""
        return self.open_logs.logs


def commit(commits: Commits, request: CommitRequest, on_step: OnStep = no_step) -> bool:
    """Bring a batch into all its partitions; returns False, and changes nothing, if it was committed before.

    1. Check that every partition accepts its batches. 2. Decide: write the pending commit, with each partition's end
    offset and the topics to be created, to the root of a log directory, synced. 3. Create those topics. 4. Append the
    staged files, partition by partition, or adopt them as segments. 5. Flush the logs. 6. Conclude: write the batch's
    id as done, and nothing as pending, synced. 7. Remove the staged files.

    A crash before 2 leaves staged files that the sweep removes: the batch is in no partition. After a crash between 2
    and 6, the next owner to open the directory first runs `finish`, which resumes at 3 with what is missing, so the
    batch gets into all partitions. After 6 only staged files are left. If an append is refused after all, step 4 is
    undone.
    """
    ledger = commits.ledger
    if ledger.pending is not None:
        found = f"a commit of {ledger.pending.writer} waits for partitions that cannot be opened"
        raise LogDirError(f"{found}: open all directories of its partitions together")
    if ledger.has_done(request.writer, request.batch_id):
        return False
    topics = _to_be_made(commits, request.staged, request.topic_configs)
    parts = _checked(commits, request.staged, topics)
    on_step(CommitStep.CHECKED)
    ledger.decide(PendingCommit(request.writer, request.batch_id, parts, tuple(topics.values())))
    on_step(CommitStep.DECIDED)
    try:
        _complete(commits, on_step)
    except AppendRejected:
        undo(commits)
        raise
    return True


def finish(commits: Commits) -> bool:
    """Complete a commit that a crash interrupted; returns whether there was one.

    If staged files are lost or an append is refused, the commit is undone instead, unless a log has records that are
    not known to be the commit's, such as those that a broker has appended since: then LogDirError is raised.
    """
    ledger = commits.ledger
    if ledger.pending is None:
        return False
    try:
        _complete(commits, no_step)
    except (AppendRejected, StagedFileLostError) as error:
        for part in _parts(commits):
            log = commits.logs[part.topic_partition]
            own = own_end(log, part, ledger.roots)
            if log.log_end_offset > own:
                kept = f"{log.folder} has records from offset {own} on that may not be its own"
                raise LogDirError(f"{error}; the commit of {ledger.pending.writer} is not undone: {kept}") from error
        _log.warning("a commit of %s is undone: %s", ledger.pending.writer, error)
        undo(commits)
    return True


def undo(commits: Commits) -> None:
    """Cut every partition of the pending commit back to its earlier end offset; created topics stay.

    1. Truncate the logs. 2. Flush them. 3. Write that nothing is pending. A crash before 3 leaves the commit pending,
    and the next start completes or undoes it.
    """
    for part in _parts(commits):
        log = commits.logs[part.topic_partition]
        if log.log_end_offset > part.start_offset:
            log.truncate_to(part.start_offset)
        # The recovery point is at the log's end now, so `log.flush` would do nothing.
        with log.usable("flush"):
            flush(log, log.log_end_offset, with_empty_active=True)
    commits.ledger.revoke()


def _to_be_made(
    commits: Commits, staged: Sequence[StagedPart], configs: Mapping[str, Given]
) -> dict[str, PendingTopic]:
    """The topics to be created; raises if a partition is gone, or a name is taken."""
    there = {topic_partition.topic for topic_partition in commits.logs}
    wanted = {part.topic: part.partitions for part in staged if part.topic not in there}
    topics = {
        topic: commits.topics.prepare(topic, partitions, configs)
        for topic, partitions in wanted.items()
        if partitions is not None
    }
    for part in staged:
        if part.topic not in topics and part.topic_partition not in commits.logs:
            raise InvalidPartitionsError(
                f"{part.topic_partition} no longer exists: its topic was deleted, or created again with fewer "
                "partitions, after the batch was staged; write the batch again"
            )
    return topics


def _checked(
    commits: Commits, staged: Sequence[StagedPart], topics: Mapping[str, PendingTopic]
) -> tuple[PendingPart, ...]:
    """The parts of the commit, after checking that each partition accepts its batches."""
    environment, roots, parts = commits.environment, commits.ledger.roots, []
    by_partition = attrgetter("topic_partition")
    for topic_partition, group in groupby(sorted(staged, key=by_partition), by_partition):
        log, files = commits.logs.get(topic_partition), list(group)
        config = commits.topics.config(topics[topic_partition.topic]) if log is None else log.config
        for file in files:
            check_batches(file, config, environment.clock.time_ms())
            check_presence(file, environment.filesystem, roots if log is None else [log.folder, *roots])
        pending = tuple(PendingFile(file.name, file.facts.size, file.facts.records) for file in files)
        parts.append(
            PendingPart(
                topic_partition.topic, topic_partition.partition, 0 if log is None else log.log_end_offset, pending
            )
        )
    return tuple(parts)


def _complete(commits: Commits, on_step: OnStep) -> None:
    ledger, filesystem = commits.ledger, commits.environment.filesystem
    for topic in ledger.pending_topics():
        if not _is_foreign(commits, topic):
            commits.topics.make(topic, len(topic.partitions))
    on_step(CommitStep.MADE)
    parts = [(commits.logs[part.topic_partition], part) for part in _parts(commits)]
    for log, part in parts:
        bring_in(log, part, ledger.roots)
        on_step(CommitStep.APPENDED)
    for log, _ in parts:
        log.flush()
    on_step(CommitStep.FLUSHED)
    ledger.conclude()
    on_step(CommitStep.CONCLUDED)
    for log, part in parts:
        for file in part.files:
            path = find(filesystem, file.name, [log.folder, *ledger.roots])
            if path is not None:
                filesystem.unlink(path)
    on_step(CommitStep.REMOVED)


def _parts(commits: Commits) -> list[PendingPart]:
    """What the pending commit appends to existing partitions.

    A topic may have been deleted since, and another one created under the name of a topic that the commit creates.
    """
    foreign = {topic.topic for topic in commits.ledger.pending_topics() if _is_foreign(commits, topic)}
    parts = commits.ledger.pending_parts()
    return [part for part in parts if part.topic not in foreign and part.topic_partition in commits.logs]


def _is_foreign(commits: Commits, topic: PendingTopic) -> bool:
    """Whether somebody else has created a topic of that name."""
    logs = map(commits.logs.get, topic.topic_partitions())
    return any(log is not None and log.topic_id not in (None, topic.topic_id) for log in logs)
