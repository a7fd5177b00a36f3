"""Opening what must be a regular file, and skipping holes in one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.storage.segment.log_file import LogFile
from octavo.system.filesystem import LocalFile, LocalFileSystem
from octavo.system.regular_file import open_regular, read_regular


def test_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    descriptor = open_regular(tmp_path / "file")
    assert os.read(descriptor, 10) == b"content"
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    assert read_regular(tmp_path / "file") == b"content"


def test_whatever_else_is_refused_and_leaves_no_descriptor(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, message in ((tmp_path / "fifo", "is not a regular file"), (tmp_path, "Is a directory")):
        with pytest.raises(OSError, match=message) as raised:
            open_regular(path)
        assert raised.value.filename == str(path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
    # Only those of this test are looked at: objects of other tests may be collected in the meantime.
    targets = [link.readlink() for link in Path("/proc/self/fd").glob("*") if os.path.lexists(link)]
    assert targets and not [target for target in targets if target.is_relative_to(tmp_path)]


def test_the_zeros_of_a_hole_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{0:020}.log"
    with path.open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(1 << 40)
    if LocalFile(path).skip_hole(8192) == 8192:
        pytest.skip("this file system does not report holes in files")
    read = 0
    pread_into = LocalFile.pread_into

    def count(self: LocalFile, buffer: memoryview, position: int) -> int:
        nonlocal read
        read += len(buffer)
        return pread_into(self, buffer, position)

    monkeypatch.setattr(LocalFile, "pread_into", count)
    log = LogFile(LocalFileSystem(), path)
    assert log.is_zero_from(4096)
    assert not log.is_zero_from(4000)
    with path.open("r+b") as written:
        written.seek(1 << 39)
        written.write(b"x")
    assert not log.is_zero_from(4096)
    assert read < 16 << 20
