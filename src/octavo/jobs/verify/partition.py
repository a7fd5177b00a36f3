"""A partition as a whole: what its small files say of offsets beside where its log ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from octavo.errors import ScanError
from octavo.format.names import (
    CLEANER_OFFSET_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    FolderState,
)
from octavo.jobs.verify.checkpoints import Checkpoints
from octavo.jobs.verify.epochs import check_first_entry
from octavo.jobs.verify.finding import Findings, Problem, Severity
from octavo.jobs.verify.folder import FolderResult
from octavo.jobs.verify.plan import PartitionPlan
from octavo.jobs.verify.segment import SegmentResult
from octavo.scanner.partition.snapshot import relisted, take_snapshot
from octavo.scanner.places.location import Location

_TAILS = (Problem.INCOMPLETE_BATCH, Problem.ZEROS)
_CHECKPOINTS = {
    RECOVERY_POINT_CHECKPOINT: ("recovery point", True),
    LOG_START_OFFSET_CHECKPOINT: ("log start offset", True),
    CLEANER_OFFSET_CHECKPOINT: ("first dirty offset", False),
    REPLICATION_OFFSET_CHECKPOINT: ("high watermark", False),
}


def check_epochs(
    plan: PartitionPlan, segments: list[SegmentResult], checkpoints: Checkpoints, findings: Findings
) -> None:
    """That leader-epoch-checkpoint begins with the log; of single segment files nobody can tell.

    Deleted records leave the epochs at once, but the log's start is written to its checkpoint once a minute, and at a
    clean stop: only after that one an entry is lost for sure.
    """
    if not plan.files.whole or not plan.segments:
        return
    moved = checkpoints.offsets(LOG_START_OFFSET_CHECKPOINT).get(plan.files.topic_partition, 0)
    log_start_offset = max(moved, plan.segments[0].view.base_offset)
    unlisted = [segment.unlisted for segment in segments if segment.unlisted is not None]
    path = plan.files.location.child(LEADER_EPOCH_CHECKPOINT)
    severity = Severity.PROBLEM if plan.clean_shutdown else Severity.INFO
    check_first_entry(path, unlisted, log_start_offset, severity, findings)


class _EndClaim(NamedTuple):
    """A file's claim that the log reaches an offset; `durable` ones hold after a crash, too."""

    path: Location
    offset: int
    meaning: str
    durable: bool


def check_ends(
    plan: PartitionPlan,
    folder: FolderResult,
    segments: list[SegmentResult],
    checkpoints: Checkpoints,
    findings: Findings,
) -> None:
    """No checkpoint, epoch or snapshot may name an offset behind the log's end.

    A crash can lose the end of a log but not what was flushed before a recovery point or a log start was written. Where
    single segment files were asked for, the log's end is known only if the last one is among them.
    """
    if plan.files.folder.state is FolderState.DELETE or (plan.segments and not plan.segments[-1].view.is_last):
        return
    log_end_offset, end, lost_tail = 0, "there is no log", False
    if plan.segments:
        if not segments or segments[-1].next_offset is None:
            return  # its log could not be read, which is told
        log_end_offset = segments[-1].next_offset
        end = f"the log ends at {log_end_offset}"
        lost_tail = any(found.problem in _TAILS for found in segments[-1].findings)
    for claim in _claims(plan, folder, checkpoints):
        if claim.offset <= log_end_offset or (lost_tail and not claim.durable):
            continue
        if _still_holds(plan, claim, checkpoints):
            continue  # the log has grown since
        detail = f"{claim.meaning} {claim.offset} of {plan.files.topic_partition}, but {end}"
        findings.add(claim.path, None, Problem.BEYOND_END, detail)


def _claims(plan: PartitionPlan, folder: FolderResult, checkpoints: Checkpoints) -> Iterator[_EndClaim]:
    for name, (meaning, durable) in _CHECKPOINTS.items():
        offset = checkpoints.offsets(name).get(plan.files.topic_partition)
        if offset is not None:
            yield _EndClaim(checkpoints.location.child(name), offset, meaning, durable)
    if folder.last_epoch is not None:
        path, epoch = plan.files.location.child(LEADER_EPOCH_CHECKPOINT), folder.last_epoch
        yield _EndClaim(path, epoch.start_offset, f"epoch {epoch.epoch} from offset", False)
    for offset in folder.snapshots:
        yield _EndClaim(plan.files.snapshot_path(offset), offset, "the producers' state before offset", False)


def _still_holds(plan: PartitionPlan, claim: _EndClaim, checkpoints: Checkpoints) -> bool:
    """Whether the log, looked at anew, reaches that far; or the partition, or what claims it, is gone."""
    name = claim.path.name
    if name in _CHECKPOINTS and checkpoints.offsets_now(name).get(plan.files.topic_partition) != claim.offset:
        return True  # replaced since it was read: it speaks of a log that is not the one looked at
    try:
        claim.path.entry()
        tail = take_snapshot(relisted(plan.files)).tail
        return tail is not None and tail.next_offset >= claim.offset
    except (ScanError, FileNotFoundError):
        return True
