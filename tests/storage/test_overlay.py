"""A dry run's filesystem: it shows the real files with all changes, none of which reaches them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.storage.environment import Environment
from octavo.storage.files.overlay import OverlayFileSystem
from octavo.storage.log_manager import LogManager
from octavo.system.scheduler import EndScheduler
from tests.storage.batches import batch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(b"0123456789")
    (folder / "b").write_bytes(b"b")
    os.utime(folder / "a", ns=(5_000_000, 5_000_000))
    return folder


@pytest.fixture
def files(tmp_path: Path) -> OverlayFileSystem:
    (tmp_path / "scratch").mkdir()
    return OverlayFileSystem(tmp_path / "scratch")


def on_machine(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


@pytest.fixture(autouse=True)
def _nothing_changes(root: Path) -> object:
    before = on_machine(root)
    yield
    assert on_machine(root) == before


def test_what_is_there_is_shown(files: OverlayFileSystem, root: Path) -> None:
    assert (files.names(root), files.folders(root)) == (["a", "b"], ["sub"])
    assert (files.size(root / "a"), files.mtime_ms(root / "a"), files.read_bytes(root / "a")) == (10, 5, b"0123456789")
    assert [files.exists(root / name) for name in ("a", "sub", "c")] == [True, True, False]
    assert [files.is_folder(root / name) for name in ("a", "sub", "c")] == [False, True, False]
    file = files.open(root / "a")
    assert (file.pread(4, 8), file.size(), os.pread(file.fileno(), 2, 1)) == (b"89", 10, b"12")
    for missing in (files.open, files.read_bytes, files.size, files.mtime_ms):
        with pytest.raises(FileNotFoundError):
            missing(root / "c")


def test_a_cut_is_seen_by_all_and_copies_nothing(files: OverlayFileSystem, root: Path, tmp_path: Path) -> None:
    early = files.open(root / "a")
    files.truncate(root / "a", 4)
    buffer = memoryview(bytearray(10))
    for file in (early, files.open(root / "a")):
        assert (file.pread(10, 2), file.size(), file.pread_into(buffer, 0), bytes(buffer[:4])) == (b"23", 4, 4, b"0123")
        assert (file.pread(10, 9), file.pread_into(buffer, 9)) == (b"", 0)
    assert list((tmp_path / "scratch").iterdir()) == []
    early.truncate(6)
    assert files.read_bytes(root / "a") == b"0123\0\0"


def test_writes_are_seen_by_all(files: OverlayFileSystem, root: Path) -> None:
    early = files.open(root / "a")
    files.open(root / "a").pwrite(b"xy", 3)
    assert early.pread(10, 0) == b"012xy56789"
    early.pwrite(b"end", 10)
    early.fsync()
    assert files.read_bytes(root / "a") == b"012xy56789end"
    files.set_mtime_ms(root / "a", 77)
    assert files.mtime_ms(root / "a") == 77


def test_mappings_show_what_is_written(files: OverlayFileSystem, root: Path) -> None:
    mapping = files.map(root / "a", 8)
    assert bytes(mapping.view()) == b"01234567"
    mapping.write(b"xy", 2)
    mapping.flush()
    assert bytes(mapping.view()) == b"01xy4567"
    other = files.map(root / "a", 10)
    assert bytes(other.view()) == files.read_bytes(root / "a") == b"01xy456789"
    mapping.close()
    other.close()


def test_names_come_go_and_move(files: OverlayFileSystem, root: Path) -> None:
    files.open(root / "new", create=True).pwrite(b"n", 0)
    files.truncate(root / "zeros", 3)
    files.rename(root / "a", root / "b")
    assert (files.names(root), files.read_bytes(root / "b")) == (["b", "new", "zeros"], b"0123456789")
    assert files.read_bytes(root / "zeros") == bytes(3)
    assert not files.exists(root / "a")
    assert (files.unlink(root / "b"), files.unlink(root / "b")) == (True, False)
    with pytest.raises(FileNotFoundError):
        files.open(root / "b")
    assert files.open(root / "b", create=True).size() == 0
    files.mkdir(root / "made")
    files.mkdir(root / "sub")
    files.open(root / "made" / "f", create=True)
    files.fsync_folder(root)
    assert (files.folders(root), files.names(root / "made")) == (["made", "sub"], ["f"])
    files.rmdir(root / "sub")
    assert (files.folders(root), files.exists(root / "sub"), files.is_folder(root / "sub")) == (["made"], False, False)


def test_holes_stay_holes(files: OverlayFileSystem, tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.write_bytes(b"head")
    os.truncate(path, 10 << 20)
    files.open(path).pwrite(b"x", 2)
    copy = next((tmp_path / "scratch").iterdir())
    assert copy.stat().st_size == 10 << 20
    assert copy.stat().st_blocks * 512 <= 1 << 20
    assert files.open(path).pread(6, 0) == b"hexd\0\0"


def test_a_log_manager_changes_a_directory_only_in_the_overlay(tmp_path: Path, files: OverlayFileSystem) -> None:
    root = tmp_path / "logs"
    with LogManager(root, background=False) as logs:
        logs.create_topic("t", 1, {"segment.bytes": 300})
        for offset in range(4):
            logs.log("t", 0).append_as_follower(batch(offset))
    before = on_machine(root)
    environment = Environment(EndScheduler(), filesystem=files)
    with (
        LogManager(root, background=False) as owner,
        LogManager(root, environment=environment, background=False) as logs,
    ):
        log = logs.log("t", 0)
        log.append_as_follower(batch(4))
        log.truncate_to(2)
        log.append_as_follower(batch(2, 10, value_bytes=1))
        assert (log.log_end_offset, owner.log("t", 0).log_end_offset) == (12, 4)
        logs.create_topic("u", 2)
    with LogManager(root, environment=Environment(EndScheduler(), filesystem=files), background=False) as logs:
        assert (logs.topics, logs.log("t", 0).log_end_offset) == ({"t": [0], "u": [0, 1]}, 12)
    assert on_machine(root).keys() == before.keys()
    assert {name: data for name, data in on_machine(root).items() if name.startswith("t-0")} == {
        name: data for name, data in before.items() if name.startswith("t-0")
    }


def test_a_folder_is_renamed_with_its_files(files: OverlayFileSystem, root: Path) -> None:
    files.open(root / "sub" / "new", create=True).pwrite(b"new", 0)
    files.rename(root / "sub", root / "moved")
    assert files.folders(root) == ["moved"]
    assert [files.exists(root / name) for name in ("sub", "moved")] == [False, True]
    assert files.names(root / "moved") == ["new"]
    assert files.read_bytes(root / "moved" / "new") == b"new"
    with pytest.raises(FileNotFoundError):
        files.open(root / "sub" / "new")
