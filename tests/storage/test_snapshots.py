"""Snapshot files: found, written, swept, marked as deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.storage.producers.snapshots import SnapshotFiles
from octavo.system.filesystem import LocalFileSystem


def snapshots(folder: Path, *offsets: int) -> SnapshotFiles:
    files = SnapshotFiles(LocalFileSystem(), folder)
    for offset in offsets:
        files.write(offset, b"%d" % offset)
    return files


def test_snapshots_are_found_again_in_order(tmp_path: Path) -> None:
    snapshots(tmp_path, 30, 10, 20)
    (tmp_path / "00000000000000000040.snapshot.deleted").write_bytes(b"")
    (tmp_path / "00000000000000000040.log").write_bytes(b"")
    found = snapshots(tmp_path)
    assert (found.offsets, found.latest_offset, found.read(20)) == ([10, 20, 30], 30, b"20")
    found.write(20, b"new", sync=False)
    assert (found.offsets, found.read(20)) == ([10, 20, 30], b"new")


def test_a_snapshot_that_is_gone_is_not_an_error(tmp_path: Path) -> None:
    found = snapshots(tmp_path, 10)
    found.write(99, b"gone", sync=False)
    found.path(99).unlink()
    found.sync_up_to(99)
    found.delete(99)
    assert found.offsets == [10]


def test_snapshots_outside_the_log_are_deleted(tmp_path: Path) -> None:
    found = snapshots(tmp_path, 10, 20, 30, 40)
    found.delete_outside(10, 30)
    assert found.offsets == snapshots(tmp_path).offsets == [20, 30]


@pytest.mark.parametrize(
    ("bases", "kept"),
    [({0, 10, 20}, [10, 20, 35]), ({0, 30}, [30, 35]), ({0, 40}, []), (set(), [35])],
)
def test_stray_snapshots_are_removed_except_that_of_a_clean_stop(
    tmp_path: Path, bases: set[int], kept: list[int]
) -> None:
    found = snapshots(tmp_path, 10, 15, 20, 30, 35)
    found.delete_stray(bases)
    assert found.offsets == snapshots(tmp_path).offsets == kept


def test_a_snapshot_is_marked_as_deleted_once(tmp_path: Path) -> None:
    found = snapshots(tmp_path, 10)
    assert found.mark_deleted([10]) == [tmp_path / "00000000000000000010.snapshot.deleted"]
    assert found.mark_deleted([10]) == []
    assert found.latest_offset is None
    assert [path.name for path in tmp_path.iterdir()] == ["00000000000000000010.snapshot.deleted"]
