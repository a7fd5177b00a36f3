"""Looks for segments that are gone: offsets missing between two segments of a topic that is not compacted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from octavo.errors import OctavoError, ScanError
from octavo.format.names import LOG_START_OFFSET_CHECKPOINT, FolderState
from octavo.jobs.losses import gap_text
from octavo.jobs.source_configs import source_configs
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.jobs.verify.partition import CheckpointCache
from octavo.jobs.verify.plan import PartitionPlan
from octavo.jobs.verify.segment import SegmentResult
from octavo.jobs.verify.view import SegmentView
from octavo.scanner.partition.snapshot import effective_segments, relisted
from octavo.scanner.places.location import Location
from octavo.storage.topics.topic_configs import TopicConfigs


class CleanupPolicies:
    """The cleanup policies of topics, read only when they are first needed: few partitions have gaps."""

    def __init__(self, roots: Iterable[Location]) -> None:
        self._roots = list(roots)
        self._configs: TopicConfigs | None = None

    def keep_all(self, topic: str) -> bool:
        """Whether a topic is known not to be compacted; False if the configs cannot be read."""
        if self._configs is None:
            try:
                self._configs = source_configs(self._roots)
            except (OctavoError, OSError):
                self._configs = TopicConfigs()
        return self._configs.keeps_all_offsets(topic)


def check_gaps(
    plan: PartitionPlan,
    segments: list[SegmentResult],
    checkpoints: CheckpointCache,
    policies: CleanupPolicies,
    findings: FindingCollector,
) -> None:
    """Report offsets that are missing between two segments, unless compaction may have removed them.

    It is only info: the topic may have been compacted before, and files may have been deleted on purpose.
    """
    if not plan.files.whole or plan.files.folder.state is not FolderState.CURRENT:
        return
    start = checkpoints.offsets(LOG_START_OFFSET_CHECKPOINT).get(plan.files.topic_partition, 0)
    for end_offset, before, after in _gaps(plan, segments):
        first = max(end_offset, start)
        if first >= after.base_offset or not policies.keep_all(plan.files.topic_partition.topic):
            continue
        if _is_still_there(plan, before.base_offset, after.base_offset):
            detail = gap_text(first, after.base_offset - 1)
            findings.add(after.path(), None, FindingKind.MISSING_OFFSETS, detail, Severity.INFO)


def _gaps(plan: PartitionPlan, segments: list[SegmentResult]) -> Iterator[tuple[int, SegmentView, SegmentView]]:
    """The gaps between neighbours: where the first of them ends, and both of them.

    What is missing after damage, which is reported, is not a gap; nor is a segment that could not be read.
    """
    if len(segments) != len(plan.segments):
        return  # a segment was deleted in the meantime
    views = [task.view for task in plan.segments]
    for (before, after), result in zip(pairwise(views), segments, strict=False):
        end_offset, log = result.next_offset, str(before.path())
        is_damaged = any(found.path == log for found in result.findings)
        if end_offset is not None and end_offset < after.base_offset and not is_damaged:
            yield end_offset, before, after


def _is_still_there(plan: PartitionPlan, before: int, after: int) -> bool:
    """Whether a second listing has the same two segments as neighbours. A listing during a deletion may lack some."""
    try:
        bases = [segment.base_offset for segment in effective_segments(relisted(plan.files))]
    except (ScanError, FileNotFoundError):
        return False
    return (before, after) in pairwise(bases)
