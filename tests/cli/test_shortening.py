"""`octavo retain`, `truncate` and `delete-records`: logs that get shorter at either end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from octavo.format.names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
)
from octavo.format.small_files import checkpoint, leader_epochs
from tests.cli.owners import locked, records, rows, state
from tests.cli.runs import Run, octavo
from tests.golden.archives import unpack
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

SIZE = len(batch(0, 11))
NOW_MS = 10_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Segments at 0, 11 and 23, with largest timestamps 1010, 2011 and 3016."""
    folder = tmp_path / "t-0"
    write_segment(folder, 0, batch(0, 11, timestamp=1000))
    write_segment(folder, 11, batch(11, 12, timestamp=2000, epoch=1))
    write_segment(folder, 23, batch(23, 7, timestamp=3000, epoch=1), batch(30, 10, timestamp=3007, epoch=2))
    return tmp_path


def bases(root: Path) -> list[int]:
    return [int(path.name[:20]) for path in sorted((root / "t-0").glob("*.log"))]


def checkpointed(root: Path, name: str) -> int | None:
    return checkpoint.decode_offsets((root / name).read_bytes()).get(TopicPartition("t", 0))


# C2: by time, against the segment's largest timestamp; C4: nothing is left of what is deleted
def test_retention_by_time(root: Path) -> None:
    line = ("retain", str(root), "--config", "retention.ms=7500", "--now", str(NOW_MS))
    run = octavo(*line)
    assert (run.exit, run.stderr) == (0, "")
    age = "its largest timestamp is"
    size = len(batch(23, 7) + batch(30, 10))
    assert run.stdout.splitlines() == [
        f"t-0: segment 0, {SIZE} bytes, deleted: retention.ms: {age} 8990 ms old, retention.ms is 7500",
        f"t-0: segment 11, {len(batch(0, 12))} bytes, deleted: retention.ms: {age} 7989 ms old, retention.ms is 7500",
        f"t-0: segment 23, {size} bytes, stays: {age} 6984 ms old, retention.ms is 7500; retention.bytes is -1",
        f"2 segments of {SIZE + len(batch(0, 12))} bytes deleted, 1 stays",
    ]
    assert bases(root) == [23]
    assert not list(root.rglob("*.deleted"))
    assert json.loads(octavo("topics", str(root), "--json").stdout)["logStartOffset"] == 23
    assert octavo("verify", str(root)).exit == 0


# C5: by size, from the first segment on while the excess covers it
def test_retention_by_size(root: Path) -> None:
    total = sum(path.stat().st_size for path in (root / "t-0").glob("*.log"))
    line = ("retain", str(root), "--json", "--config", "retention.ms=-1", "--config")
    found = rows(octavo(*line, f"retention.bytes={total - SIZE}"))
    assert [(row["segment"], row["decision"], row["limit"]) for row in found] == [
        (0, "delete", "retention.bytes"),
        (11, "keep", None),
        (23, "keep", None),
    ]
    assert found[0] == {
        "topic": "t",
        "partition": 0,
        "segment": 0,
        "bytes": SIZE,
        "decision": "delete",
        "limit": "retention.bytes",
        "reason": f"the log has {total} bytes, retention.bytes is {total - SIZE}",
    }
    assert bases(root) == [11, 23]


# C3: when every segment has expired, a new active one is rolled first
def test_retention_of_everything(root: Path) -> None:
    octavo("retain", str(root), "--config", "retention.ms=1", "--now", str(NOW_MS))
    assert bases(root) == [40]
    assert json.loads(octavo("topics", str(root), "--json").stdout)["logStartOffset"] == 40


# C6, T5: logStartOffset 25 with segments 0, 11, 23: the first two are deleted
def test_deleted_records_are_removed_by_the_next_retention(root: Path) -> None:
    run = octavo("delete-records", str(root), "--topic", "t", "--partition", "0", "--offset", "25")
    assert (run.exit, run.stdout, run.stderr) == (0, "t-0: starts at offset 25\n", "")
    assert (bases(root), checkpointed(root, LOG_START_OFFSET_CHECKPOINT)) == ([0, 11, 23], 25)
    assert records(root)[0].offset == 25
    found = rows(octavo("retain", str(root), "--json", "--config", "retention.ms=-1"))
    assert [(row["segment"], row["limit"]) for row in found] == [
        (0, "log start offset"),
        (11, "log start offset"),
        (23, None),
    ]
    assert (bases(root), checkpointed(root, LOG_START_OFFSET_CHECKPOINT)) == ([23], 25)


def test_a_dry_run_of_retention_changes_nothing_and_takes_no_lock(root: Path) -> None:
    line = ("retain", str(root), "--dry-run", "--config", "retention.ms=7500", "--now", str(NOW_MS))
    before = state(root)
    run = octavo(*line)
    assert run.exit == 0
    assert run.stdout.count("would be deleted: retention.ms") == 2
    assert run.stdout.endswith(" would be deleted, 1 stays\n")
    assert state(root) == before
    with locked(root):
        before = state(root)
        assert octavo(*line).stdout == run.stdout
        assert octavo("retain", str(root), "--config", "retention.ms=7500").exit == 1
        assert state(root) == before


