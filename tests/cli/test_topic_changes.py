"""`octavo create`, `alter` and `delete`: topics, their configs and partitions."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from octavo.format import kafka_uuid
from octavo.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    TopicPartition,
)
from octavo.format.small_files import checkpoint, partition_metadata
from octavo.storage.log_manager import LogManager
from tests.cli.owners import locked, rows, state
from tests.cli.runs import octavo


def folders(*roots: Path) -> list[list[str]]:
    return [sorted(path.name for path in root.iterdir() if path.is_dir()) for root in roots]


def stored(root: Path, topic: str) -> dict[str, str]:
    configs: dict[str, str] = json.loads((root / "octavo-topics.json").read_bytes())["topics"][topic]["configs"]
    return configs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with a topic of two partitions."""
    line = ("create", str(tmp_path / "logs"), "--topic", "orders", "--partitions", "2")
    assert octavo(*line, "--config", "segment.bytes=5120").exit == 0
    return tmp_path / "logs"


# L1, L3, T2: a topic of 4 partitions is 4 folders in a log dir, whose root has its identity and checkpoints
def test_a_topic_is_created_with_its_folders_and_configs(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "logs"
    line = ("create", str(root), "--topic", "orders", "--partitions", "4", "--config", "segment.bytes=5120", "--json")
    row = rows(octavo(*line))[0]
    assert row["folders"] == [str(root / f"orders-{partition}") for partition in range(4)]
    assert (row["topic"], row["partitions"]) == ("orders", 4)
    for folder in row["folders"]:
        metadata = partition_metadata.decode((Path(folder) / "partition.metadata").read_bytes())
        assert kafka_uuid.to_text(metadata.topic_id) == row["topicId"]
    assert {META_PROPERTIES, CLEAN_SHUTDOWN, RECOVERY_POINT_CHECKPOINT} <= {path.name for path in root.iterdir()}
    assert stored(root, "orders") == {"segment.bytes": "5120"}
    with LogManager(root) as logs:
        assert logs.config("orders").segment_bytes == 5120


# L4: with several log.dirs, a new partition goes to the one that holds the fewest
def test_partitions_go_where_the_fewest_are(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    octavo("create", str(one), "--topic", "old", "--partitions", "3")
    run = octavo("create", str(one), str(two), "--topic", "new", "--partitions", "5")
    assert run.stdout.splitlines() == [
        str(two / "new-0"),
        str(two / "new-1"),
        str(two / "new-2"),
        str(one / "new-3"),
        str(two / "new-4"),
    ]
    assert folders(one, two) == [["new-3", "old-0", "old-1", "old-2"], ["new-0", "new-1", "new-2", "new-4"]]


def test_a_topic_that_exists(root: Path) -> None:
    before = folders(root)
    run = octavo("create", str(root), "--topic", "orders")
    assert (run.exit, run.stdout, run.stderr) == (1, "", "octavo: topic orders already exists\n")
    run = octavo("create", str(root), "--topic", "orders", "--if-not-exists", "--config", "retention.ms=1")
    assert (run.exit, run.stdout) == (0, "")
    assert (folders(root), stored(root, "orders")) == (before, {"segment.bytes": "5120"})


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--topic", "a b"], 1, "topic name is invalid"),
        (["--topic", "new", "--config", "segment.byte=1"], 2, "segment.byte is not a topic config (did you mean "),
        (["--topic", "new", "--config", "segment.ms=0"], 2, "segment.ms"),
        (["--topic", "new", "--config", "log.segment.bytes=1"], 2, "expected a topic config: segment.bytes"),
        (["--topic", "new", "--partitions", "0"], 2, "--partitions"),
        ([], 2, "--topic"),
    ],
)  # fmt: skip
def test_what_create_refuses(root: Path, words: list[str], code: int, sentence: str) -> None:
    before = folders(root)
    run = octavo("create", str(root), *words)
    assert run.exit == code
    assert sentence in run.stderr
    assert folders(root) == before


def test_a_topic_name_may_have_dots(root: Path) -> None:
    assert octavo("create", str(root), "--topic", "or.ders").exit == 0
    assert "or.ders-0" in folders(root)[0]


@pytest.mark.parametrize("words", [["a b"], ["new", "--config", "segment.byte=1"]])
def test_what_create_refuses_leaves_no_directory(tmp_path: Path, words: list[str]) -> None:
    assert octavo("create", str(tmp_path / "new"), "--topic", *words).exit != 0
    assert not list(tmp_path.iterdir())


def test_no_directory_is_created_if_another_one_is_locked(tmp_path: Path) -> None:
    octavo("create", str(tmp_path / "held"), "--topic", "t")
    with locked(tmp_path / "held"):
        assert octavo("create", str(tmp_path / "new"), str(tmp_path / "held"), "--topic", "z").exit == 1
    assert [path.name for path in tmp_path.iterdir()] == ["held"]


