"""What is found in names, small files and checkpoints, and which places can be verified."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from octavo.format.names import FileKind
from octavo.jobs.verify.finding import FindingKind, Severity
from octavo.scanner.places.location import LocalReadableFile, LocalReadableFileSystem
from tests.golden.archives import unpack
from tests.jobs.verify.verified import findings_of, flipped, shown
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

TOPIC_ID = "version: 0\ntopic_id: lRfNxyBxRLu7tt5Z0UBPpQ"
OTHER_ID = "version: 0\ntopic_id: 7Y7zFrqCT2Olx-x8XhXveg"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, batch(0), batch(1))
    return tmp_path


def problems(logs: Path) -> list[tuple[str, FindingKind]]:
    found = findings_of(logs)
    assert all(line.severity is Severity.PROBLEM for line in found)
    return [(Path(line.path).name, line.problem) for line in found]


@pytest.mark.parametrize("name", ["lost+found", "nodash", "a-b", "orders-0-delete"])
def test_a_folder_that_is_not_a_partition_is_found(logs: Path, name: str) -> None:
    (logs / name).mkdir()
    assert problems(logs) == [(name, FindingKind.NAME)]


@pytest.mark.parametrize("name", ["orders-007", "a b-0", "..-0", f"{'x' * 250}-0", "orders-+1"])
def test_a_folder_whose_name_no_topic_has_is_found(logs: Path, name: str) -> None:
    write_segment(logs / name, 0, batch(0))
    assert problems(logs) == [(name, FindingKind.NAME)]


def test_other_names_in_the_root_are_ignored(logs: Path) -> None:
    (logs / "remote-log-index-cache").mkdir()
    (logs / "notes.txt").write_text("mine")
    (logs / ".lock").touch()
    assert problems(logs) == []


@pytest.mark.parametrize("name", ["5.log", "x.index", "0x5.timeindex", "1.snapshot", "1.log.swap"])
def test_a_segments_file_without_its_number_is_found(logs: Path, name: str) -> None:
    (logs / "orders-0" / name).touch()
    assert problems(logs) == [(name, FindingKind.NAME)]


@pytest.mark.parametrize("kind", [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX])
def test_an_index_without_its_log_is_found(logs: Path, kind: FileKind) -> None:
    path(logs / "orders-0", 7, kind).touch()
    assert problems(logs) == [(f"{7:020}{kind}", FindingKind.MISSING_FILE)]


def test_a_log_file_that_was_lost_is_found(logs: Path) -> None:
    write_segment(logs / "orders-0", 2, batch(2))
    path(logs / "orders-0", 0, FileKind.LOG).unlink()
    names = [(f"{0:020}.index", FindingKind.MISSING_FILE), (f"{0:020}.timeindex", FindingKind.MISSING_FILE)]
    assert problems(logs) == names


@pytest.mark.parametrize(
    "content", ["", "version: 0", "version: 0\ntopic_id: x", TOPIC_ID + "\n", TOPIC_ID.replace("topic", "t0pic")]
)
def test_damaged_partition_metadata_is_found(logs: Path, content: str) -> None:
    (logs / "orders-0" / "partition.metadata").write_text(content)
    assert problems(logs) == [("partition.metadata", FindingKind.DAMAGED_FILE)]


def test_different_ids_of_one_topic_are_found(logs: Path) -> None:
    for partition, content in enumerate([TOPIC_ID, OTHER_ID, TOPIC_ID]):
        write_segment(logs / f"orders-{partition}", 0, batch(0))
        (logs / f"orders-{partition}" / "partition.metadata").write_text(content)
    (found,) = findings_of(logs)
    assert (found.path, found.problem) == (str(logs / "orders-1" / "partition.metadata"), FindingKind.TOPIC_ID)
    shutil.rmtree(logs / "orders-2")
    assert len(findings_of(logs)) == 2  # nobody can tell which of the two is right


def test_a_wrong_id_of_the_clusters_metadata_is_found(logs: Path) -> None:
    folder = logs / "__cluster_metadata-0"
    write_segment(folder, 0, batch(0))
    (folder / "partition.metadata").write_text(TOPIC_ID)
    (folder / "quorum-state").write_text("{}")
    assert problems(logs) == [("partition.metadata", FindingKind.TOPIC_ID), ("quorum-state", FindingKind.DAMAGED_FILE)]


@pytest.mark.parametrize(
    "content",
    [
        "x",
        "1\n0\n",
        "0\n2\norders 0 1\n",
        "0\n1\norders 0\n",
        "0\n1\norders  0 1\n",
        "0\n1\norders 0 1",
        "0\n1\norders 0 +1\n",
    ],
)
@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"])
def test_a_damaged_checkpoint_is_found(logs: Path, name: str, content: str) -> None:
    (logs / name).write_text(content)
    assert problems(logs) == [(name, FindingKind.DAMAGED_FILE)]


@pytest.mark.parametrize("line", ["orders 0 -1", "or/ders 0 1", "orders -1 1"])
def test_a_checkpoint_with_an_impossible_line_is_found(logs: Path, line: str) -> None:
    (logs / "log-start-offset-checkpoint").write_text(f"0\n1\n{line}\n")
    assert problems(logs) == [("log-start-offset-checkpoint", FindingKind.WRONG_ENTRY)]


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "replication-offset-checkpoint",
    ],
)
def test_a_checkpoint_after_the_end_of_the_log_is_found(logs: Path, name: str) -> None:
    (logs / name).write_text("0\n1\norders 0 2\n")
    assert problems(logs) == []
    (logs / name).write_text("0\n1\norders 0 3\n")
    assert problems(logs) == [(name, FindingKind.BEYOND_END)]


def test_one_segment_file_does_not_show_where_the_log_ends(logs: Path) -> None:
    write_segment(logs / "orders-0", 2, batch(2))
    (logs / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    for base_offset in (0, 2):
        assert problems(path(logs / "orders-0", base_offset, FileKind.LOG)) == []
    (logs / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    assert problems(path(logs / "orders-0", 0, FileKind.LOG)) == []
    assert problems(path(logs / "orders-0", 2, FileKind.LOG)) == [
        ("recovery-point-offset-checkpoint", FindingKind.BEYOND_END)
    ]


def test_a_folder_without_a_log_that_a_checkpoint_knows_is_found(logs: Path) -> None:
    (logs / "gone-0").mkdir()
    (logs / "new-0").mkdir()
    (logs / f"gone-1.{'0' * 32}-delete").mkdir()
    content = "0\n3\ngone 0 7\nnew 0 0\ngone 1 7\n"
    (logs / "recovery-point-offset-checkpoint").write_text(content)
    lost, leaving = findings_of(logs)
    assert lost.detail == "recovery point 7 of gone-0, but there is no log"
    assert leaving.problem is FindingKind.ON_ITS_WAY_OUT


def test_a_crash_may_lose_what_was_not_flushed(logs: Path) -> None:
    write_segment(logs / "orders-0", 0, batch(0), batch(1), closed=False, tail=batch(2)[:40])
    (logs / "replication-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    assert {found.severity for found in findings_of(logs)} == {Severity.INFO}
    (logs / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    assert FindingKind.BEYOND_END in {found.problem for found in findings_of(logs)}


@pytest.mark.parametrize("content", ["version=1\n", "version=2\n", "version=1\ncluster.id=x\nnode.id=y\n"])
def test_damaged_meta_properties_are_found(logs: Path, content: str) -> None:
    (logs / "meta.properties").write_text(content)
    assert problems(logs) == [("meta.properties", FindingKind.DAMAGED_FILE)]


def test_damaged_snapshots_of_the_clusters_metadata_are_found(tmp_path: Path) -> None:
    source = unpack("v431-clean")
    shutil.copytree(source / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0")
    shutil.copy(source / "bootstrap.checkpoint", tmp_path)
    assert problems(tmp_path) == []
    for name in ("bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000341-0000000002.checkpoint"):
        snapshot = tmp_path / name
        snapshot.chmod(0o644)
        for position, problem in [
            (7, FindingKind.OFFSET_ORDER),
            (16, FindingKind.INVALID_BATCH),  # the magic
            (80, FindingKind.CRC_MISMATCH),
        ]:
            flipped(snapshot, position)
            assert (snapshot.name, problem) in problems(tmp_path)
            flipped(snapshot, position)
        content = snapshot.read_bytes()
        snapshot.write_bytes(content[:-5])
        assert problems(tmp_path) == [(snapshot.name, FindingKind.NO_BATCH)]
        snapshot.write_bytes(content)


@pytest.mark.parametrize("name", [f"{0:020}.log", f"{0:020}.index", "partition.metadata", "meta.properties"])
def test_a_file_that_the_disk_cannot_read_is_found(logs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (logs / "orders-0" / "partition.metadata").write_text(TOPIC_ID)
    (logs / "meta.properties").write_text("version=0\n")
    opened = LocalReadableFileSystem.open

    def failing(self: LocalReadableFileSystem, path: str, /) -> LocalReadableFile:
        if path.endswith(name):
            raise OSError(errno.EIO, "Input/output error", path)
        return opened(self, path)

    monkeypatch.setattr(LocalReadableFileSystem, "open", failing)
    (found,) = findings_of(logs)
    assert (Path(found.path).name, found.problem) == (name, FindingKind.UNREADABLE_FILE)
    assert found.detail == "Input/output error"


@pytest.mark.parametrize("name", [f"{0:020}.index", f"{0:020}.timeindex", f"{0:020}.snapshot", f"{0:020}.txnindex"])
def test_a_file_that_cannot_be_read_does_not_end_other_checks(
    logs: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "orders-0" / name).touch()
    flipped(path(logs / "orders-0", 0, FileKind.LOG), 70)
    opened = LocalReadableFileSystem.open

    def failing(self: LocalReadableFileSystem, path: str, /) -> LocalReadableFile:
        if path.endswith(name):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(self, path)

    monkeypatch.setattr(LocalReadableFileSystem, "open", failing)
    assert problems(logs) == [(name, FindingKind.UNREADABLE_FILE), (f"{0:020}.log", FindingKind.CRC_MISMATCH)]


def test_a_folder_with_the_name_of_a_segments_file_is_found(logs: Path) -> None:
    (logs / "orders-0" / f"{5:020}.index").mkdir()
    (logs / "orders-0" / f"{7:020}.log").mkdir()
    assert problems(logs) == [(f"{5:020}.index", FindingKind.NAME), (f"{7:020}.log", FindingKind.UNREADABLE_FILE)]


def test_places_of_every_kind_are_verified(logs: Path) -> None:
    log = path(logs / "orders-0", 0, FileKind.LOG)
    write_segment(logs / "orders-0", 2, batch(2))
    flipped(log, 70)
    for place in (logs, logs / "orders-0", log):
        assert (log.name, 0, FindingKind.CRC_MISMATCH, Severity.PROBLEM) in shown(findings_of(place))
    other = path(logs / "orders-0", 2, FileKind.LOG)
    assert findings_of(other) == []


def test_every_copy_of_a_partition_is_verified(tmp_path: Path) -> None:
    for disk in ("a", "b"):
        write_segment(tmp_path / disk / "orders-0", 0, batch(0))
    flipped(path(tmp_path / "a" / "orders-0", 0, FileKind.LOG), 70)
    (found,) = findings_of(tmp_path / "a", tmp_path / "b")
    assert found.path.startswith(str(tmp_path / "a"))


def test_swapped_segments_are_verified(logs: Path) -> None:
    folder = logs / "orders-0"
    write_segment(folder, 2, batch(2))
    for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        path(folder, 2, kind).rename(path(folder, 2, kind).with_name(f"{2:020}{kind}.swap"))
    path(folder, 0, FileKind.LOG).with_name(f"{0:020}.log.cleaned").write_bytes(b"half")
    assert problems(logs) == []
    flipped(folder / f"{2:020}.log.swap", 70)
    assert problems(logs) == []  # after a .cleaned file: an unfinished split, which a broker deletes
    (folder / f"{0:020}.log.cleaned").unlink()
    assert problems(logs) == [(f"{2:020}.log.swap", FindingKind.CRC_MISMATCH)]


@pytest.mark.parametrize("renamed", [(FileKind.LOG,), (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX)])
def test_a_crash_amid_the_renames_of_a_swap_leaves_only_notes(logs: Path, renamed: tuple[FileKind, ...]) -> None:
    """From `.cleaned` to `.swap`, and from there to its own name, the log is renamed first and the indexes follow."""
    folder = logs / "orders-0"
    write_segment(folder, 2, batch(2))
    for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        file = path(folder, 0, kind)
        if kind in renamed:
            file.rename(file.with_name(f"{file.name}.swap"))
        elif kind is not FileKind.LOG:
            file.rename(file.with_name(f"{file.name}.cleaned"))
    found = findings_of(logs)
    assert {line.problem for line in found} == {FindingKind.MISSING_FILE}
    assert all(line.severity is Severity.INFO for line in found)


def test_a_folder_to_be_deleted_is_verified_only_if_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / f"gone-0.{'0' * 32}-delete"
    log = write_segment(folder, 0, batch(0), batch(1), closed=False)
    flipped(log, 70)
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert [found.problem for found in findings_of(tmp_path)] == [FindingKind.ON_ITS_WAY_OUT]
    problems = [found.problem for found in findings_of(folder) if found.severity is Severity.PROBLEM]
    assert problems == [FindingKind.CRC_MISMATCH]


def test_every_kind_of_finding_has_a_meaning() -> None:
    assert all(kind.meaning.endswith(".") for kind in FindingKind)
