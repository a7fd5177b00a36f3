"""A scan of a golden archive gives what a real client read, in both isolation levels and however it is divided."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.format.names import FileKind
from octavo.scanner.api import Scan
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.snapshot import take_snapshot
from octavo.scanner.partition.transactions import read_transactions
from tests.golden import archives
from tests.golden.client_records import WITH_RECORDS, Row, expected, log_dirs, text

WITH_OFFSETS = [name for name in archives.archives() if archives.entry(name).get("offsets")]

FLIPPED = "crash.compacted"  # in v431-torn: one bit of a batch in the middle is flipped


def as_records(scan: Scan) -> list[Row]:
    return [
        (
            record.offset,
            record.timestamp,
            str(record.timestamp_type),
            text(record.key),
            text(record.value),
            [[header.key, text(header.value)] for header in record.headers],
        )
        for record in scan.records()
    ]


def as_table(scan: Scan) -> list[Row]:
    table = scan.to_table()
    timestamps = table["timestamp"].cast("int64").to_pylist()
    return [
        (
            row["offset"],
            timestamp,
            row["timestampType"],
            text(row["key"]),
            text(row["value"]),
            [[header["key"], text(header["value"])] for header in row["headers"]],
        )
        for row, timestamp in zip(table.to_pylist(), timestamps, strict=True)
    ]


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_a_scan_gives_what_a_real_client_read(archive: str) -> None:
    # T4
    partitions = expected(archive)
    assert partitions
    for (isolation, topic, partition), rows in partitions.items():
        scan = octavo.scan(log_dirs(archive), topic, partition, isolation_level=isolation)
        assert as_records(scan) == rows, (isolation, topic, partition)
        assert as_table(scan) == rows, (isolation, topic, partition)
        assert scan.count() == len(rows), (isolation, topic, partition)
        assert not scan.notes


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_tasks_of_a_few_batches_give_the_same(archive: str) -> None:
    for (isolation, topic, partition), rows in expected(archive).items():
        scan = octavo.scan(log_dirs(archive), topic, partition, isolation_level=isolation, split_bytes=500)
        assert as_records(scan) == rows, (isolation, topic, partition)


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_a_scan_needs_no_index(archive: str, tmp_path: Path) -> None:
    copies = []
    for number, log_dir in enumerate(log_dirs(archive)):
        ignored = shutil.ignore_patterns(f"*{FileKind.OFFSET_INDEX}", f"*{FileKind.TIME_INDEX}")
        copies.append(shutil.copytree(log_dir, tmp_path / str(number), ignore=ignored))
    for (isolation, topic, partition), rows in expected(archive).items():
        scan = octavo.scan(copies, topic, partition, isolation_level=isolation, split_bytes=500)
        assert as_records(scan) == rows, (isolation, topic, partition)


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_any_range_of_offsets_is_that_part_of_the_whole(archive: str) -> None:
    for (isolation, topic, partition), rows in expected(archive).items():
        offsets = [row[0] for row in rows]
        low, high = offsets[len(offsets) // 3], offsets[2 * len(offsets) // 3]
        options: dict[str, Any] = {"isolation_level": isolation, "from_offset": low, "to_offset": high}
        for split_bytes in (300, 1 << 20):
            scan = octavo.scan(log_dirs(archive), topic, partition, split_bytes=split_bytes, **options)
            wanted = [row for row in rows if low <= row[0] < high]
            assert as_records(scan) == wanted, (isolation, topic, partition)
            assert scan.count() == len(wanted), (isolation, topic, partition)


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_times_bound_a_scan_at_the_first_record_from_then_on(archive: str) -> None:
    # I7
    table = expected(archive)
    for (isolation, topic, partition), rows in table.items():
        everything = table["read_uncommitted", topic, partition]
        times = sorted(row[1] for row in everything)
        for start, end in ((times[0], times[-1]), (times[len(times) // 2], times[-1] + 1), (times[-1] + 1, None)):
            options: dict[str, Any] = {"isolation_level": isolation, "from_timestamp": start, "to_timestamp": end}
            scan = octavo.scan(log_dirs(archive), topic, partition, split_bytes=500, **options)
            first, last = first_from(everything, start), first_from(everything, end)
            wanted = [row for row in rows if first <= row[0] < last]
            assert as_records(scan) == wanted, (isolation, topic, partition, start, end)


def first_from(rows: list[Row], timestamp: int | None) -> int:
    return next((row[0] for row in rows if timestamp is not None and row[1] >= timestamp), 1 << 62)


@pytest.mark.parametrize("archive", WITH_OFFSETS)
def test_log_start_end_and_last_stable_offset_are_what_the_broker_answered(archive: str) -> None:
    answers = archives.entry(archive)["offsets"]
    seen = 0
    for (topic, partition), files in open_log_dirs(log_dirs(archive)).partitions.items():
        if topic not in answers:
            continue
        snapshot = take_snapshot(files)
        transactions = read_transactions(snapshot)
        uncommitted = answers[topic]["read_uncommitted"]
        committed = answers[topic].get("read_committed", uncommitted)
        assert snapshot.log_start_offset == uncommitted["begin"][str(partition)], (topic, partition)
        assert snapshot.log_end_offset == uncommitted["end"][str(partition)], (topic, partition)
        assert transactions.last_stable_offset == committed["end"][str(partition)], (topic, partition)
        seen += 1
    assert seen


def test_torn_ends_are_cut_where_the_broker_cut_them() -> None:
    answers = archives.entry("v431-torn-recovered")["offsets"]
    for (topic, partition), files in open_log_dirs(log_dirs("v431-torn")).partitions.items():
        if topic in answers and topic != FLIPPED:
            snapshot = take_snapshot(files)
            assert snapshot.log_end_offset == answers[topic]["read_uncommitted"]["end"][str(partition)], topic


def test_a_damaged_batch_in_the_middle_is_an_error_or_skipped() -> None:
    folder = archives.unpack("v431-torn")
    note = next(note for note in archives.entry("v431-torn")["notes"] if note["file"].startswith(FLIPPED))
    with pytest.raises(octavo.CorruptRecordError, match=f"{note['file']}, position .*CRC does not match") as raised:
        octavo.scan(folder, FLIPPED).to_table()
    assert raised.value.position is not None
    scan = octavo.scan(folder, FLIPPED, on_damage="skip")
    read, whole = as_records(scan), expected("v431-killed")["read_uncommitted", FLIPPED, 0]
    lost = [row for row in whole if row not in read]
    assert scan.damage_count == 1
    assert str(raised.value.position) in scan.notes[-1].sentence
    assert read == [row for row in whole if row not in lost]
    assert 0 < len(lost) < 10


# Scans a directory, and fails if a file in it is opened for writing. The mode of a file would not stop root.
SCAN = """
import os, sys

def refuse(event, args):
    if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(args[0]).startswith(sys.argv[1]):
        raise PermissionError(f"{args[0]} is opened for writing")

sys.addaudithook(refuse)
import octavo
print(octavo.scan(sys.argv[1], isolation_level="read_committed").to_table().num_rows)
"""


def test_read_only_files_are_enough_and_nothing_changes(tmp_path: Path) -> None:
    copy = shutil.copytree(archives.unpack("v431-killed"), tmp_path / "logs")
    before = everything(copy)
    for folder in copy.rglob("*"):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    run = subprocess.run([sys.executable, "-c", SCAN, str(copy)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "") and int(run.stdout) > 0
    assert everything(copy) == before
    for parent, folders, _ in os.walk(copy):
        for name in folders:
            Path(parent, name).chmod(0o755)


def everything(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """What is below a folder: when it was last changed, and the content of files."""
    return {
        path: (path.stat().st_mtime_ns, b"" if path.is_dir() else path.read_bytes())
        for path in (folder, *folder.rglob("*"))
    }