def test_only_the_named_topics_are_retained(root: Path) -> None:
    shutil.copytree(root / "t-0", root / "u-0")
    octavo("retain", str(root), "--topic", "u", "--config", "retention.ms=1")
    assert bases(root) == [0, 11, 23]
    run = octavo("retain", str(root), "--topic", "v")
    assert (run.exit, run.stdout) == (1, "")
    assert "there is no topic 'v'" in run.stderr


def test_truncation_cuts_whole_batches_and_all_that_follows_from_them(root: Path) -> None:
    line = ("truncate", str(root), "--topic", "t", "--partition", "0", "--offset")
    before = state(root)
    run = octavo(*line, "35", "--dry-run")
    lost = f"offsets 30–39 (10 records, {len(batch(30, 10))} bytes)"
    assert run.stdout == f"t-0: would end at offset 30, was 40; {lost} would be cut\n"
    assert state(root) == before
    row = rows(octavo(*line, "35", "--json"))[0]
    assert row == {
        "topic": "t", "partition": 0, "bytesCut": len(batch(30, 10)), "recordsCut": 10, "logStartOffset": 0,
        "logEndOffset": 30,
    }  # fmt: skip
    assert json.loads(octavo("topics", str(root), "--json").stdout)["logEndOffset"] == 30
    assert octavo(*line, "12").stdout.startswith("t-0: ends at offset 11, was 30; ")
    assert (bases(root), not list(root.rglob("*.deleted"))) == ([0, 11], True)
    for name in (RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT):
        assert checkpointed(root, name) == 11
    assert octavo(*line, "12").stdout == "t-0: ends at offset 11; nothing to cut\n"
    assert octavo("verify", str(root)).exit == 0


def test_truncation_cuts_leader_epochs(tmp_path: Path) -> None:
    root = shutil.copytree(unpack("v431-clean"), tmp_path / "logs")
    path = root / "codec.none-0" / LEADER_EPOCH_CHECKPOINT
    assert leader_epochs.decode(path.read_bytes()) == [(0, 0), (2, 600)]
    octavo("truncate", str(root), "--topic", "codec.none", "--partition", "0", "--offset", "600")
    assert leader_epochs.decode(path.read_bytes()) == [(0, 0)]
    assert json.loads(octavo("topics", str(root), "--topic", "codec.none", "--json").stdout.splitlines()[0])[
        "logEndOffset"
    ] == 600  # fmt: skip


def test_records_of_many_partitions(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "t-0", root / "t-1")
    file = tmp_path / "offsets.json"

    def delete(*partitions: object, version: int = 1) -> Run:
        file.write_text(json.dumps({"partitions": partitions, "version": version}))
        return octavo("delete-records", str(root), "--offset-json-file", str(file), "--json")

    wanted = [{"topic": "t", "partition": 0, "offset": 5}, {"topic": "t", "partition": 1, "offset": -1}]
    assert rows(delete(*wanted)) == [
        {"topic": "t", "partition": 0, "logStartOffset": 5},
        {"topic": "t", "partition": 1, "logStartOffset": 40},
    ]
    run = delete({"topic": "t", "partition": 0, "offset": 99}, {"topic": "t", "partition": 1, "offset": 40})
    problem = "offset 99 is out of range: the log starts at 5 and ends before 40"
    assert (run.exit, run.stderr) == (1, f"octavo: t-0: {problem}\n")
    assert json.loads(run.stdout)["partition"] == 1
    twice = {"topic": "t", "partition": 0, "offset": 6}
    for run, sentence in (
        (delete(twice, twice), "t-0 is named twice"),
        (delete({"topic": "t", "partition": 0}), 'expected "topic" (text)'),
        (delete({"topic": "t", "partition": "0", "offset": 1}), 'expected "topic" (text)'),
        (delete(twice, version=2), "version 2, expected 1"),
        (delete({"topic": "t", "partition": 7, "offset": 1}), "there is no partition 7 of topic 't'"),
    ):
        assert (run.exit, run.stdout) == (1, "")
        assert sentence in run.stderr
    file.write_text("{")
    assert "not JSON" in octavo("delete-records", str(root), "--offset-json-file", str(file)).stderr


def test_records_of_compacted_topics_stay(root: Path) -> None:
    octavo("alter", str(root), "--topic", "t", "--config", "cleanup.policy=compact")
    run = octavo("delete-records", str(root), "--topic", "t", "--partition", "0", "--offset", "5")
    assert (run.exit, run.stdout) == (1, "")
    assert "cleanup.policy is compact; records can be deleted only if it contains delete" in run.stderr


def test_lines_that_say_too_little_or_too_much(root: Path) -> None:
    for words in (
        ["truncate", "--topic", "t", "--partition", "0"],
        ["truncate", "--topic", "t", "--partition", "0", "--offset", "-1"],
        ["delete-records", "--topic", "t", "--partition", "0"],
        ["delete-records", "--topic", "t", "--partition", "0", "--offset", "1", "--offset-json-file", "x"],
        ["delete-records", "--topic", "t", "--partition", "0", "--offset", "-2"],
        ["retain", "--now", "yesterday"],
    ):
        run = octavo(words[0], str(root), *words[1:])
        assert (run.exit, run.stdout, run.stderr.count("\n")) == (2, "", 1)
