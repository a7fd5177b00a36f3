"""A wrong path or a mistyped name is always an error: what is said about it, and that nothing is written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import octavo as library
from octavo.errors import LogDirError, NoLogDirError, no_such_topic
from octavo.format import names
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.location import LOCAL, Location
from octavo.scanner.places.selection import TopicSelection
from octavo.scanner.places.wrong_place import check_log_dir
from tests.cli.runs import octavo, printed
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

COMMANDS = [
    ("topics",),
    ("cat",),
    ("verify",),
    ("describe",),
    ("groups",),
    ("recover",),
    ("recover", "--dry-run"),
    ("retain",),
    ("compact", "--dry-run"),
    ("reindex",),
    ("upgrade",),
    ("lookup", "--topic", "orders", "--partition", "0", "--offset", "0"),
    ("alter", "--topic", "orders", "--config", "retention.ms=1"),
    ("delete", "--topic", "orders"),
    ("truncate", "--topic", "orders", "--partition", "0", "--offset", "0"),
    ("delete-records", "--topic", "orders", "--partition", "0", "--offset", "0"),
    ("consume", "--topic", "orders", "--group", "g"),
    ("produce", "--topic", "orders"),
]


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """`disks/disk1`, `disks/more/disk2`: a folder of log directories."""
    for place in ("disk1", "more/disk2"):
        write_segment(tmp_path / "disks" / place / "orders-0", 0, batch(0, 3))
    return tmp_path / "disks"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder like /etc, with names that could be those of partitions."""
    folder = tmp_path / "etc"
    (folder / "dbus-1" / "system.d").mkdir(parents=True)
    (folder / "polkit-1").mkdir()
    (folder / "hosts").write_text("127.0.0.1 localhost\n")
    return folder


def content(root: Path) -> list[tuple[Path, int]]:
    """What is there, and when it was last changed."""
    return [(path, path.stat().st_mtime_ns) for path in (root, *sorted(root.rglob("*")))]


@pytest.mark.parametrize("name", sorted(value for key, value in vars(names).items() if key.endswith("_STORE")))
def test_any_file_of_octavos_own_makes_a_log_directory(tmp_path: Path, name: str) -> None:
    place = Location(LOCAL, str(tmp_path))
    with pytest.raises(NoLogDirError):
        check_log_dir(read_directory(place, lambda _: False))
    (tmp_path / name).touch()
    check_log_dir(read_directory(place, lambda _: False))


@pytest.mark.parametrize("line", COMMANDS, ids=" ".join)
def test_the_parent_of_log_directories_is_refused_and_names_them(parent: Path, line: tuple[str, ...]) -> None:
    before = content(parent)
    run = octavo(line[0], str(parent), *line[1:])
    found = "no partitions here; log directories below it: disk1, more/disk2"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: {parent}: {found}\n")
    assert content(parent) == before


@pytest.mark.parametrize("line", COMMANDS, ids=" ".join)
def test_a_foreign_folder_is_refused_and_left_alone(foreign: Path, line: tuple[str, ...]) -> None:
    before = content(foreign)
    run = octavo(line[0], str(foreign), *line[1:])
    assert (run.exit, run.stdout) == (1, "")
    assert run.stderr.startswith(f"octavo: {foreign}: no partitions here; a log directory has folders such as orders-0")
    assert content(foreign) == before


OWNERS = [line for line in COMMANDS if line[0] in ("recover", "retain", "compact", "delete", "truncate")]


@pytest.mark.parametrize("line", OWNERS, ids=" ".join)
def test_a_partitions_folder_is_refused_and_left_alone(parent: Path, line: tuple[str, ...]) -> None:
    folder = parent / "disk1" / "orders-0"
    before = content(folder)
    run = octavo(line[0], str(folder), *line[1:])
    sentence = "this is a partition's folder; open the log directory that contains it"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: {folder}: {sentence}\n")
    assert content(folder) == before


def test_opening_a_folder_of_other_things_leaves_it_alone(foreign: Path) -> None:
    (foreign / "ssh").mkdir()
    before = content(foreign)
    with pytest.raises(LogDirError, match="'ssh' is not a folder that a broker makes"):
        library.LogDir(foreign)
    assert content(foreign) == before


@pytest.mark.parametrize("command", ["topics", "cat", "verify", "recover", "retain"])
def test_an_empty_folder_is_refused(tmp_path: Path, command: str) -> None:
    run = octavo(command, str(tmp_path))
    assert run.exit == 1
    assert "no partitions here" in run.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", [("copy", "SRC", "DST", "--topic", "orders")], ids=["copy"])
def test_a_copy_of_the_parent_is_refused(parent: Path, tmp_path: Path, line: tuple[str, ...]) -> None:
    run = octavo("copy", str(parent), str(tmp_path / "copy"), *line[3:])
    assert run.exit == 1
    assert "log directories below it" in run.stderr
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("command", ["topics", "cat", "verify", "recover", "retain"])
def test_a_log_directory_without_partitions_is_said_to_be_one(tmp_path: Path, command: str) -> None:
    root = tmp_path / "new"
    assert octavo("create", str(root), "--topic", "t").exit == 0
    assert octavo("delete", str(root), "--topic", "t").exit == 0
    for folder in root.glob("t-0*"):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    run = printed(command, str(root))
    assert run.stderr == f"octavo: {root}: a log directory without partitions\n"
    assert run.exit == (command == "verify")  # nothing was verified


