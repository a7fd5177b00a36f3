"""`LocalFileSystem`: files by position, mappings, names, and failures of the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from octavo.system.filesystem import LocalFileSystem, is_disk_failure

FILES = LocalFileSystem()


def test_files_are_read_and_written_by_position(tmp_path: Path) -> None:
    file = FILES.open(tmp_path / "a", create=True)
    file.pwrite(b"world", 6)
    file.pwrite(memoryview(b"hello "), 0)
    assert (file.pread(5, 6), file.pread(100, 3), file.pread(5, 50)) == (b"world", b"lo world", b"")
    buffer = bytearray(20)
    assert file.pread_into(memoryview(buffer), 6) == 5
    assert bytes(buffer[:6]) == b"world\0"
    file.truncate(3)
    file.fsync()
    assert (file.size(), FILES.size(tmp_path / "a"), FILES.read_bytes(tmp_path / "a")) == (3, 3, b"hel")


def test_descriptor_is_closed_with_the_last_holder(tmp_path: Path) -> None:
    file = FILES.open(tmp_path / "a", create=True)
    number = file.fileno()
    os.fstat(number)
    del file
    with pytest.raises(OSError):
        os.fstat(number)


def test_missing_file_is_not_created_unasked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FILES.open(tmp_path / "a")
    assert not FILES.exists(tmp_path / "a")
    assert not FILES.unlink(tmp_path / "a")
    FILES.truncate(tmp_path / "a", 7)
    assert FILES.read_bytes(tmp_path / "a") == bytes(7)
    assert FILES.unlink(tmp_path / "a")


def test_mapping_sees_what_is_written(tmp_path: Path) -> None:
    FILES.truncate(tmp_path / "a", 100)
    mapping = FILES.map(tmp_path / "a", 100)
    mapping.flush()
    mapping.write(b"abc", 50)
    view = mapping.view()
    assert bytes(view[50:53]) == b"abc"
    view.release()
    mapping.flush()
    mapping.close()
    assert FILES.read_bytes(tmp_path / "a")[50:53] == b"abc"


def test_flush_of_a_mapping_syncs_what_an_earlier_one_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FILES.truncate(tmp_path / "a", 100)
    earlier = FILES.map(tmp_path / "a", 100)
    earlier.write(b"abc", 50)
    earlier.close()
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    FILES.map(tmp_path / "a", 100).flush()
    assert synced == [(tmp_path / "a").stat().st_ino]


def test_names_folders_and_times_are_listed_and_changed(tmp_path: Path) -> None:
    FILES.mkdir(tmp_path / "x" / "y")
    FILES.mkdir(tmp_path / "x")
    for name in ("b", "a"):
        FILES.truncate(tmp_path / "x" / name, 0)
    assert FILES.names(tmp_path / "x") == ["a", "b"]
    FILES.rename(tmp_path / "x" / "a", tmp_path / "x" / "b")
    assert FILES.names(tmp_path / "x") == ["b"]
    FILES.set_mtime_ms(tmp_path / "x" / "b", 1_234_567_890_123)
    assert FILES.mtime_ms(tmp_path / "x" / "b") == 1_234_567_890_123
    FILES.fsync_folder(tmp_path / "x")
    FILES.rmdir(tmp_path / "x" / "y")
    assert not FILES.exists(tmp_path / "x" / "y")


def test_a_full_disk_is_not_taken_for_a_missing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be created does not exist either: the error of the creation must be the one that is raised."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(OSError, match="No space left") as raised:
        LocalFileSystem().open(tmp_path / "new", create=True)
    assert is_disk_failure(raised.value)
