"""Which partitions and files a place holds, and the notes about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.errors import CorruptionError, ScanError
from octavo.format.kafka_uuid import to_text
from octavo.format.names import LOG_START_OFFSET_CHECKPOINT, OFFSET_CHECKPOINTS, FolderState, TopicPartition, Transient
from octavo.scanner.log_dirs import merge, open_log_dirs
from octavo.scanner.places.directory import Directory, read_directory
from octavo.scanner.places.location import locate
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

ORDERS = TopicPartition("orders", 0)
ID = "0" * 31 + "a"


def read(path: Path) -> Directory:
    return read_directory(locate(path))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with a partition of two segments, checkpoints, and a folder that is being deleted."""
    root = tmp_path / "logs"
    folder = root / "orders-0"
    write_segment(folder, 0, batch(0, 3))
    write_segment(folder, 3, batch(3, 2), closed=False)
    (folder / f"{3:020}.snapshot").write_bytes(b"12345")
    (folder / f"{9:020}.index").write_bytes(b"")
    (folder / f"{0:020}.log.deleted").write_bytes(b"1234567")
    (folder / f"{0:020}.index.deleted").write_bytes(b"")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n4 2\n")
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {to_text(bytes(range(16)))}")
    (root / f"payments-1.{ID}-delete").mkdir()
    (root / "no partition").mkdir()
    (root / "remote-log-index-cache").mkdir()
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 2\n")
    (root / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=7\n")
    return root


def test_a_log_directory_is_its_partitions_and_what_else_is_there(logs: Path) -> None:
    # L1 L2 L3
    directory = read(logs)
    assert directory.partitions.keys() == {ORDERS}
    assert [files.folder.state for files in directory.not_current] == [FolderState.DELETE]
    assert directory.unknown == ["no partition"]
    assert directory.files.keys() == {"log-start-offset-checkpoint", "meta.properties"}
    meta = directory.root.meta_properties()
    assert meta is not None and (meta.cluster_id, meta.node_id) == ("abc", 7)
    offsets = {name: directory.root.offsets(name) for name in OFFSET_CHECKPOINTS}
    assert offsets.pop(LOG_START_OFFSET_CHECKPOINT) == {ORDERS: 2}
    assert list(offsets.values()) == [{}, {}, {}]
    assert not directory.notes and not directory.root.notes


def test_a_partition_is_its_segments_snapshots_and_other_files(logs: Path) -> None:
    files = read(logs).partitions[ORDERS]
    assert [segment.base_offset for segment in files.segments] == [0, 3]
    assert files.segments[0].log.size == len(batch(0, 3))
    assert files.segments[1].offset_index is not None and files.segments[1].offset_index.size == 512
    assert files.segments[1].txn_index is None
    assert {offset: stat.size for offset, stat in files.snapshots.items()} == {3: 5}
    assert files.others.keys() == {
        f"{9:020}.index", f"{0:020}.log.deleted", f"{0:020}.index.deleted",
        "leader-epoch-checkpoint", "partition.metadata",
    }  # fmt: skip
    (deleted,) = files.transient_segments(Transient.DELETED)
    assert (deleted.base_offset, deleted.log.size, deleted.name()) == (0, 7, f"{0:020}.log.deleted")
    assert files.topic_id() == bytes(range(16))
    assert [tuple(entry) for entry in files.leader_epochs()] == [(4, 2)]


def test_small_files_may_be_absent_or_damaged(logs: Path) -> None:
    folder = logs / "orders-0"
    (folder / "leader-epoch-checkpoint").unlink()
    (folder / "partition.metadata").write_text("version: 0")
    (logs / "log-start-offset-checkpoint").write_text("0\n2\norders 0 2\n")
    (logs / "replication-offset-checkpoint").mkdir()
    directory = read(logs)
    files = directory.partitions[ORDERS]
    assert files.leader_epochs() == []
    with pytest.raises(CorruptionError, match=r"partition.metadata, position 10: expected two lines"):
        files.topic_id()
    assert [directory.root.offsets(name) for name in OFFSET_CHECKPOINTS] == [{}, {}, {}, {}]
    assert [str(note).removeprefix(f"{logs}/") for note in directory.root.notes] == [
        "log-start-offset-checkpoint: not read: checkpoint announces 2 entries, but 1 follows",
        "replication-offset-checkpoint: not read: Is a directory",
    ]


def test_a_partitions_folder_is_read_with_the_checkpoints_around_it(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for directory in (read(logs / "orders-0"), read_relative(logs / "orders-0", monkeypatch)):
        assert directory.partitions.keys() == {ORDERS}
        assert directory.root.offsets(LOG_START_OFFSET_CHECKPOINT) == {ORDERS: 2}
        assert directory.single


def read_relative(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Directory:
    monkeypatch.chdir(folder)
    return read(Path())


def test_a_segment_file_is_a_partition_of_one_segment(logs: Path) -> None:
    for name, transient in ((f"{3:020}.log", Transient.NONE), (f"{0:020}.log.deleted", Transient.DELETED)):
        files = read(logs / "orders-0" / name).partitions[ORDERS]
        (segment,) = files.segments
        assert (segment.name(), segment.transient, files.whole) == (name, transient, False)


def test_a_folder_of_another_name_is_read_by_that_name(logs: Path) -> None:
    (logs / "orders-0").rename(logs / "saved")
    directory = read(logs / "saved")
    assert directory.partitions.keys() == {("saved", 0)}
    assert "not a partition's name; read as partition 0 of a topic 'saved'" in str(directory.notes[0])


def test_a_log_directory_may_have_a_partitions_name(logs: Path) -> None:
    assert read(logs.rename(logs.parent / "logs-1")).partitions.keys() == {ORDERS}


def test_an_empty_folder_is_what_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "orders-7").mkdir()
    (tmp_path / "logs").mkdir()
    assert read(tmp_path / "orders-7").partitions.keys() == {("orders", 7)}
    assert not read(tmp_path / "logs").partitions


def test_two_folders_of_one_partition_are_reported(logs: Path) -> None:
    (logs / "orders-00").mkdir()
    directory = read(logs)
    assert len(directory.partitions[ORDERS].segments) == 2
    assert [str(note) for note in directory.notes] == [f"{logs}/orders-00: not read: orders-0 names the same partition"]


def test_only_wanted_partitions_are_listed_but_all_topics_known(logs: Path) -> None:
    (logs / "other-0").mkdir()
    directory = read_directory(locate(logs), lambda partition: partition.topic == "other")
    assert directory.partitions.keys() == {("other", 0)}
    assert directory.topics == {"orders", "other"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no-such-place", "no such file or directory; expected a log directory"),
        ("logs/meta.properties", "not a segment's log file, whose name is <20 digits>.log"),
        ("logs/orders-0/00000000000000000000.index", "not a segment's log file"),
    ],
)
def test_other_places_are_refused(logs: Path, name: str, problem: str) -> None:
    with pytest.raises(ScanError, match=problem):
        read(logs.parent / name)


def test_the_longer_of_two_copies_is_read(logs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_segment(other / "orders-0", 0, batch(0, 3), batch(3, 9), closed=False)
    write_segment(other / "payments-0", 0, batch(0, 1))
    for places in ([logs, other], [other, logs]):
        log_dirs = open_log_dirs(places)
        assert list(log_dirs.partitions) == [ORDERS, ("payments", 0)]
        assert log_dirs.partitions[ORDERS].location.path == str(other / "orders-0")
        note = f"{other}/orders-0: read up to offset 12; the partition is also in {logs}/orders-0 (to 5)"
        assert [str(note) for note in log_dirs.notes] == [note]


def test_the_first_of_two_equal_copies_is_read(logs: Path) -> None:
    first, second = read(logs), read(logs)
    assert merge([first, second]).partitions[ORDERS] is first.partitions[ORDERS]


def test_a_place_that_is_given_twice_is_read_once(logs: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(logs)
    found = open_log_dirs([logs, f"{logs}/", link, f"file://{logs}"])
    assert [str(directory.place) for directory in found.directories] == [str(logs)]
    assert not [note for note in found.notes if "is also in" in note.sentence]


def test_a_folder_whose_name_is_not_ascii_is_not_a_partition(logs: Path) -> None:
    folder = os.fsencode(logs) + b"/b\xffd-0"
    write_segment(Path(os.fsdecode(folder)), 0, batch(0))
    found = open_log_dirs(logs)
    assert found.topics() == {"orders"}
    assert f"{logs}/b\\xffd-0: not read: topic names must be ASCII" in map(str, found.notes)
    (alone,) = open_log_dirs(os.fsdecode(folder)).partitions
    assert alone == TopicPartition("b\\xffd-0", 0)


def test_segment_files_of_one_folder_make_one_partition(logs: Path) -> None:
    log_dirs = open_log_dirs([logs / "orders-0" / f"{base:020}.log" for base in (3, 0)])
    assert [segment.base_offset for segment in log_dirs.partitions[ORDERS].segments] == [0, 3]
    assert not log_dirs.notes
    assert log_dirs.given() == {ORDERS}


def test_an_empty_list_of_places_is_an_error() -> None:
    with pytest.raises(ScanError, match="no place to read from"):
        open_log_dirs([])
