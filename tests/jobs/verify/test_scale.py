"""The work grows no faster than the size: nothing that all partitions or segments share is read for each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Barrier

import pytest

from octavo.format.names import OFFSET_CHECKPOINTS, FileKind
from octavo.jobs.verify.finding import FindingKind
from octavo.scanner.places.location import Entry, LocalReadableFile, LocalReadableFileSystem
from tests.jobs.verify.verified import findings_of
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

COUNT = 30


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was opened, and each folder listed, by name."""
    counts: Counter[str] = Counter()
    opened, listed = LocalReadableFileSystem.open, LocalReadableFileSystem.list

    def open_counted(self: LocalReadableFileSystem, path: str, /) -> LocalReadableFile:
        counts[Path(path).name] += 1
        return opened(self, path)

    def list_counted(self: LocalReadableFileSystem, folder: str, /) -> list[Entry]:
        counts[Path(folder).name] += 1
        return listed(self, folder)

    monkeypatch.setattr(LocalReadableFileSystem, "open", open_counted)
    monkeypatch.setattr(LocalReadableFileSystem, "list", list_counted)
    return counts


@pytest.mark.parametrize("offset", [1, 9])  # one that the logs reach, and one that they do not
def test_checkpoints_are_not_read_for_each_partition(tmp_path: Path, asked: Counter[str], offset: int) -> None:
    lines = [f"orders {number} {offset}\n" for number in range(COUNT)]
    for number in range(COUNT):
        write_segment(tmp_path / f"orders-{number}", 0, batch(0))
    for name in OFFSET_CHECKPOINTS:
        (tmp_path / name).write_text(f"0\n{COUNT}\n{''.join(lines)}")
    problems = {found.problem for found in findings_of(tmp_path)}
    assert problems == ({FindingKind.BEYOND_END} if offset > 1 else set())
    assert all(0 < asked[name] <= 3 for name in OFFSET_CHECKPOINTS)


def test_indexes_without_a_log_do_not_list_the_folder_each(tmp_path: Path, asked: Counter[str]) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0))
    for base_offset in range(1, COUNT):
        path(tmp_path / "orders-0", base_offset, FileKind.OFFSET_INDEX).touch()
    assert len(findings_of(tmp_path)) == COUNT - 1
    assert 0 < asked["orders-0"] <= 3


def test_segments_with_a_problem_do_not_list_the_folder_each(tmp_path: Path, asked: Counter[str]) -> None:
    folder = tmp_path / "orders-0"
    for base_offset in range(COUNT):
        write_segment(folder, base_offset, batch(base_offset))
        path(folder, base_offset, FileKind.OFFSET_INDEX).unlink()
    assert len(findings_of(tmp_path)) == COUNT - 1
    assert 0 < asked["orders-0"] <= 3


def test_two_segments_are_verified_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each segment is a task: here no log is opened until the other one is about to be opened too."""
    for number in range(2):
        write_segment(tmp_path / f"orders-{number}", 0, batch(0))
    opened, meeting = LocalReadableFileSystem.open, Barrier(2, timeout=60)

    def open_together(self: LocalReadableFileSystem, path: str, /) -> LocalReadableFile:
        if path.endswith(".log"):
            meeting.wait()
        return opened(self, path)

    monkeypatch.setattr(LocalReadableFileSystem, "open", open_together)
    assert findings_of(tmp_path) == []