# T2: a config is changed
def test_configs_are_set_and_set_back(root: Path) -> None:
    line = ("alter", str(root), "--topic", "orders")
    run = octavo(*line, "--config", "retention.ms=5", "--config", "segment.bytes=6000")
    assert run.stdout == "orders: retention.ms=5 (was 604800000)\norders: segment.bytes=6000 (was 5120)\n"
    row = rows(octavo(*line, "--delete-config", "segment.bytes", "--json"))[0]
    assert row == {"topic": "orders", "partitions": 2, "configs": {"segment.bytes": "1073741824"}}
    assert stored(root, "orders") == {"retention.ms": "5"}


def test_more_partitions(root: Path) -> None:
    assert octavo("alter", str(root), "--topic", "orders", "--partitions", "4").stdout == "orders: 4 partitions\n"
    assert folders(root) == [[f"orders-{partition}" for partition in range(4)]]
    ids = {(root / name / "partition.metadata").read_text() for name in folders(root)[0]}
    assert len(ids) == 1


def test_one_disk_of_several_gets_no_more_partitions(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    octavo("create", str(one), str(two), "--topic", "t", "--partitions", "4")
    run = octavo("alter", str(two), "--topic", "t", "--partitions", "9")
    assert (run.exit, run.stdout) == (1, "")
    assert "partition 0 of topic t is not in any of the log directories" in run.stderr
    assert octavo("alter", str(one), str(two), "--topic", "t", "--partitions", "5").exit == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--topic", "order", "--partitions", "4"], 1, "there is no topic 'order' (did you mean orders?)"),
        (["--topic", "orders", "--partitions", "2"], 1, "topic orders: the new total of partitions must be larger"),
        (["--topic", "orders", "--partitions", "1", "--config", "retention.ms=7"], 1, "the new total of partitions"),
        (["--topic", "orders", "--partitions", "3", "--config", "retention.ms=-7"], 2, "retention.ms"),
        (["--topic", "orders", "--delete-config", "retention"], 2, "did you mean retention.ms"),
        (["--topic", "orders"], 2, "nothing to change"),
        (["--topic", "orders", "--config", "flush.ms=1", "--delete-config", "flush.ms"], 2, "both set and deleted"),
    ],
)  # fmt: skip
def test_what_alter_refuses_changes_nothing(root: Path, words: list[str], code: int, sentence: str) -> None:
    run = octavo("alter", str(root), *words)
    assert (run.exit, run.stdout) == (code, "")
    assert sentence in run.stderr
    assert (folders(root), stored(root, "orders")) == ([["orders-0", "orders-1"]], {"segment.bytes": "5120"})


def test_deleted_topics_leave_nothing_behind(root: Path) -> None:
    octavo("create", str(root), "--topic", "kept")
    names = [TopicPartition("orders", 1), TopicPartition("kept", 0)]
    (root / CLEANER_OFFSET_CHECKPOINT).write_bytes(checkpoint.encode_offsets(dict.fromkeys(names, 0)))
    assert octavo("delete", str(root), "--topic", "orders").stdout == "orders: deleted, 2 partitions\n"
    assert folders(root) == [["kept-0"]]
    for name in (CLEANER_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT):
        assert list(checkpoint.decode_offsets((root / name).read_bytes())) == [TopicPartition("kept", 0)]
    assert list(json.loads((root / "octavo-topics.json").read_bytes())["topics"]) == ["kept"]
    assert octavo("verify", str(root)).exit == 0


def test_topics_that_are_not_there(root: Path) -> None:
    run = octavo("delete", str(root), "--topic", "orders", "--topic", "ordesr")
    assert (run.exit, run.stdout) == (1, "")
    assert "there is no topic 'ordesr' (did you mean orders?)" in run.stderr
    assert folders(root) == [["orders-0", "orders-1"]]
    row = rows(octavo("delete", str(root), "--topic", "ordesr", "--topic", "orders", "--if-exists", "--json"))[0]
    assert row == {"topic": "orders", "partitions": [0, 1]}
    assert folders(root) == [[]]


@pytest.mark.parametrize("line", [["create", "--topic", "new"], ["alter", "--topic", "orders", "--partitions", "9"],
                                  ["delete", "--topic", "orders"]], ids=lambda line: line[0])  # fmt: skip
def test_a_locked_directory_is_refused_and_nothing_changes(root: Path, line: list[str]) -> None:
    with locked(root):
        before = state(root)
        run = octavo(line[0], str(root), *line[1:])
        assert (run.exit, run.stdout) == (1, "")
        assert ".lock" in run.stderr
        assert state(root) == before


def test_deleting_a_topic_leaves_the_files_of_a_partition_that_was_moved(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    moved = tmp_path / "moved"
    shutil.move(root / "orders-0", moved)
    (root / "orders-0").symlink_to(moved)
    (root / "orders-1" / "sub").mkdir()
    before = sorted(path.name for path in moved.iterdir())
    run = octavo("delete", str(root), "--topic", "orders")
    assert (run.exit, run.stdout) == (0, "orders: deleted, 2 partitions\n")
    assert sorted(path.name for path in moved.iterdir()) == before
    linked, stuck = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert f"are still in {moved}" in linked.message
    assert "cannot be removed: Directory not empty" in stuck.message
    assert not linked.exc_info
    assert not stuck.exc_info
