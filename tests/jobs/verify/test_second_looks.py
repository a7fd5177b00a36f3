"""On a running broker's disk: what is half written, renamed or replaced while it is verified is not a finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from octavo.format.names import FileKind
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.jobs.verify import job
from octavo.jobs.verify import partition as partition_checks
from octavo.jobs.verify.finding import Finding, FindingKind
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import DirectoryPlan, PartitionPlan, plan
from octavo.scanner.partition.tail import WriterPatience
from octavo.system.clock import ManualClock
from octavo.system.runner import ThreadRunner
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, batch(0), batch(1), batch(2), batch(3))
    return tmp_path / "orders-0"


def findings(plans: list[DirectoryPlan]) -> list[Finding]:
    return list(Verification(plans, ThreadRunner(1)).findings())


class Meanwhile:
    """What happens during the first wait for a writer. All files count as recent, since the clock stands at 0."""

    def __init__(self, step: Callable[[], object]) -> None:
        self.pauses = 0
        self.patience = WriterPatience(ManualClock(0), self._sleep)
        self._step = step

    def _sleep(self, _: float) -> None:
        self.pauses += 1
        if self.pauses == 1:
            self._step()


def test_a_snapshot_that_is_being_written_is_not_a_finding(folder: Path) -> None:
    content = producer_snapshot.encode([])
    file = path(folder, 4, FileKind.PRODUCER_SNAPSHOT)
    file.write_bytes(content[:5])
    meanwhile = Meanwhile(lambda: file.write_bytes(content))
    assert findings(plan([folder.parent], patience=meanwhile.patience)) == []
    assert meanwhile.pauses


def test_a_damaged_snapshot_is_reported_after_a_second_look(folder: Path) -> None:
    path(folder, 4, FileKind.PRODUCER_SNAPSHOT).write_bytes(b"short")
    meanwhile = Meanwhile(lambda: None)
    plans = plan([folder.parent], patience=meanwhile.patience)
    assert [found.problem for found in findings(plans)] == [FindingKind.DAMAGED_FILE]
    assert meanwhile.pauses == 1


def test_a_batch_that_is_being_written_into_a_preallocated_log_is_not_a_finding(folder: Path) -> None:
    log = path(folder, 0, FileKind.LOG)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20] + bytes(20))
    meanwhile = Meanwhile(lambda: log.write_bytes(whole))
    assert findings(plan([folder.parent], patience=meanwhile.patience)) == []


def test_a_segment_that_compaction_replaces_is_not_a_finding(folder: Path) -> None:
    """The log is already the new one; the indexes and the next segment are still the old ones."""
    write_segment(folder, 4, batch(4), batch(5))
    merged = [batch(0), batch(5)]

    def finish() -> None:
        write_segment(folder, 0, *merged)
        for file in folder.glob(f"{4:020}.*"):
            file.unlink()

    plans = plan([folder.parent], patience=Meanwhile(finish).patience)
    path(folder, 0, FileKind.LOG).write_bytes(b"".join(merged))
    assert findings(plans) == []


def test_a_deletion_that_renames_file_by_file_is_only_a_note(folder: Path) -> None:
    write_segment(folder, 4, batch(4))
    log = path(folder, 0, FileKind.LOG)
    log.rename(log.with_name(f"{log.name}.deleted"))
    plans = plan([folder.parent])  # lists indexes without their log
    for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        index = path(folder, 0, kind)
        index.rename(index.with_name(f"{index.name}.deleted"))
    assert [found.problem for found in findings(plans)] == [FindingKind.ON_ITS_WAY_OUT]


def test_a_partition_that_is_deleted_meanwhile_is_not_a_finding(folder: Path) -> None:
    write_segment(folder.parent / "other-0", 0, batch(0))
    plans = plan([folder.parent])
    folder.rename(folder.with_name(f"orders-0.{'0' * 32}-delete"))
    assert findings(plans) == []


def test_a_log_that_grows_after_it_was_listed_is_not_a_finding(folder: Path) -> None:
    """A checkpoint and a snapshot with offsets that were written after the log was listed."""
    plans = plan([folder.parent])
    write_segment(folder, 4, batch(4), batch(5))
    entry = ProducerEntry(1, 0, 1, 3, 0, 0, -1, -1)
    path(folder, 6, FileKind.PRODUCER_SNAPSHOT).write_bytes(producer_snapshot.encode([entry]))
    folder.parent.joinpath("recovery-point-offset-checkpoint").write_text("0\n1\norders 0 6\n")
    assert findings(plans) == []


def test_a_checkpoint_that_is_replaced_meanwhile_is_not_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read for one partition, then rewritten, as after a truncation of the other partition's log."""
    other = folder.parent / "other-0"
    write_segment(other, 0, batch(0), batch(1))
    checkpoint = folder.parent / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n2\norders 0 4\nother 0 20\n")
    found = Verification(plan([folder.parent]), ThreadRunner(1))
    checked: list[PartitionPlan] = []

    def check_ends(partition: PartitionPlan, *others: Any) -> None:
        partition_checks.check_ends(partition, *others)
        checked.append(partition)
        if len(checked) == 1:
            checkpoint.write_text("0\n2\norders 0 4\nother 0 2\n")

    monkeypatch.setattr(job, "check_ends", check_ends)
    assert list(found.findings()) == []
    assert len(checked) == 2
