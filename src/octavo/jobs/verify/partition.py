"""Checks a partition as a whole: compares the offsets in its small files with the start and the end of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from octavo.format.names import (
    CLEANER_OFFSET_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    FolderState,
    TopicPartition,
)
from octavo.jobs.verify import severities
from octavo.jobs.verify.epochs import check_first_entry
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.folder import FolderResult
from octavo.jobs.verify.plan import PartitionPlan
from octavo.jobs.verify.segment import SegmentResult
from octavo.scanner.partition.flushed import stays_below
from octavo.scanner.places.files import snapshot_path
from octavo.scanner.places.location import Entry, Location
from octavo.scanner.places.root import Root

_TAILS = (FindingKind.INCOMPLETE_BATCH, FindingKind.ZEROS)
# By file name: the meaning of the offsets, and whether they must hold even after a crash.
_CHECKPOINTS = {
    RECOVERY_POINT_CHECKPOINT: ("recovery point", True),
    LOG_START_OFFSET_CHECKPOINT: ("log start offset", True),
    CLEANER_OFFSET_CHECKPOINT: ("first dirty offset", False),
    REPLICATION_OFFSET_CHECKPOINT: ("high watermark", False),
}


class CheckpointCache:
    """The offset checkpoints of a log directory, each decoded for all its partitions together."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._read: dict[str, tuple[Entry | None, Mapping[TopicPartition, int]]] = {}

    def offsets(self, name: str) -> Mapping[TopicPartition, int]:
        """The offsets of a checkpoint, by its file name; empty if it is missing or unreadable."""
        if name not in self._read:
            entry = self._entry(name)
            self._read[name] = entry, Root(self.location).offsets(name)
        return self._read[name][1]

    def offsets_now(self, name: str) -> Mapping[TopicPartition, int]:
        """Like `offsets`, but reads the file again if it has been replaced in the meantime."""
        if name in self._read and self._read[name][0] != self._entry(name):
            del self._read[name]
        return self.offsets(name)

    def _entry(self, name: str) -> Entry | None:
        try:
            return self.location.child(name).entry()
        except OSError:
            return None


def check_epochs(
    plan: PartitionPlan, segments: list[SegmentResult], checkpoints: CheckpointCache, findings: FindingCollector
) -> None:
    """Check that leader-epoch-checkpoint reaches back to the log's start, unless single segment files are given."""
    if not plan.files.whole or not plan.segments:
        return
    moved = checkpoints.offsets(LOG_START_OFFSET_CHECKPOINT).get(plan.files.topic_partition, 0)
    log_start_offset = max(moved, plan.segments[0].view.base_offset)
    unlisted = [segment.unlisted for segment in segments if segment.unlisted is not None]
    path = plan.files.location.child(LEADER_EPOCH_CHECKPOINT)
    severity = severities.of_first_epoch(clean_shutdown=plan.clean_shutdown)
    check_first_entry(path, unlisted, log_start_offset, severity, findings)


class _EndClaim(NamedTuple):
    """A file's claim that the log reaches an offset; a `durable` one must hold even after a crash."""

    path: Location
    offset: int
    meaning: str
    durable: bool


def check_ends(
    plan: PartitionPlan,
    folder: FolderResult,
    segments: list[SegmentResult],
    checkpoints: CheckpointCache,
    findings: FindingCollector,
) -> None:
    """Check that no checkpoint, epoch or snapshot names an offset beyond the log's end.

    A crash can lose the end of a log, but not what was flushed before a recovery point or a log start was written. If
    single segment files are given, the log's end is known only if the last segment is among them.
    """
    if plan.files.folder.state is FolderState.DELETE or (plan.segments and not plan.segments[-1].view.is_last):
        return
    log_end_offset, end, lost_tail = 0, "there is no log", False
    if plan.segments:
        if not segments or segments[-1].next_offset is None:
            return  # its log could not be read, which is reported
        log_end_offset = segments[-1].next_offset
        end = f"the log ends at {log_end_offset}"
        lost_tail = any(found.problem in _TAILS for found in segments[-1].findings)
    for claim in _claims(plan, folder, checkpoints):
        if claim.offset <= log_end_offset or (lost_tail and not claim.durable):
            continue
        if _holds_by_now(plan, claim, checkpoints):
            continue  # the log has grown since
        detail = f"{claim.meaning} {claim.offset} of {plan.files.topic_partition}, but {end}"
        findings.add(claim.path, None, FindingKind.BEYOND_END, detail)


def _claims(plan: PartitionPlan, folder: FolderResult, checkpoints: CheckpointCache) -> Iterator[_EndClaim]:
    for name, (meaning, durable) in _CHECKPOINTS.items():
        offset = checkpoints.offsets(name).get(plan.files.topic_partition)
        if offset is not None:
            yield _EndClaim(checkpoints.location.child(name), offset, meaning, durable)
    if folder.last_epoch is not None:
        path, epoch = plan.files.location.child(LEADER_EPOCH_CHECKPOINT), folder.last_epoch
        yield _EndClaim(path, epoch.start_offset, f"epoch {epoch.epoch} from offset", False)
    for offset in folder.snapshots:
        yield _EndClaim(snapshot_path(plan.files.location, offset), offset, "the producers' state before offset", False)


def _holds_by_now(plan: PartitionPlan, claim: _EndClaim, checkpoints: CheckpointCache) -> bool:
    """Whether the log has reached the offset in the meantime, or the partition or the claim is gone."""

    def claimed_now() -> int | None:
        name = claim.path.name
        if name in _CHECKPOINTS and checkpoints.offsets_now(name).get(plan.files.topic_partition) != claim.offset:
            return None
        try:
            claim.path.entry()
        except FileNotFoundError:
            return None
        return claim.offset

    return not stays_below(plan.files, claim.offset, claimed_now)
