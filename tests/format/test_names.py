"""File and folder names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format import names
from octavo.format.names import FileKind, FolderState, KRaftSnapshot, PartitionFolder, SegmentFile, Transient

ID = "801f58ccd1d24d9daf8e88e30d773573"


# L2
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("00000000000000000000.log", SegmentFile(0, FileKind.LOG)),
        ("00000000000000000093.index", SegmentFile(93, FileKind.OFFSET_INDEX)),
        ("00000000000000000093.timeindex", SegmentFile(93, FileKind.TIME_INDEX)),
        ("00000000000000000093.txnindex", SegmentFile(93, FileKind.TXN_INDEX)),
        ("00000000000000000184.snapshot", SegmentFile(184, FileKind.PRODUCER_SNAPSHOT)),
        ("09223372036854775807.log", SegmentFile(2**63 - 1, FileKind.LOG)),
        ("00000000000000000042.log.deleted", SegmentFile(42, FileKind.LOG, Transient.DELETED)),
        ("00000000000000000042.log.cleaned", SegmentFile(42, FileKind.LOG, Transient.CLEANED)),
        ("00000000000000000042.timeindex.swap", SegmentFile(42, FileKind.TIME_INDEX, Transient.SWAP)),
        ("00000000000000000042.snapshot.deleted", SegmentFile(42, FileKind.PRODUCER_SNAPSHOT, Transient.DELETED)),
    ],
)
def test_segment_files_are_named_as_in_kafka(name: str, file: SegmentFile) -> None:
    assert SegmentFile.parse(name) == file
    assert file.name == name
    assert names.base_offset_of(name) == file.base_offset


@pytest.mark.parametrize(
    "name",
    [
        "",
        "0.log",
        "000000000000000000000.log",
        "-0000000000000000001.log",
        "09223372036854775808.log",
        "00000000000000000000.logs",
        "00000000000000000000.log.tmp",
        "00000000000000000000.log.deleted.swap",
        "00000000000000000000.log\n",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠.log",
        "00000000000000000000-0000000000.checkpoint",
        names.LEADER_EPOCH_CHECKPOINT,
    ],
)
def test_other_names_are_not_segment_files(name: str) -> None:
    assert SegmentFile.parse(name) is None


@pytest.mark.parametrize("base_offset", [-1, 2**63])
def test_an_offset_out_of_range_has_no_file(base_offset: int) -> None:
    with pytest.raises(EncodingError, match="base offset"):
        _ = SegmentFile(base_offset, FileKind.LOG).name


def test_the_base_offset_is_the_number_before_the_first_dot() -> None:
    assert names.base_offset_of("5.log.swap") == 5
    assert names.base_offset_of("-7.anything") == -7
    for name in ("abc.log", ".log", "5", "", "00000000000000000341-0000000002.checkpoint"):
        with pytest.raises(CorruptionError):
            names.base_offset_of(name)


def test_names_of_kraft_snapshots_are_parsed() -> None:
    assert KRaftSnapshot.parse("00000000000000000341-0000000002.checkpoint") == (341, 2, False, False)
    assert KRaftSnapshot.parse("00000000000000000341-0000000002.checkpoint.deleted") == (341, 2, True, False)
    assert KRaftSnapshot.parse("00000000000000000341-0000000002-88123.checkpoint.part") == (341, 2, False, True)


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.checkpoint",
        "00000000000000000341-2.checkpoint",
        "00000000000000000341-0000000002.checkpoint.part",
        "09223372036854775808-0000000002.checkpoint",
        "00000000000000000341-2147483648.checkpoint",
        "00000000000000000341-0000000002-88123.checkpoint",
    ],
)
def test_other_names_are_not_kraft_snapshots(name: str) -> None:
    assert KRaftSnapshot.parse(name) is None


def test_files_of_the_root_are_named_as_in_kafka() -> None:  # L3
    assert names.META_PROPERTIES == "meta.properties"
    assert sorted(names.OFFSET_CHECKPOINTS) == [
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]


# L1
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("log-format-1", PartitionFolder("log-format", 1)),
        ("__consumer_offsets-49", PartitionFolder("__consumer_offsets", 49)),
        ("a-2147483647", PartitionFolder("a", 2**31 - 1)),
        ("a--0", PartitionFolder("a-", 0)),
        ("a.b-0", PartitionFolder("a.b", 0)),
        ("x-delete-3", PartitionFolder("x-delete", 3)),
        (f"a.b-c-0.{ID}-delete", PartitionFolder("a.b-c", 0, FolderState.DELETE, ID)),
        (f"a-12.{ID}-future", PartitionFolder("a", 12, FolderState.FUTURE, ID)),
        (f"a-12.{ID}-stray", PartitionFolder("a", 12, FolderState.STRAY, ID)),
    ],
)
def test_folders_are_named_as_in_kafka(name: str, folder: PartitionFolder) -> None:
    assert PartitionFolder.parse(name) == folder
    assert folder.name == name
    assert folder.topic_partition == (folder.topic, folder.partition)


def test_a_partition_reads_as_its_folder() -> None:  # L1
    assert [str(names.TopicPartition("topic-log", n)) for n in range(4)] == [f"topic-log-{n}" for n in range(4)]


@pytest.mark.parametrize(("name", "partition"), [("a-007", 7), ("a-+7", 7), ("a b-1", 1), ("a-0.b-1.-stray", 1)])
def test_names_that_kafka_reads_but_never_writes_are_read(name: str, partition: int) -> None:
    assert PartitionFolder.parse(name).partition == partition


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "-0",
        "a-",
        "a-b",
        "a-0x1",
        "a-2147483648",
        "a-٣",
        "a-0-delete",
        "a-0.-delete",
        f"-0.{ID}-delete",
        f"a.{ID}-delete",
        f"a-0.b.{ID}-delete",
        f"a b-0.{ID}-delete",
        "-delete",
        "remote-log-index-cache",
        "lost+found",
    ],
)
def test_folders_that_kafka_refuses_are_refused(name: str) -> None:
    with pytest.raises(CorruptionError, match="expected <topic>-<partition>"):
        PartitionFolder.parse(name)


@pytest.mark.parametrize("state", [FolderState.DELETE, FolderState.STRAY])
def test_long_topics_are_cut_for_delete_and_stray(state: FolderState) -> None:
    topic = "t" * 249
    name = PartitionFolder(topic, 123, state, ID).name
    assert len(name) == 255
    assert name == f"{topic[: 255 - len(f'-123.{ID}{state}')]}-123.{ID}{state}"
    assert PartitionFolder.parse(name).partition == 123


def test_the_name_of_a_future_folder_is_not_cut() -> None:
    assert PartitionFolder("t" * 249, 0, FolderState.FUTURE, ID).name == f"{'t' * 249}-0.{ID}-future"


@pytest.mark.parametrize(
    "folder",
    [
        PartitionFolder("a/b", 0),
        PartitionFolder("..", 0),
        PartitionFolder("", 0),
        PartitionFolder("a", -1),
        PartitionFolder("a", 2**31),
        PartitionFolder("a", 0, FolderState.DELETE),
        PartitionFolder("a", 0, FolderState.STRAY, ID[:-1]),
        PartitionFolder("a", 0, FolderState.FUTURE, ID.upper()),
    ],
)
def test_folders_that_cannot_exist_have_no_name(folder: PartitionFolder) -> None:
    with pytest.raises(EncodingError):
        _ = folder.name


def test_the_log_manager_skips_some_folders() -> None:
    assert names.is_ignored_folder("remote-log-index-cache")
    assert names.is_ignored_folder("__cluster_metadata-0")
    assert not names.is_ignored_folder("__consumer_offsets-0")
    with pytest.raises(CorruptionError):
        names.is_ignored_folder("lost+found")


@pytest.mark.parametrize("topic", ["a", "a.b_c-D9", "...", "__consumer_offsets", "t" * 249])
def test_valid_topics_are_accepted(topic: str) -> None:
    assert names.topic_problem(topic) is None
    names.check_topic(topic)


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        ("", "the empty string"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("t" * 250, "250 characters"),
        ("a b", "other than ASCII"),
        ("a/b", "other than ASCII"),
        ("ä", "other than ASCII"),
        ("a\n", "other than ASCII"),
    ],
)
def test_invalid_topics_are_refused(topic: str, problem: str) -> None:
    assert problem in (names.topic_problem(topic) or "")
    with pytest.raises(EncodingError, match="topic name is invalid"):
        names.check_topic(topic)


def test_three_topics_are_internal_and_dots_collide_with_underscores() -> None:
    assert {"__consumer_offsets", "__transaction_state", "__share_group_state"} == names.INTERNAL_TOPICS
    assert names.collide("a.b", "a_b")
    assert not names.collide("a.b", "a-b")


@given(st.integers(0, 2**63 - 1), st.sampled_from(FileKind), st.sampled_from(Transient))
def test_segment_files_round_trip(base_offset: int, kind: FileKind, transient: Transient) -> None:
    file = SegmentFile(base_offset, kind, transient)
    assert SegmentFile.parse(file.name) == file


TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,200}", fullmatch=True).filter(lambda topic: topic not in (".", ".."))


@given(TOPICS, st.integers(0, 2**31 - 1), st.sampled_from(FolderState))
def test_folders_round_trip(topic: str, partition: int, state: FolderState) -> None:
    folder = PartitionFolder(topic, partition, state, ID if state else "")
    assert PartitionFolder.parse(folder.name) == folder


@given(st.text())
def test_any_name_parses_or_raises_the_documented_error(name: str) -> None:
    SegmentFile.parse(name)
    KRaftSnapshot.parse(name)
    for parse in (PartitionFolder.parse, names.base_offset_of):
        try:
            parse(name)
        except CorruptionError as error:
            assert "expected" in error.problem
