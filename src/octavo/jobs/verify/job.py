"""The whole job: runs the tasks, yields their findings in order, then what only all of them together can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from octavo.errors import ScanError
from octavo.jobs.verify.disks import Disks
from octavo.jobs.verify.finding import Finding, FindingCollector, FindingKind, Severity
from octavo.jobs.verify.folder import FolderResult
from octavo.jobs.verify.gaps import CleanupPolicies, check_gaps
from octavo.jobs.verify.partition import CheckpointCache, check_ends, check_epochs
from octavo.jobs.verify.plan import DirectoryPlan, PartitionPlan, VerifyTask
from octavo.jobs.verify.root import RootResult
from octavo.jobs.verify.segment import SegmentResult
from octavo.scanner.places.location import Location
from octavo.system.runner import Progress, Runner, TaskOutcome

VerifyResult = RootResult | FolderResult | SegmentResult | list[Finding]


@dataclass(slots=True)
class VerifySummary:
    """How much was verified, and how many findings there were."""

    problems: int = 0
    infos: int = 0
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    size: int = 0  # in bytes

    def count(self, findings: list[Finding]) -> list[Finding]:
        infos = sum(found.severity is Severity.INFO for found in findings)
        self.infos += infos
        self.problems += len(findings) - infos
        return findings


def run(task: VerifyTask) -> VerifyResult:
    """Run a task, whatever its kind."""
    return task.run()


class Verification:
    """Runs plans; `summary` is complete once all findings have been read."""

    def __init__(self, plans: list[DirectoryPlan], runner: Runner, progress: Progress | None = None) -> None:
        self.summary = VerifySummary()
        self._plans = plans
        self._policies = CleanupPolicies(part.files.root.location for plan in plans for part in plan.partitions)
        tasks = [task for plan in plans for task in plan.tasks()]
        self._outcomes = runner.run(run, tasks, progress)

    def findings(self) -> Iterator[Finding]:
        """All findings, ordered by place and partition; last, what only all places together can show."""
        checkpoints: dict[Location, CheckpointCache] = {}
        disks = Disks()
        for plan in self._plans:
            yield from self.summary.count(plan.findings.all())
            if plan.root is not None:
                root = self._root()
                yield from self.summary.count(root.findings)
                disks.add(plan.location, root.meta)
            for partition in plan.partitions:
                place = partition.files.root.location
                folder, findings = self._partition(partition, checkpoints.setdefault(place, CheckpointCache(place)))
                yield from self.summary.count(findings)
                disks.add_partition(partition.files, folder.topic_id, plan.location)
        together = FindingCollector()
        disks.check(together)
        yield from self.summary.count(together.all())

    def _root(self) -> RootResult:
        result = _result(next(self._outcomes))
        if isinstance(result, RootResult):
            return result
        return RootResult(result if isinstance(result, list) else [])

    def _partition(self, plan: PartitionPlan, checkpoints: CheckpointCache) -> tuple[FolderResult, list[Finding]]:
        found: list[Finding] = []
        folder, segments = FolderResult([]), []
        for _ in plan.tasks():
            result = _result(next(self._outcomes))
            found += result if isinstance(result, list) else result.findings
            if isinstance(result, FolderResult):
                folder = result
            elif isinstance(result, SegmentResult):
                segments.append(result)
                self._count(result)
        self.summary.partitions += 1
        ends = FindingCollector()
        check_ends(plan, folder, segments, checkpoints, ends)
        check_epochs(plan, segments, checkpoints, ends)
        check_gaps(plan, segments, checkpoints, self._policies, ends)
        return folder, list(dict.fromkeys(found + ends.all()))  # what several segments show is reported once

    def _count(self, result: SegmentResult) -> None:
        self.summary.segments += result.next_offset is not None
        self.summary.batches += result.batches
        self.summary.records += result.records
        self.summary.size += result.size


def _result(outcome: TaskOutcome[VerifyTask, VerifyResult]) -> VerifyResult:
    """The result of a task. A disk error is a finding; a file deleted in the meantime is not."""
    try:
        return outcome.get()
    except ScanError:
        return []
    except FileNotFoundError:
        return []
    except OSError as error:
        detail = error.strerror or str(error)
        return [Finding(str(error.filename or ""), None, FindingKind.UNREADABLE_FILE, detail)]
