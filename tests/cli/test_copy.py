"""`octavo copy`: what brokers wrote, appended again; sources that are trimmed, damaged, or do not fit the target."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import fsspec
import pytest

from octavo.format.names import LEADER_EPOCH_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, FileKind, TopicPartition
from octavo.format.small_files import checkpoint, leader_epochs, producer_snapshot
from octavo.storage.log_manager import LogManager
from tests.cli.owners import locked, records, rows, state
from tests.cli.runs import octavo
from tests.golden.archives import entry, unpack
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

# Written without restarting the broker, which would begin a new leader epoch and a new count for index entries.
TOPICS = ["txn.orders-1", "compact.txn", "compact.txn-open", "compact.snappy-gzip", "compact-lz4"]
OLD = ["v0821", "v0901", "v01022", "v100", "v282", "upgrade-mixed", "upgrade-mixed-compacted", "v431-legacy-pass2"]


def topics_of(root: Path) -> list[str]:
    names = {path.name.rpartition("-")[0] for path in root.iterdir() if path.is_dir() and path.name[-1].isdigit()}
    return sorted(name for name in names if not name.startswith("__cluster_metadata"))


def named(topics: list[str]) -> list[str]:
    return [word for topic in topics for word in ("--topic", topic)]


def log_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"*{FileKind.LOG}")))


def contents(folder: Path) -> dict[str, object]:
    """Every file of a partition; the order of producers in a snapshot is that of a hash table."""
    found: dict[str, object] = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.glob(f"*{FileKind.PRODUCER_SNAPSHOT}"):
        found[path.name] = sorted(map(repr, producer_snapshot.decode(path.read_bytes())))
    return {name: content for name, content in found.items() if content or not name.endswith(FileKind.TXN_INDEX)}


def test_every_file_is_as_the_broker_wrote_it(tmp_path: Path) -> None:
    source = unpack("v431-clean")
    run = octavo("copy", str(source), str(tmp_path), *named(TOPICS))
    assert (run.exit, run.stderr) == (0, "")
    folders = [path for topic in TOPICS for path in sorted(source.glob(f"{topic}-[0-9]"))]
    assert len(run.stdout.splitlines()[:-1]) == len(folders) == 7
    for folder in folders:
        assert contents(tmp_path / folder.name) == contents(folder), folder.name
    assert octavo("verify", str(tmp_path)).exit == 0


def test_configs_of_the_source_are_taken_over_and_changed_by_those_given(tmp_path: Path) -> None:
    source = unpack("v431-clean")
    octavo("copy", str(source), str(tmp_path), "--topic", "compact.txn", "--config", "retention.ms=5")
    stored = json.loads((tmp_path / "octavo-topics.json").read_bytes())["topics"]["compact.txn"]
    expected = {name: str(value) for name, value in entry("v431-clean")["topics"]["compact.txn"]["config"].items()}
    assert stored["configs"] == {**expected, "retention.ms": "5"}
    assert stored["topicId"] in (source / "compact.txn-0" / "partition.metadata").read_text()


@pytest.mark.parametrize("archive", OLD)
def test_batches_of_all_formats_keep_their_bytes(archive: str, tmp_path: Path) -> None:
    source = unpack(archive)
    topics = topics_of(source)
    found = rows(octavo("copy", str(source), str(tmp_path), "--json", *named(topics)))
    assert {row["topic"] for row in found} == set(topics)
    for folder in tmp_path.iterdir():
        if folder.is_dir():
            assert log_bytes(folder) == log_bytes(source / folder.name), folder.name
    assert records(tmp_path, *topics) == records(source, *topics)


def test_a_source_that_starts_inside_a_segment(tmp_path: Path) -> None:
    source = unpack("v431-clean")
    found = rows(octavo("copy", str(source), str(tmp_path), "--topic", "trimmed.topic", "--json"))
    assert [row["logStartOffset"] for row in found] == [50, 4]
    starts = checkpoint.decode_offsets((tmp_path / LOG_START_OFFSET_CHECKPOINT).read_bytes())
    assert starts == {TopicPartition("trimmed.topic", 0): 50, TopicPartition("trimmed.topic", 1): 4}
    # The copy begins with the batch that holds the start offset.
    first = sorted(path.name for path in (tmp_path / "trimmed.topic-0").glob("*.log"))[0]
    assert first == f"{48:020}.log"
    assert records(tmp_path, "trimmed.topic") == records(source, "trimmed.topic")
    epochs = leader_epochs.decode((tmp_path / "trimmed.topic-0" / LEADER_EPOCH_CHECKPOINT).read_bytes())
    assert epochs == leader_epochs.decode((source / "trimmed.topic-0" / LEADER_EPOCH_CHECKPOINT).read_bytes())


def test_one_disk_of_several_has_some_of_the_partitions(tmp_path: Path) -> None:
    for disk in sorted(path for path in unpack("v431-two-dirs").iterdir() if path.is_dir()):
        target = tmp_path / disk.name
        topics = topics_of(disk)
        octavo("copy", str(disk), str(target), *named(topics))
        expected = sorted(path.name for path in disk.iterdir() if path.name.rpartition("-")[0] in topics)
        assert sorted(path.name for path in target.iterdir() if path.is_dir()) == expected


def test_a_copy_goes_on_where_it_ended(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    first, later = [batch(0, 2), batch(2)], [batch(3, 4, epoch=1)]
    write_segment(source / "t-0", 0, *first)
    line = ("copy", str(source), str(target), "--topic", "t", "--json")
    assert rows(octavo(*line))[0]["batches"] == 2
    write_segment(source / "t-0", 0, *first, *later)
    write_segment(source / "t-1", 0, batch(0))
    found = rows(octavo(*line))
    assert [(row["partition"], row["startOffset"], row["batches"], row["logEndOffset"]) for row in found] == [
        (0, 3, 1, 7),
        (1, 0, 1, 1),
    ]
    assert log_bytes(target / "t-0") == b"".join([*first, *later])
    assert leader_epochs.decode((target / "t-0" / LEADER_EPOCH_CHECKPOINT).read_bytes()) == [(0, 0), (1, 3)]
    assert rows(octavo(*line))[0]["batches"] == 0


def test_another_topic_of_the_same_name_is_refused(tmp_path: Path) -> None:
    """The topic ids differ; if they were not compared, batches of both topics would end up in one log."""
    source, target = tmp_path / "source", tmp_path / "target"
    for root, count in ((source, 10), (target, 4)):
        octavo("create", str(root), "--topic", "t")
        with LogManager(root, background=False) as logs:
            logs.log("t", 0).append_as_leader(batch(0, count), leader_epoch=0)
    before = log_bytes(target / "t-0")
    run = octavo("copy", str(source), str(target), "--topic", "t")
    assert (run.exit, run.stdout) == (1, "")
    assert f"{target / 't-0'}: its topic id is " in run.stderr
    assert run.stderr.endswith("; use another log directory, or move this folder away\n")
    assert log_bytes(target / "t-0") == before


def test_a_destination_with_other_batches_is_refused(tmp_path: Path) -> None:
    """Without ids the last batches are compared, except for what compaction changes."""
    source, target = tmp_path / "source", tmp_path / "target"
    line = ("copy", str(source), str(target), "--topic", "t")
    write_segment(source / "t-0", 0, batch(0), batch(1))
    octavo(*line)
    write_segment(source / "t-0", 0, batch(0), batch(1, value_bytes=99), batch(2))
    run = octavo(*line)
    assert (run.exit, run.stdout) == (1, "")
    assert (
        f"t-0: {target / 't-0'}: the last batch, at offset 1, is not the one that its source {source / 't-0'}"
        in run.stderr
    )
    assert log_bytes(target / "t-0") == batch(0) + batch(1)
    assert octavo(*line, "--config", "cleanup.policy=compact").exit == 0
    write_segment(source / "t-0", 0, batch(0), batch(2, epoch=1), batch(3, epoch=1))
    assert octavo(*line).exit == 1


def test_a_copy_that_is_not_compacted_goes_on_when_its_source_was(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    octavo("create", str(source), "--topic", "t", "--config", "cleanup.policy=compact")
    line = ("copy", str(source), str(target), "--topic", "t", "--config", "cleanup.policy=delete")
    write_segment(source / "t-0", 0, batch(0), batch(1, value_bytes=99))
    assert octavo(*line).exit == 0
    write_segment(source / "t-0", 0, batch(0), batch(1), batch(2))
    assert octavo(*line).exit == 0
    assert log_bytes(target / "t-0") == batch(0) + batch(1, value_bytes=99) + batch(2)


def test_damaged_batches_are_skipped_and_the_exit_code_is_1(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    damaged = bytearray(batch(1))
    damaged[-1] ^= 1
    write_segment(source / "t-0", 0, batch(0), bytes(damaged), batch(2), tail=batch(3)[:40])
    run = octavo("copy", str(source), str(target), "--topic", "t")
    assert run.exit == 1
    size = 2 * len(batch(0))
    assert run.stdout.splitlines() == [
        f"t-0: 2 batches, {size} bytes, from offset 0 to 3; 1 segment",
        f"2 batches, {size} bytes of 1 partition of 1 topic copied; "
        f"lost: t-0 offset 1 (1 record, {len(damaged)} bytes), t-0 40 bytes",
    ]
    assert f"position {len(batch(0))}: a batch at offset 1 (up to 1, 1 record) whose CRC" in run.stderr
    assert "an incomplete batch at the end" in run.stderr
    assert log_bytes(target / "t-0") == batch(0) + batch(2)


@pytest.mark.parametrize(
    ("kept", "lost", "offsets"),
    [(40, "40 bytes", []), (100, "offsets 1–3 (3 records, 100 bytes)", [[1, 3]])],
)
def test_the_torn_end_of_a_source_is_lost_but_not_a_problem(
    kept: int, lost: str, offsets: list[list[int]], tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    write_segment(source / "t-0", 0, batch(0), closed=False, tail=batch(1, 3)[:kept])
    planned = octavo("copy", str(source), str(target), "--topic", "t", "--dry-run")
    run = octavo("copy", str(source), str(target), "--topic", "t", "--json")
    assert (planned.exit, run.exit) == (0, 0)
    assert "an incomplete batch at the end" in run.stderr
    assert planned.stdout.endswith(f"would be copied; lost: t-0 {lost}\n")
    row = json.loads(run.stdout)
    assert (row["lostOffsets"], row["bytesAfterEnd"], row["damages"]) == (offsets, kept, 0)


def test_offsets_that_go_back_are_reported(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    write_segment(source / "t-0", 0, batch(0, 10), batch(5, 10), batch(20))
    run = octavo("copy", str(source), str(target), "--topic", "t")
    assert run.exit == 1
    assert f"position {len(batch(0, 10))}: offsets 5 to 14 are not after the end of the log, 10" in run.stderr
    assert log_bytes(target / "t-0") == batch(0, 10) + batch(20)


def test_a_batch_too_large_for_a_segment_fails_only_its_partition(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    write_segment(source / "t-0", 0, batch(0, 50))
    write_segment(source / "t-1", 0, batch(0))
    run = octavo("copy", str(source), str(target), "--topic", "t", "--config", "segment.bytes=1000")
    assert run.exit == 1
    assert run.stderr == f"octavo: t-0: a set of {len(batch(0, 50))} bytes, expected at most segment.bytes, 1000\n"
    assert run.stdout.startswith("t-1: 1 batch,")
    assert run.stdout.endswith("; lost: nothing; failed: t-0\n")


def test_a_destination_that_reaches_further_or_ends_before_the_source_starts(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    write_segment(source / "t-0", 0, batch(0), batch(1))
    octavo("copy", str(source), str(target), "--topic", "t")
    write_segment(source / "t-0", 0, batch(0))
    run = octavo("copy", str(source), str(target), "--topic", "t")
    assert run.exit == 1
    assert "the log ends at offset 2, but its source " in run.stderr and "ends before it, at 1;" in run.stderr
    shutil.rmtree(source)
    write_segment(source / "t-0", 5, batch(5))
    run = octavo("copy", str(source), str(target), "--topic", "t")
    assert run.exit == 1
    assert "the log ends at offset 2, but its source " in run.stderr and "starts after it, at 5;" in run.stderr
    assert log_bytes(target / "t-0") == batch(0) + batch(1)


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    write_segment(source / "orders-0", 0, batch(0))
    for words, sentence in (
        ([str(source), str(target), "--topic", "order"], "there is no topic 'order' (did you mean orders?)"),
        ([str(source), str(source), "--topic", "orders"], "this is SRC, or the directory that holds it"),
        ([str(source / "orders-0"), str(source), "--topic", "orders"], "this is SRC, or the directory that holds it"),
        ([str(source), str(source / "new")], f"{source / 'new'}: lies in SRC, {source}; choose another DST"),
        ([str(tmp_path / "no"), str(target), "--topic", "orders"], "no such file or directory"),
    ):
        run = octavo("copy", *words)
        assert (run.exit, run.stdout) == (1, "")
        assert sentence in run.stderr
        assert not target.exists()
    run = octavo("copy", str(source), str(target), "--topic", "orders", "--config", "segment.byte=5")
    assert (run.exit, run.stdout) == (2, "")
    assert "segment.byte is not a topic config (did you mean segment.bytes?)" in run.stderr
    assert not target.exists()
    assert octavo("copy", str(source), str(target), "--topic", "orders", "--include", "o.*").exit == 2
    octavo("copy", str(source), str(target), "--topic", "orders")
    with locked(target):
        before = state(target)
        assert octavo("copy", str(source), str(target), "--topic", "orders").exit == 1
        assert state(target) == before


# I8: segment.bytes = 5120 splits the documents' log at 93 and 184; index 0 has one entry, index 93 none
def test_the_experiment_of_the_documents(tmp_path: Path) -> None:
    folder, source, target = unpack("seed-004-log-format") / "log-format-1", tmp_path / "source", tmp_path / "target"
    (source / folder.name).mkdir(parents=True)
    (source / folder.name / f"{0:020}.log").write_bytes(log_bytes(folder))  # in one piece, without indexes
    octavo("copy", str(source), str(target), "--topic", "log-format", "--config", "segment.bytes=5120")
    logs = sorted((target / folder.name).glob("*.log"))
    assert [int(path.name[:20]) for path in logs] == [0, 93, 184]
    assert [path.read_bytes() for path in logs] == [path.read_bytes() for path in sorted(folder.glob("*.log"))]
    # The document's broker (1.0) names the first offset of the batch at 4384, 80; today's brokers name its last one.
    shown = octavo("dump-log", "--files", str(logs[0].with_suffix(".index"))).stdout.splitlines()
    assert shown[1:] == ["offset: 92 position: 4384"]
    assert [path.with_suffix(".index").stat().st_size for path in logs] == [8, 0, 0]
    for base in (0, 93):
        name = f"{base:020}.timeindex"
        assert (target / folder.name / name).read_bytes() == (folder / name).read_bytes()
    line = ("lookup", str(target), "--topic", "log-format", "--partition", "1", "--offset", "80", "--json")
    found = rows(octavo(*line))[0]
    assert (found["segment"], found["batchPosition"], found["offset"]) == (f"{0:020}.log", 4384, 80)


def test_a_source_elsewhere_and_a_segment_alone(tmp_path: Path) -> None:
    log = write_segment(tmp_path / "source" / "t-0", 0, batch(0, 3), batch(3))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "source"), "/copied", recursive=True)
    try:
        for number, source in enumerate(("memory://copied", str(log))):
            target = tmp_path / str(number)
            assert rows(octavo("copy", source, str(target), "--topic", "t", "--json"))[0]["batches"] == 2
            assert log_bytes(target / "t-0") == log.read_bytes()
    finally:
        memory.rm("/copied", recursive=True)


def test_all_topics_by_default_and_what_is_lost(tmp_path: Path) -> None:
    source, target = unpack("v431-torn"), tmp_path / "target"
    line = ("copy", str(source), str(target))
    planned = octavo(*line, "--dry-run")
    assert not target.exists()
    done = octavo(*line)
    assert (planned.exit, done.exit) == (1, 1)
    assert planned.stderr == done.stderr
    summary = "864 batches, 204413 bytes (199.6 KiB) of 11 partitions of 8 topics"
    lost = (
        "lost: crash.compacted-0 offsets 250–255 (6 records, 291 bytes), crash.big-index-0 29 bytes, "
        "crash.plain-0 offsets 266–270 (5 records, 80 bytes), "
        "crash.prealloc-0 offsets 2013–2016 (4 records, 304 bytes) and 53943 zeros, crash.txn-0 11 bytes"
    )
    assert planned.stdout.splitlines()[-1] == f"{summary} would be copied; {lost}"
    assert done.stdout.splitlines()[-1] == f"{summary} copied; {lost}"
    topics = {row["topic"] for row in map(json.loads, octavo("topics", str(target), "--json").stdout.splitlines())}
    assert topics == set(topics_of(source))
    assert octavo("verify", str(target)).exit == 0


def test_offsets_that_only_compaction_removed_are_not_lost(tmp_path: Path) -> None:
    damaged = bytearray(batch(10, 2))
    damaged[-1] ^= 1
    batches = batch(0), batch(5), bytes(damaged), batch(14), batch(20)
    write_segment(tmp_path / "source" / "t-0", 0, *batches, bytes(damaged))
    write_segment(tmp_path / "source" / "t-0", 30, batch(30))
    line = ("copy", str(tmp_path / "source"), str(tmp_path / "target"))
    held = f"(2 records, {len(damaged)} bytes)"
    planned = octavo(*line, "--dry-run").stdout
    assert planned.endswith(f"; lost: t-0 offsets 6–13 {held}, t-0 offsets 21–29 {held}\n")
    assert json.loads(octavo(*line, "--json").stdout)["lostOffsets"] == [[6, 13], [21, 29]]


def test_a_lost_segment_of_a_topic_without_compaction_is_named(tmp_path: Path) -> None:
    source, line = tmp_path / "source", ("--topic", "codec.none")
    shutil.copytree(unpack("v431-clean"), source)
    for file in (source / "codec.none-0").glob(f"{230:020}.*"):
        file.unlink()
    planned = octavo("copy", str(source), str(tmp_path / "target"), *line, "--dry-run")
    done = octavo("copy", str(source), str(tmp_path / "target"), *line)
    assert (planned.exit, done.exit) == (0, 0)
    assert planned.stderr == done.stderr
    place = source / "codec.none-0" / f"{465:020}.log"
    assert done.stderr.startswith(f"octavo: {place}: offsets 230 to 464 are missing before this segment, and the topic")
    assert planned.stdout.endswith("; lost: nothing; missing in SRC: codec.none-0 offsets 230–464\n")
    assert done.stdout.endswith("; lost: nothing; missing in SRC: codec.none-0 offsets 230–464\n")


@pytest.mark.parametrize("tail", [0, 4])
def test_what_was_flushed_and_is_gone_is_lost(tail: int, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(unpack("v431-clean"), source)
    with (source / "codec.zstd-0" / f"{354:020}.log").open("r+b") as log:
        log.truncate(8274)
        log.truncate(8274 + tail)
    line = ("copy", str(source), str(tmp_path / "target"), "--topic", "codec.zstd")
    planned, done = octavo(*line, "--dry-run"), octavo(*line)
    missing = "ends at offset 535, but was flushed up to 620: offsets 535 to 619 are missing"
    zeros = ", codec.zstd-0 4 zeros" if tail else ""
    for run in (planned, done):
        assert run.exit == 1
        assert run.stderr.endswith(f"octavo: {source / 'codec.zstd-0'}: {missing}\n")
        assert run.stdout.endswith(f"; lost: codec.zstd-0 offsets 535–619{zeros}\n")
    shutil.rmtree(tmp_path / "target")
    assert json.loads(octavo(*line, "--json").stdout.splitlines()[0])["lostOffsets"] == [[535, 619]]


def test_losses_are_counted_across_files_and_from_where_a_copy_continues(tmp_path: Path) -> None:
    source, line = tmp_path / "source", ("copy", str(tmp_path / "source"), str(tmp_path / "target"))
    write_segment(source / "t-0", 0, batch(0), batch(1))
    assert octavo(*line).exit == 0
    damaged = [bytearray(batch(offset, 2)) for offset in (2, 4)]
    for one in damaged:
        one[-1] ^= 1
    write_segment(source / "t-0", 0, batch(0), batch(1), bytes(damaged[0]))
    write_segment(source / "t-0", 4, bytes(damaged[1]), batch(6), b"\0" * 500, batch(8))
    held = f"offsets 2–5 (4 records, {2 * len(damaged[0])} bytes)"
    assert octavo(*line).stdout.endswith(f"; lost: t-0 {held}, t-0 offset 7 and 500 zeros\n")


def test_what_an_unreadable_file_held_is_not_counted(tmp_path: Path) -> None:
    source = tmp_path / "source"
    failing = write_segment(source / "t-0", 0, batch(0, 3))
    write_segment(source / "t-0", 3, batch(3))
    failing.unlink()
    failing.mkdir()  # a folder, which cannot be read as a file
    run = octavo("copy", str(source), str(tmp_path / "target"))
    assert (run.exit, run.stdout.splitlines()[-1].rpartition("; ")[2]) == (1, "lost: t-0 offsets 0–2")


def test_damage_that_ends_a_log_is_lost(tmp_path: Path) -> None:
    damaged = bytearray(batch(1, 3))
    damaged[-1] ^= 1
    source, line = tmp_path / "source", ("copy", str(tmp_path / "source"), str(tmp_path / "target"), "--dry-run")
    write_segment(source / "t-0", 0, batch(0), bytes(damaged))
    assert octavo(*line).stdout.endswith(f"lost: t-0 offsets 1–3 (3 records, {len(damaged)} bytes)\n")
    write_segment(source / "t-0", 0, batch(0), tail=b"no batch, and nothing says what it was " * 3)
    run = octavo(*line)
    assert (run.exit, run.stdout.splitlines()[-1].rpartition("; ")[2]) == (1, "lost: t-0 117 bytes")


def test_topics_by_a_pattern(tmp_path: Path) -> None:
    line = ("copy", str(unpack("v431-clean")), str(tmp_path / "target"), "--dry-run", "--json", "--include")
    assert {row["topic"] for row in rows(octavo(*line, "codec.*"))} == {
        f"codec.{name}" for name in ("none", "gzip", "snappy", "lz4", "zstd")
    }
    run = octavo(*line, "codecs?")
    assert run.exit == 1
    assert "there is no topic to copy; the topics are: " in run.stderr
    assert octavo(*line, "(").exit == 2


def test_many_topics_that_do_not_match_are_counted(tmp_path: Path) -> None:
    for number in range(12):
        write_segment(tmp_path / "source" / f"t{number:02}-0", 0, batch(0))
    run = octavo("copy", str(tmp_path / "source"), str(tmp_path / "target"), "--include", "u.*")
    assert run.exit == 1
    assert run.stderr.endswith("the topics are: t00, t01, t02, t03, t04, t05, t06, t07, t08, t09 and 2 more\n")


def test_a_target_that_something_else_wrote_is_refused(tmp_path: Path) -> None:
    """With SRC and DST swapped, opening DST would cut what a crash left there."""
    evidence = shutil.copytree(unpack("v431-torn"), tmp_path / "evidence")
    octavo("copy", str(evidence), str(tmp_path / "copy"), "--topic", "crash.plain")
    before = state(evidence)
    run = octavo("copy", str(tmp_path / "copy"), str(evidence))
    assert (run.exit, run.stdout) == (1, "")
    assert run.stderr.startswith(f"octavo: {evidence}: has topics that octavo did not create there (")
    assert run.stderr.endswith("are SRC and DST swapped? If not, --into-existing copies into it\n")
    assert state(evidence) == before
    assert octavo("copy", str(tmp_path / "copy"), str(evidence), "--into-existing").exit == 0


def test_a_target_of_another_cluster_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "meta.properties").write_text("version=1\ncluster.id=another-cluster\nnode.id=1\n")
    line = ("copy", str(unpack("v431-clean")), str(target), "--topic", "codec.none")
    run = octavo(*line)
    assert run.exit == 1
    assert "meta.properties belongs to another cluster (another-cluster); are SRC and DST swapped?" in run.stderr
    folder = shutil.copytree(unpack("v431-clean") / "codec.none-0", tmp_path / "alone" / "codec.none-0")
    run = octavo("copy", str(folder), str(target))
    assert "SRC does not say that it is from there (another-cluster)" in run.stderr
    assert octavo(*line, "--into-existing").exit == 0