def test_a_topic_is_still_created_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing"):
        assert octavo("create", str(tmp_path / name), "--topic", "t").exit == 0
        with library.LogDir(tmp_path / name) as logs:
            assert list(logs.topics) == ["t"]


def test_the_library_refuses_them_too(parent: Path, foreign: Path) -> None:
    with pytest.raises(NoLogDirError, match="log directories below it: disk1, more/disk2"):
        library.scan(parent)
    with pytest.raises(NoLogDirError, match="no partitions here"):
        library.scan(foreign)


def test_a_partial_copy_without_its_root_is_still_read(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0, 3))
    (tmp_path / "orders-1").mkdir()
    assert library.scan(tmp_path).to_table().num_rows == 3
    assert octavo("topics", str(tmp_path), "--topic", "orders").exit == 0


def test_offsets_beyond_the_end_are_reported(parent: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = parent / "disk1"
    run = printed("cat", str(logs), "--offset", "100")
    said = f"octavo: {logs}/orders-0: offset 100 is beyond the log's end, 3; nothing to read\n"
    assert (run.exit, run.stdout, run.stderr) == (1, "", said)
    assert printed("cat", str(logs), "--offset", "3").exit == 0
    caplog.clear()
    scan = library.scan(logs, from_offset=100)
    assert scan.count() == scan.to_table().num_rows == 0
    place = f"{logs}/orders-0: offset 100 is beyond the log's end, 3; nothing to read"
    assert caplog.messages == [f"from_offset is beyond the end of every partition, such as {place}"]
    assert scan.is_beyond_end
    assert "beyond the log's end" in str(scan.notes[0])


def test_compaction_without_a_compacted_topic_says_so(parent: Path) -> None:
    run = octavo("compact", str(parent / "disk1"), "--dry-run")
    assert (run.exit, run.stdout) == (1, "")
    assert "nothing to clean: no topic has compact in its cleanup.policy" in run.stderr


def test_what_a_selection_leaves_out_is_mentioned(tmp_path: Path) -> None:
    write_segment(tmp_path / "__consumer_offsets-0", 0, batch(0, 3))
    (note,) = library.scan(tmp_path).notes
    assert note.sentence.startswith("only Kafka's internal topics are here")
    write_segment(tmp_path / "orders-0", 0, batch(0, 3))
    (note,) = library.scan(tmp_path, re.compile("ordres.*")).notes
    assert note.sentence == "no topic matches 'ordres.*'; the topics are __consumer_offsets, orders"
    write_segment(tmp_path / "__consumer_offsets-5", 0, batch(0, 3))
    for topics in (None, re.compile("orders")):
        (note,) = library.scan(tmp_path, topics, partitions=5).notes
        assert note.sentence == "no wanted topic has a partition 5; the topics are __consumer_offsets, orders"


def test_a_wanted_partition_that_cannot_be_listed_is_not_said_to_be_left_out() -> None:
    there = [names.TopicPartition("orders", 0)]
    assert TopicSelection.of(None).notes_on(there, [], "logs") == []


def test_a_missing_partition_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for partition in (0, 1, 2, 5):
        write_segment(tmp_path / f"orders-{partition}", 0, batch(0, 3))
    for line in (("cat",), ("lookup", "--offset", "0")):
        run = octavo(line[0], str(tmp_path), "--topic", "orders", "--partition", "7", *line[1:])
        sentence = "there is no partition 7 of topic 'orders'; it has 0 to 2, 5"
        assert (run.exit, run.stderr) == (1, f"octavo: {tmp_path}: {sentence}\n")
    assert "no topic has a partition 7" in octavo("cat", str(tmp_path), "--partition", "7").stderr


CODECS = ["codec.gzip", "codec.lz4", "codec.none", "crash.plain"]


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        ("crash.plan", "there is no topic 'crash.plan' (did you mean crash.plain?)"),
        ("codec", "there is no topic 'codec' (did you mean codec.gzip, codec.lz4 or codec.none?)"),
        (
            "codec.*",
            "there is no topic 'codec.*': a name is expected here, not a pattern; it would match codec.gzip, codec.lz4,"
            " codec.none",
        ),
        ("(", "there is no topic '(': a name is expected here, not a pattern"),
        ("zzz", "there is no topic 'zzz'; the topics are codec.gzip, codec.lz4, codec.none, crash.plain"),
    ],
)
def test_an_unknown_topic_is_answered_with_similar_names(topic: str, sentence: str) -> None:
    assert no_such_topic(topic, CODECS) == sentence


def test_many_topics_are_not_all_listed() -> None:
    assert no_such_topic("zzz", [f"t{number:02}" for number in range(30)]).endswith("t09 and 20 more")
