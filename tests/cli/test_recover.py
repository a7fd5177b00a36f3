"""`octavo recover`: the directories of a killed broker, reports of cuts, dry runs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from octavo.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSET_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    FileKind,
    StagedFile,
    TopicPartition,
)
from octavo.format.small_files import checkpoint, clean_shutdown, leader_epochs
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.system.clock import SystemClock
from tests.cli.owners import locked, records, rows, state
from tests.cli.runs import octavo
from tests.golden.archives import unpack
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
MARKED = "29 files marked .deleted were removed\n"
METADATA = "__cluster_metadata-0"  # the broker's own, to which it continues writing when it starts
RESTARTED_EPOCH = 2
ARCHIVED_MS = 1_794_780_000_000

CUTS = """\
crash.big-index-0: segment 0, position 7881: 29 bytes cut: an incomplete batch
crash.compacted-0: segment 237, position 762: offsets 250–262 (13 records, 813 bytes) cut: \
batch with base offset 250: its CRC is wrong
crash.plain-0: segment 213, position 3851: offsets 266–270 (5 records, 80 bytes) cut: an incomplete batch
crash.prealloc-0: segment 1855, position 11289: offsets 2013–2016 (4 records, 304 bytes) and 53943 zeros cut: \
batch with base offset 2013: its CRC is wrong
crash.txn-0: segment 160, position 0: 11 bytes cut: an incomplete batch header
"""


@pytest.fixture(autouse=True)
def _at_the_time_of_the_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day after the archives were made, their producers expire and would be missing from snapshots."""
    monkeypatch.setattr(SystemClock, "time_ms", lambda _: ARCHIVED_MS)


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    return shutil.copytree(unpack("v431-torn"), tmp_path / "logs")


def files(root: Path) -> dict[str, bytes]:
    """All files of partitions except their epochs; an empty transaction index counts as none."""
    kinds = tuple(FileKind)
    paths = [path for path in root.glob("*/*") if path.parent.name != METADATA and path.name.endswith(kinds)]
    found = {str(path.relative_to(root)): path.read_bytes() for path in sorted(paths)}
    return {name: data for name, data in found.items() if data or not name.endswith(FileKind.TXN_INDEX)}


def epochs(root: Path) -> dict[str, list[EpochEntry]]:
    paths = [path for path in root.glob(f"*/{LEADER_EPOCH_CHECKPOINT}") if path.parent.name != METADATA]
    return {path.parent.name: leader_epochs.decode(path.read_bytes()) for path in sorted(paths)}


