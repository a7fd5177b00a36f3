"""Logs that end below their recovery point: what was flushed and is gone is named, except on a disk in motion."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

import octavo
from octavo.errors import ScanError
from octavo.format.names import RECOVERY_POINT_CHECKPOINT, FileKind
from octavo.scanner.findings import OnDamage
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.flushed import MissingEnd, missing_end
from octavo.scanner.partition.snapshot import PartitionSnapshot, take_snapshot
from octavo.scanner.partition.tail import LOOKS, WriterPatience
from octavo.system.clock import ManualClock
from tests.golden.archives import archives, unpack
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

SENTENCE = "ends at offset 2, but was flushed up to 4: offsets 2 to 3 are missing"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, batch(0), batch(1))
    flushed_up_to(tmp_path, 4)
    return tmp_path / "orders-0"


def flushed_up_to(root: Path, offset: int) -> None:
    (root / RECOVERY_POINT_CHECKPOINT).write_text(f"0\n1\norders 0 {offset}\n")


def snapshot(root: Path) -> PartitionSnapshot:
    return take_snapshot(next(iter(open_log_dirs(root).partitions.values())))


def old() -> WriterPatience:
    """All files count as old."""
    return WriterPatience(ManualClock(1 << 50), lambda _: pytest.fail("waited for a writer"))


def writer(step: Callable[[], object]) -> WriterPatience:
    """Something happens during each pause; all files count as recent."""

    def pause(_: float) -> None:
        step()

    return WriterPatience(ManualClock(0), pause)


def test_what_was_flushed_and_is_gone_is_named(folder: Path) -> None:
    missing = missing_end(snapshot(folder.parent), old())
    assert missing == MissingEnd(2, 4)
    assert str(missing) == SENTENCE
    assert str(MissingEnd(3, 4)) == "ends at offset 3, but was flushed up to 4: offset 3 is missing"


@pytest.mark.parametrize("archive", archives())
def test_brokers_leave_no_log_that_ends_below_its_recovery_point(archive: str) -> None:
    if archive in ("v431-corrupt", "v431-torn") or archive.startswith("seed"):
        pytest.skip("not as a broker left it")
    roots = [file.parent for file in unpack(archive).rglob(RECOVERY_POINT_CHECKPOINT)]
    for root in roots:
        for files in open_log_dirs(root).partitions.values():
            assert missing_end(take_snapshot(files)) is None, files.location


def test_a_log_that_reaches_its_recovery_point_is_whole(folder: Path) -> None:
    flushed_up_to(folder.parent, 2)
    assert missing_end(snapshot(folder.parent), old()) is None
    (folder.parent / RECOVERY_POINT_CHECKPOINT).unlink()
    assert missing_end(snapshot(folder.parent), old()) is None


def test_deleted_records_are_not_missing(folder: Path) -> None:
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    assert missing_end(snapshot(folder.parent), old()) is None


def test_a_log_that_grows_meanwhile_is_whole(folder: Path) -> None:
    before = snapshot(folder.parent)
    write_segment(folder, 2, batch(2), batch(3))
    assert missing_end(before, old()) is None


def test_a_checkpoint_that_is_replaced_meanwhile_does_not_count(folder: Path) -> None:
    before = snapshot(folder.parent)
    before.files.root.offsets(RECOVERY_POINT_CHECKPOINT)
    flushed_up_to(folder.parent, 2)
    assert missing_end(before, old()) is None


def test_a_truncation_shortens_the_log_before_its_checkpoint(folder: Path) -> None:
    before = snapshot(folder.parent)
    assert missing_end(before, writer(lambda: flushed_up_to(folder.parent, 2))) is None


def test_a_recent_file_gets_only_some_looks(folder: Path) -> None:
    pauses: list[int] = []
    assert missing_end(snapshot(folder.parent), writer(lambda: pauses.append(1))) == MissingEnd(2, 4)
    assert len(pauses) == LOOKS


def test_a_topic_that_is_deleted_meanwhile_is_not_short(folder: Path) -> None:
    before = snapshot(folder.parent)
    shutil.rmtree(folder)
    assert missing_end(before, old()) is None
    with pytest.raises(ScanError):
        take_snapshot(before.files)


def test_a_single_segment_file_says_nothing_about_the_end(folder: Path) -> None:
    assert octavo.scan(path(folder, 0, FileKind.LOG)).to_table().num_rows == 2
    assert missing_end(snapshot(path(folder, 0, FileKind.LOG)), old()) is None


@pytest.mark.parametrize("on_damage", ["raise", "skip"])
def test_a_scan_reads_what_is_there_and_notes_what_is_not(folder: Path, on_damage: OnDamage) -> None:
    found = octavo.scan(folder.parent, on_damage=on_damage)
    assert found.count() == 2
    assert list(map(str, found.notes)) == [f"{folder}: {SENTENCE}"]
    assert found.damage_count == 1
    before = octavo.scan(folder.parent, to_offset=1, on_damage=on_damage)
    assert (before.count(), before.notes, before.damage_count) == (1, (), 0)


def test_at_a_url(folder: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(folder.parent), "/flushed", recursive=True)
    try:
        found = octavo.scan("memory://flushed")
        assert found.count() == 2
        assert [note.sentence for note in found.notes] == [SENTENCE]
    finally:
        memory.rm("/flushed", recursive=True)
