"""Links, FIFOs, sockets, folders in a log directory: nothing outside it changes, nothing blocks, nothing disappears."""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.errors import NotRegularFileError, OctavoError, UnknownTopicOrPartitionError
from octavo.format.names import OFFSET_CHECKPOINTS, TopicPartition
from octavo.format.small_files import checkpoint
from octavo.storage.files.small_file import replace_file
from octavo.storage.segment.delete import remove_folder
from octavo.system.filesystem import LocalFileSystem
from tests.storage.batches import batch
from tests.storage.worlds import World, opened

CONFIGS = {"segment.bytes": 300, "segment.index.bytes": 80}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The topics t, of several segments, and u."""
    with opened(tmp_path / "logs") as logs:
        logs.create_topic("t", 1, CONFIGS)
        logs.create_topic("u", 1)
        for _ in range(9):
            logs.log("t", 0).append_as_leader(bytearray(batch(0, 1, value_bytes=60)), leader_epoch=0)
        logs.log("t", 0).delete_records(1)
    return tmp_path / "logs"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    (folder / "precious").write_bytes(b"mine")
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else None for name, path in paths.items()}


def make_socket(path: Path) -> None:
    short = Path("/tmp") / f"octavo-{os.getpid()}"  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(short))
    shutil.move(short, path)


STRANGE: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link": lambda path: path.symlink_to(path.with_name("elsewhere")),
}


def replaced(path: Path, kind: str) -> None:
    """Put something strange in the place of a file, which is kept as `elsewhere`."""
    if path.exists():
        path.rename(path.with_name("elsewhere"))
    STRANGE[kind](path)


def test_a_link_that_is_marked_as_deleted_is_removed_and_what_it_leads_to_is_not(
    root: Path, outside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link, before, world = root / f"x-0.{'0' * 32}-delete", contents(outside), World()
    link.symlink_to(outside)
    with opened(root, world=world) as logs:
        for folder in logs.roots[0].deleted_folders:
            remove_folder(LocalFileSystem(), folder)
        assert logs.offline == {}
    assert not link.is_symlink()
    assert contents(outside) == before
    removed = f"{link} was a link and has been removed; the files that it pointed to are still in {outside}"
    assert removed in caplog.messages


def test_a_partition_that_was_moved_is_used_and_its_files_outlive_its_topic(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    moved, world = tmp_path / "moved", World()
    shutil.move(root / "t-0", moved)
    (root / "t-0").symlink_to(moved)
    with opened(root, world=world) as logs:
        logs.log("t", 0).append_as_leader(bytearray(batch(0)), leader_epoch=0)
        assert logs.log("t", 0).log_end_offset == 10
        before = set(contents(moved))
        logs.delete_topic("t")
        world.scheduler.advance(60_000)
        assert logs.offline == {}
    assert [path.name for path in root.iterdir() if path.name.startswith("t-")] == []
    assert set(contents(moved)) == before
    assert f"the files that it pointed to are still in {moved}" in caplog.text


def test_a_link_that_leads_nowhere_keeps_its_partition_from_being_made_again(root: Path, tmp_path: Path) -> None:
    shutil.move(root / "t-0", tmp_path / "moved")
    (root / "t-0").symlink_to(tmp_path / "unmounted")
    with opened(root) as logs:
        assert logs.topics == {"u": [0]}
        with pytest.raises(UnknownTopicOrPartitionError, match="t-0 was not opened"):
            logs.log("t", 0)
    assert not (tmp_path / "unmounted").exists()
    shutil.move(tmp_path / "moved", tmp_path / "unmounted")
    with opened(root) as logs:
        assert logs.log("t", 0).log_start_offset == 1  # as the checkpoint still says


def test_a_folder_that_cannot_be_removed_is_a_warning(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    (root / "t-0" / "sub").mkdir()
    for kind, make in STRANGE.items():
        if kind != "a folder":
            make(root / "t-0" / kind)
    with opened(root, world=world) as logs:
        logs.delete_topic("t")
        world.scheduler.advance(60_000)
        assert logs.offline == {}
        logs.log("u", 0).append_as_leader(bytearray(batch(0)), leader_epoch=0)
    left = next(root.glob("t-0.*-delete"))
    assert [path.name for path in left.iterdir()] == ["sub"]
    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == [f"{left} cannot be removed: Directory not empty"]


FILES = ["{}.log", "{}.index", "{}.timeindex", "{}.txnindex", "{}.snapshot", "{}.log.swap", "{}.log.cleaned"]
SEGMENT_FILES = [name.format(f"{4:020}") for name in FILES]


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", [*SEGMENT_FILES, "leader-epoch-checkpoint", "partition.metadata"])
def test_a_partition_with_what_is_not_a_file_is_left_as_it_is(root: Path, name: str, kind: str) -> None:
    replaced(root / "t-0" / name, kind)
    (root / ".kafka_cleanshutdown").unlink()
    before = sorted(path.name for path in (root / "t-0").iterdir())
    target = (root / "t-0" / "elsewhere").read_bytes() if (root / "t-0" / "elsewhere").exists() else b""
    problem = f"{root / 't-0' / name}: is (a link: octavo does not write through links|not a regular file but {kind})"
    with pytest.raises(NotRegularFileError, match=problem):
        opened(root)
    with opened(root, skip_unreadable=True) as logs:
        assert logs.topics == {"u": [0]}
        assert isinstance(logs.unreadable[root / "t-0"], NotRegularFileError)
        with pytest.raises(UnknownTopicOrPartitionError, match="topic 't' was not opened"):
            logs.check_complete("t")
    assert sorted(path.name for path in (root / "t-0").iterdir()) == before
    assert not target or (root / "t-0" / "elsewhere").read_bytes() == target


@pytest.mark.parametrize("kind", ["a FIFO", "a socket", "a device"])
@pytest.mark.parametrize("name", ["meta.properties", "octavo-topics.json", "octavo-commits.json", ".lock"])
def test_what_is_not_a_file_in_the_root_is_an_error_with_its_path(root: Path, name: str, kind: str) -> None:
    replaced(root / name, kind)
    with pytest.raises(OctavoError, match=f"{root / name}: is (a link|not a regular file but {kind})"):
        opened(root)


@pytest.mark.parametrize("kind", ["a FIFO", "a socket", "a device"])
@pytest.mark.parametrize("name", OFFSET_CHECKPOINTS)
def test_a_checkpoint_that_is_not_a_file_is_reported_and_replaced(
    root: Path, name: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    replaced(root / name, kind)
    (root / f"{name}.tmp").symlink_to(root / "elsewhere")
    with opened(root) as logs:
        assert logs.log("t", 0).log_end_offset == 9
        logs.roots[0].checkpoints.write_cleaner_offset(TopicPartition("t", 0), 3)
    assert f"{root / name}: is not a regular file but {kind}" in caplog.text
    checkpoint.decode_offsets((root / name).read_bytes())  # raises if it is not a checkpoint
    assert not (root / name).is_symlink()


def test_a_lock_that_is_a_link_makes_no_file(root: Path, tmp_path: Path) -> None:
    (root / ".lock").symlink_to(tmp_path / "target")
    with pytest.raises(NotRegularFileError, match=r"\.lock: is a link"):
        opened(root)
    assert not (tmp_path / "target").exists()
    assert (root / ".lock").is_symlink()


def test_a_small_file_is_not_written_through_links(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    for name in ("file", "file.tmp"):
        (tmp_path / name).symlink_to(target)
    replace_file(LocalFileSystem(), tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("kind", STRANGE)
def test_nothing_but_regular_files_is_opened(tmp_path: Path, kind: str) -> None:
    path, files = tmp_path / "file", LocalFileSystem()
    STRANGE[kind](path)
    for use in (
        files.open,
        lambda path: files.open(path, create=True),
        lambda path: files.map(path, 1),
        lambda path: files.truncate(path, 0),
    ):
        with pytest.raises(NotRegularFileError, match=str(path)):
            use(path)
    assert (files.names(tmp_path), files.others(tmp_path)) == ([], ["file"])