@pytest.mark.parametrize("archive", ["v431-killed", "v431-torn"])
def test_all_is_as_the_broker_left_it_after_its_start_and_clean_stop(archive: str, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "logs", unpack(f"{archive}-recovered")
    shutil.copytree(unpack(archive), ours)
    assert octavo("recover", str(ours)).exit == 0
    assert files(ours) == files(theirs)
    for name in CHECKPOINTS:
        assert checkpoint.decode_offsets((ours / name).read_bytes()) == checkpoint.decode_offsets(
            (theirs / name).read_bytes()
        ), name
    # Kafka's restart began a new leader epoch at the end of each log, which is not part of recovery.
    expected = {
        name: [entry for entry in entries if entry.epoch != RESTARTED_EPOCH] for name, entries in epochs(theirs).items()
    }
    found = epochs(ours)
    assert {name: found[name] for name, entries in expected.items() if entries} == {
        name: entries for name, entries in expected.items() if entries
    }
    assert clean_shutdown.decode((ours / CLEAN_SHUTDOWN).read_bytes()) == -1
    assert not (ours / ".lock").exists()
    checked = octavo("verify", str(ours))
    assert checked.exit == 0
    assert "next:" not in checked.stdout  # what is left to do is in the metadata log, which is left to its node


def test_a_partition_that_cannot_be_loaded_stays_as_it_is(torn: Path) -> None:
    victim = torn / "crash.plain-0"
    (victim / PARTITION_METADATA).write_text("rubbish")
    before = {path.name: path.read_bytes() for path in victim.iterdir()}
    run = octavo("recover", str(torn))
    assert run.exit == 1 and f"{victim}: not recovered" in run.stderr
    assert {path.name: path.read_bytes() for path in victim.iterdir()} == before


def test_what_was_cut_is_reported_even_if_another_partition_cannot_be_loaded(torn: Path) -> None:
    (torn / "crash.compacted-0" / PARTITION_METADATA).write_text("rubbish")
    run = octavo("retain", str(torn), "--topic", "crash.plain", "--topic", "crash.compacted")
    *cuts, error = run.stderr.splitlines()
    assert run.exit == 1 and PARTITION_METADATA in error
    place = torn / "crash.plain-0" / f"{213:020}.log"
    assert f"octavo: {place}: offsets 266–270 (5 records, 80 bytes) cut" in cuts
    again = octavo("retain", str(torn), "--topic", "crash.plain", "--topic", "crash.compacted")
    assert again.stderr.splitlines() == [error]


def test_what_was_cut_is_reported(torn: Path) -> None:
    run = octavo("recover", str(torn))
    assert (run.exit, run.stderr) == (0, "")
    summary = (
        "11 segments of 11 partitions checked and reindexed; 22 records, 55180 bytes (53.9 KiB) of 5 partitions cut\n"
    )
    assert run.stdout == CUTS + MARKED + summary
    again = octavo("recover", str(torn))
    assert again.stdout == (
        "0 segments of 11 partitions checked and reindexed; nothing was cut\n"
        ".kafka_cleanshutdown was trusted; --all checks everything\n"
    )


def test_a_dry_run_says_the_same_and_changes_nothing(torn: Path) -> None:
    before = state(torn)
    run = octavo("recover", "--dry-run", str(torn))
    assert (run.exit, run.stderr) == (0, "")
    assert run.stdout.startswith(
        CUTS.replace(" cut:", " would be cut:") + MARKED.replace("were removed", "would be removed")
    )
    assert run.stdout.endswith(
        "would be checked and reindexed; 22 records, 55180 bytes (53.9 KiB) of 5 partitions would be cut\n"
        f"7 sound records lie after damage; `octavo copy {torn} NEW` keeps them\n"
    )
    assert state(torn) == before
    planned = rows(octavo("recover", "--dry-run", "--json", str(torn)))
    assert state(torn) == before
    assert rows(octavo("recover", "--json", str(torn))) == planned


def test_a_row_has_every_field(torn: Path) -> None:
    found = {row["topic"]: row for row in rows(octavo("recover", "--json", str(torn)))}
    deleted = found["crash.trimmed"].pop("deletedFiles")
    assert len([name for name in deleted if name.endswith(".deleted")]) == 7
    # This snapshot lies before the log's start.
    assert [name for name in deleted if not name.endswith(".deleted")] == [f"{60:020}.snapshot"]
    assert found["crash.trimmed"] == {
        "topic": "crash.trimmed",
        "partition": 0,
        "folder": "crash.trimmed-0",
        "logStartOffset": 70,
        "logEndOffset": 255,
        "checkedSegments": 1,
        "bytesCut": 0,
        "cuts": [],
        "droppedSegments": [],
        "missingOffsets": None,
    }
    lost = {"firstOffset": 266, "lastOffset": 270, "records": 5, "soundRecords": 0, "zeros": 0}
    cut = {"segment": 213, "position": 3851, "bytes": 80, **lost, "problem": "an incomplete batch"}
    assert found["crash.plain"]["cuts"] == [cut]


def test_folders_that_no_broker_serves_are_recovered_and_named(torn: Path) -> None:
    unique_id = "0123456789abcdef0123456789abcdef"
    stray, future = f"crash.plain-0.{unique_id}-stray", f"crash.txn-0.{unique_id}-future"
    (torn / "crash.plain-0").rename(torn / stray)
    (torn / "crash.txn-0").rename(torn / future)
    served = [line for line in CUTS.splitlines() if "plain" not in line and "txn" not in line]
    planned = rows(octavo("recover", "--dry-run", "--json", str(torn)))
    named = {row["folder"]: (row["topic"], row["partition"], row["bytesCut"]) for row in planned}
    assert (named[stray], named[future]) == (("crash.plain", 0, 80), ("crash.txn", 0, 11))
    run = octavo("recover", str(torn))
    assert (run.exit, run.stderr) == (0, "")
    assert run.stdout.splitlines()[:-2] == [
        *served,
        f"{stray}: segment 213, position 3851: offsets 266–270 (5 records, 80 bytes) cut: an incomplete batch",
        f"{stray}: unknown to its cluster: kept, but no broker serves it",
        f"{future}: segment 160, position 0: 11 bytes cut: an incomplete batch header",
        f"{future}: an incomplete copy from another log directory: kept, but no broker serves it",
    ]
    assert (torn / stray).is_dir() and (torn / future).is_dir()
    assert octavo("recover", str(torn)).stdout.splitlines()[0].startswith(f"{stray}: unknown to its cluster")


def test_segments_after_a_damaged_one_are_dropped_and_reported(torn: Path) -> None:
    (torn / RECOVERY_POINT_CHECKPOINT).unlink()  # so that all segments are checked
    folder = torn / "crash.trimmed-0"
    log = folder / f"{93:020}.log"
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.log")}
    row = next(row for row in rows(octavo("recover", "--json", str(torn))) if row["topic"] == "crash.trimmed")
    reason = "it comes after the damage in segment 93"
    dropped = [name for name in sorted(sizes) if int(name[:20]) > 93]
    assert [(gone["segment"], gone["bytes"], gone["problem"]) for gone in row["droppedSegments"]] == [
        (int(name[:20]), sizes[name], reason) for name in dropped
    ]
    assert (row["droppedSegments"][0]["firstOffset"], row["droppedSegments"][-1]["lastOffset"]) == (128, 254)
    assert row["bytesCut"] == sizes[log.name] + sum(sizes[name] for name in dropped)
    assert (row["cuts"][0]["segment"], row["cuts"][0]["position"], row["logEndOffset"]) == (93, 0, 93)
    # The dropped segments can still be rescued; the next owner removes them.
    assert sorted(path.name for path in folder.glob("*.log.deleted")) == [f"{name}.deleted" for name in dropped]


def test_after_a_clean_stop_all_is_checked_on_request(tmp_path: Path) -> None:
    root = shutil.copytree(unpack("v431-clean"), tmp_path / "logs")
    log = root / "codec.none-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[200] ^= 1
    log.write_bytes(data)
    before = state(root)
    trusting = octavo("recover", "--dry-run", str(root)).stdout.splitlines()
    assert trusting[-1] == ".kafka_cleanshutdown was trusted; --all checks everything"
    *cuts, summary, kept = octavo("recover", "--all", "--dry-run", str(root)).stdout.splitlines()
    assert cuts[0] == (
        "codec.none-0: segment 0, position 120: offsets 1–229 (229 records, 15494 bytes = 15.1 KiB) would be cut: "
        "batch with base offset 1: its CRC is wrong"
    )
    assert cuts[1].startswith("codec.none-0: segment 230: would be dropped, offsets 230–464 (235 records, 16212 bytes")
    assert summary.endswith("619 records, 42262 bytes (41.3 KiB) of 1 partition would be cut")
    assert kept == f"617 sound records lie after damage; `octavo copy {root} NEW` keeps them"
    assert octavo("recover", "--all", "--dry-run", f"file://{root}").stdout.splitlines()[-1] == kept
    assert state(root) == before
    assert octavo("recover", "--all", str(root)).stdout.splitlines() == [
        line.replace("would be ", "") for line in (*cuts, summary)
    ]
    assert octavo("verify", str(root)).exit == 0


@pytest.mark.parametrize("flags", [(), ("--all",)])
@pytest.mark.parametrize("tail", [0, 4])
def test_what_was_flushed_and_is_gone_is_named(flags: tuple[str, ...], tail: int, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(unpack("v431-clean"), root)
    with (root / "codec.zstd-0" / f"{354:020}.log").open("r+b") as log:
        log.truncate(8274)
        log.truncate(8274 + tail)
    line = "codec.zstd-0: ends at offset 535, but was flushed up to 620: offsets 535 to 619 are missing"
    planned = octavo("recover", *flags, "--dry-run", str(root))
    assert planned.stdout.splitlines()[-2 if flags else -3] == line
    found = list(map(json.loads, octavo("recover", *flags, "--json", str(root)).stdout.splitlines()))
    assert [row["missingOffsets"] for row in found if row["missingOffsets"]] == [[535, 619]]
    assert line not in octavo("recover", *flags, str(root)).stdout  # the checkpoint is new


def test_a_partition_that_cannot_be_loaded_does_not_stop_the_others(torn: Path) -> None:
    """It is named and left untouched, and so are its lines in the checkpoints; the directory is not marked as clean."""
    points = checkpoint.decode_offsets((torn / RECOVERY_POINT_CHECKPOINT).read_bytes())
    bad = torn / "crash.plain-0" / LEADER_EPOCH_CHECKPOINT
    bad.write_bytes(b"garbage\n")
    before = state(torn / "crash.plain-0")
    run = octavo("recover", str(torn))
    assert run.exit == 1
    assert run.stdout.splitlines()[:-2] == [line for line in CUTS.splitlines() if "crash.plain" not in line]
    assert run.stderr.startswith(f"octavo: {bad.parent}: not recovered: {bad}")
    assert state(torn / "crash.plain-0") == before
    after = checkpoint.decode_offsets((torn / RECOVERY_POINT_CHECKPOINT).read_bytes())
    name = TopicPartition("crash.plain", 0)
    assert after[name] == points[name]
    assert not (torn / CLEAN_SHUTDOWN).exists()
    bad.unlink()
    run = octavo("recover", str(torn))
    assert (run.exit, run.stdout.splitlines()[0]) == (0, CUTS.splitlines()[2])
    assert (torn / CLEAN_SHUTDOWN).exists()


def test_zeros_of_a_preallocated_file_are_called_so(tmp_path: Path) -> None:
    log = write_segment(tmp_path / "t-0", 0, batch(0), tail=bytes(50_000))
    found = f"t-0: segment 0, position {len(batch(0))}: 50000 zeros cut: "
    assert octavo("recover", "--dry-run", str(tmp_path)).stdout.startswith(found.replace("cut", "would be cut"))
    assert octavo("recover", str(tmp_path)).stdout.startswith(f"{found}zeros of a preallocated file\n")
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    log.write_bytes(batch(0) + bytes(49_999) + b"x")
    assert octavo("recover", str(tmp_path)).stdout.startswith(
        f"t-0: segment 0, position {len(batch(0))}: 50000 bytes (48.8 KiB) cut: bytes that are not a batch\n"
    )


def test_files_without_a_segment_are_listed(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", 10, batch(10))
    orphans = [f"{3:020}.index", f"{3:020}.snapshot", f"{4:020}.timeindex", f"{4:020}.txnindex"]
    for name in orphans:
        (tmp_path / "t-0" / name).write_bytes(b"")
    (row,) = rows(octavo("recover", "--json", str(tmp_path)))
    assert row["deletedFiles"] == orphans
    assert not [name for name in orphans if (tmp_path / "t-0" / name).exists()]


def test_other_commands_recover_first_and_say_so_on_stderr(torn: Path) -> None:
    line = ("truncate", str(torn), "--topic", "crash.plain", "--partition", "0", "--offset", "266")
    lost = "octavo: crash.plain-0: segment 213, position 3851: offsets 266–270 (5 records, 80 bytes)"
    assert octavo(*line, "--dry-run").stderr == f"{lost} would be cut: an incomplete batch\n"
    run = octavo(*line)
    assert (run.exit, run.stdout) == (0, "crash.plain-0: ends at offset 266; nothing to cut\n")
    assert run.stderr == f"{lost} cut: an incomplete batch\n"
    # The others were not opened, and still need to be recovered.
    assert not (torn / CLEAN_SHUTDOWN).exists()
    assert octavo("recover", str(torn)).stdout.splitlines()[:-2] == [
        line for line in CUTS.splitlines() if "crash.plain" not in line
    ]


def test_a_locked_directory_is_refused_but_for_a_dry_run(torn: Path) -> None:
    with locked(torn):
        before = state(torn)
        run = octavo("recover", str(torn))
        assert (run.exit, run.stdout) == (1, "")
        assert str(torn) in run.stderr
        assert ".lock" in run.stderr
        assert octavo("recover", "--dry-run", str(torn)).exit == 0
        assert state(torn) == before


def test_what_is_not_a_log_directory_is_refused(torn: Path) -> None:
    before = state(torn)
    for place, found in (
        (torn / "nowhere", "no such directory"),
        (torn / "meta.properties", "it is a file, not a log directory"),
        (torn / "crash.plain-0", "this is a partition's folder; open the log directory that contains it"),
    ):
        run = octavo("recover", str(place))
        assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: {place}: {found}\n")
    after = state(torn)
    for states in (before, after):
        del states[str(torn / "crash.plain-0")]  # its modification time: a lock was taken there and released
    assert after == before


def test_a_segment_of_messages_of_an_old_format(tmp_path: Path) -> None:
    source = unpack("v0821")
    folder = next(path for path in sorted(source.iterdir()) if path.is_dir() and len(list(path.glob("*.log"))) > 1)
    for log in folder.glob("*.log"):
        (tmp_path / folder.name).mkdir(exist_ok=True)
        shutil.copy2(log, tmp_path / folder.name / log.name)
    last = sorted((tmp_path / folder.name).glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + batch(10**6)[:50])
    row = json.loads(octavo("recover", "--json", str(tmp_path)).stdout)
    assert [cut["problem"] for cut in row["cuts"]] == ["an incomplete batch"]
    assert records(tmp_path) == records(folder)


def test_files_that_a_dead_writer_staged_are_removed(torn: Path) -> None:
    staged = torn / "crash.plain-0" / StagedFile("0" * 16, "0" * 32, 0).name
    staged.touch()
    os.utime(staged, (ARCHIVED_MS / 1000 - 2 * 24 * 60 * 60,) * 2)
    assert f"{staged}: would be removed: it was staged by a writer" in octavo("recover", "--dry-run", str(torn)).stdout
    assert staged.exists()
    assert f"{staged}: removed: it was staged by a writer that died\n" in octavo("recover", str(torn)).stdout
    assert not staged.exists()
