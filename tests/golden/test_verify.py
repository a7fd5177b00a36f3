"""Verification of what real brokers left: no problems in sound directories, and all known damage is found."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from octavo.jobs.verify.finding import FindingKind, Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.system.runner import ThreadRunner
from tests.corruption.nearness import is_near
from tests.golden.archives import archives, entry, unpack
from tests.golden.client_records import log_dirs

DAMAGED = ("v431-corrupt", "v431-torn")
NOTES = [note for note in entry("v431-corrupt")["notes"] if "old" not in note or note["old"] != note["new"]]


def verify(*places: Path) -> Verification:
    return Verification(plan(places), ThreadRunner(2))


@pytest.mark.parametrize("name", [name for name in archives() if name not in DAMAGED])
def test_nothing_is_wrong_with_what_brokers_left_in_order(name: str) -> None:
    verification = verify(*log_dirs(name))
    problems = [found for found in verification.findings() if found.severity is Severity.PROBLEM]
    assert problems == []
    assert verification.summary.segments > 0
    assert verification.summary.problems == 0


def test_the_notes_about_a_killed_broker_are_the_ordinary_ones() -> None:
    kinds = {found.problem for found in verify(unpack("v431-killed")).findings()}
    assert kinds == {FindingKind.ZERO_ENTRIES, FindingKind.ZEROS, FindingKind.ON_ITS_WAY_OUT}


def test_torn_ends_are_notes_but_a_wrong_crc_is_a_problem() -> None:
    lines = list(verify(unpack("v431-torn")).findings())
    expected: dict[str, tuple[FindingKind, Severity]] = {
        "crash.plain-0/00000000000000000213.log": (FindingKind.INCOMPLETE_BATCH, Severity.INFO),
        "crash.txn-0/00000000000000000160.log": (FindingKind.INCOMPLETE_BATCH, Severity.INFO),
        "crash.prealloc-0/00000000000000001855.log": (FindingKind.CRC_MISMATCH, Severity.PROBLEM),
        "crash.big-index-0/00000000000000000000.log": (FindingKind.INCOMPLETE_BATCH, Severity.INFO),
        "crash.compacted-0/00000000000000000237.log": (FindingKind.CRC_MISMATCH, Severity.PROBLEM),
    }
    for note in entry("v431-torn")["notes"]:
        problem, severity = expected[note["file"]]
        (line,) = [line for line in lines if line.path.endswith(note["file"]) and line.problem is problem]
        if "appended" in note:
            position = (unpack("v431-torn") / note["file"]).stat().st_size - note["appended"]
        else:
            position = note.get("batch", note.get("last_batch"))["position"]
        assert (line.severity, line.position) == (severity, position)


@pytest.mark.parametrize("note", NOTES, ids=lambda note: str(note["folder"]))
def test_damage_is_found_in_its_file(note: dict[str, Any], tmp_path: Path) -> None:
    segment = unpack("v431-clean") / note["from"]
    damaged, sound = tmp_path / "damaged" / "case-0", tmp_path / "sound" / "case-0"
    shutil.copytree(unpack("v431-corrupt") / note["folder"], damaged)
    sound.mkdir(parents=True)
    for path in segment.parent.glob(f"{segment.name}.*"):
        shutil.copy2(path, sound / path.name)
    name = note.get("file", f"{segment.name}.snapshot")
    problems = [found for found in verify(damaged.parent).findings() if found.severity is Severity.PROBLEM]
    named = [found for found in problems if Path(found.path).name == name]
    assert named
    if "position" in note:
        assert any(is_near(found, sound / name, note["position"]) for found in named)
    assert [found for found in verify(sound.parent).findings() if found.severity is Severity.PROBLEM] == []
