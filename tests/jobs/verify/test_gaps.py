"""Offsets missing between two segments: a note if the topic is known not to be compacted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from octavo.format.names import FileKind
from octavo.jobs.verify.finding import FindingKind, Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.storage.log_manager import LogManager
from octavo.system.runner import ThreadRunner
from tests.golden.archives import unpack
from tests.jobs.verify.verified import findings_of, flipped
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

PLAIN = "codec.none-0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The disk of a 4.3.1, whose metadata knows all its topics."""
    folder = tmp_path / "root"
    shutil.copytree(unpack("v431-clean"), folder, ignore=lambda _, names: [name for name in names if "-delete" in name])
    return folder


def lose(folder: Path, base_offset: int) -> None:
    for file in folder.glob(f"{base_offset:020}.*"):
        file.unlink()


def test_a_lost_segment_of_a_topic_without_compaction_is_a_note(root: Path) -> None:
    assert findings_of(root) == []
    lose(root / PLAIN, 230)
    (found,) = findings_of(root)
    assert (found.path, found.position) == (str(path(root / PLAIN, 465, FileKind.LOG)), None)
    assert (found.problem, found.severity) == (FindingKind.MISSING_OFFSETS, Severity.INFO)
    assert found.detail == (
        "offsets 230 to 464 are missing before this segment, and the topic is not compacted: a file may have been lost"
    )
    assert [one.detail for one in findings_of(root / PLAIN)] == [found.detail]
    assert findings_of(path(root / PLAIN, 465, FileKind.LOG)) == []


def test_a_middle_segment_that_was_cut_at_a_batch_is_a_gap_too(root: Path) -> None:
    path(root / PLAIN, 230, FileKind.LOG).write_bytes(b"")
    kinds = {found.problem for found in findings_of(root)}
    assert FindingKind.MISSING_OFFSETS in kinds


def test_the_first_segment_and_deleted_records_leave_no_gap(root: Path) -> None:
    lose(root / PLAIN, 0)
    assert FindingKind.MISSING_OFFSETS not in {found.problem for found in findings_of(root)}
    shutil.rmtree(root / PLAIN)
    shutil.copytree(unpack("v431-clean") / PLAIN, root / PLAIN)
    lose(root / PLAIN, 230)
    (root / "log-start-offset-checkpoint").write_text("0\n1\ncodec.none 0 465\n")
    assert FindingKind.MISSING_OFFSETS not in {found.problem for found in findings_of(root)}


def test_gaps_of_a_compacted_or_unknown_topic_are_normal(tmp_path: Path) -> None:
    with LogManager(tmp_path, create=True) as logs:
        logs.create_topic("kept", 1, {})
        logs.create_topic("compacted", 1, {"cleanup.policy": "compact,delete"})
    for topic in ("kept", "compacted", "unknown"):
        shutil.rmtree(tmp_path / f"{topic}-0", ignore_errors=True)
        write_segment(tmp_path / f"{topic}-0", 0, batch(0))
        write_segment(tmp_path / f"{topic}-0", 2, batch(2))
    found = [one for one in findings_of(tmp_path) if one.problem is FindingKind.MISSING_OFFSETS]
    assert [Path(one.path).parent.name for one in found] == ["kept-0"]
    assert found[0].detail.startswith("offset 1 is missing before this segment")


def test_damage_at_a_segments_end_is_not_a_gap_as_well(root: Path) -> None:
    log = path(root / PLAIN, 230, FileKind.LOG)
    flipped(log, log.stat().st_size - 1)
    kinds = {found.problem for found in findings_of(root)}
    assert FindingKind.CRC_MISMATCH in kinds
    assert FindingKind.MISSING_OFFSETS not in kinds


def test_a_segment_that_one_listing_missed_is_not_a_gap(root: Path, tmp_path: Path) -> None:
    """Retention may rename the first segments while their folder is listed."""
    shutil.copytree(root / PLAIN, tmp_path / "kept")
    lose(root / PLAIN, 230)
    plans = plan([root])
    for file in (tmp_path / "kept").glob(f"{230:020}.*"):
        shutil.copy2(file, root / PLAIN)
    assert list(Verification(plans, ThreadRunner(1)).findings()) == []
