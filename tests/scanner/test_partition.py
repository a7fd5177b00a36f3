"""Where a partition begins and ends, whatever its files look like."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.errors import CorruptionError, ScanError
from octavo.format.batches.batch import read_header
from octavo.format.indexes import offset_index
from octavo.format.names import FileKind, TopicPartition
from octavo.kernels.layout import Stop
from octavo.scanner.partition.snapshot import (
    ListingRetries,
    PartitionSnapshot,
    effective_segments,
    retrying,
    take_snapshot,
)
from octavo.scanner.partition.tail import WriterPatience
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.files import FileStat, PartitionFiles
from octavo.scanner.places.location import LocalReadableFile, LocalReadableFileSystem, Location, locate
from octavo.system.clock import ManualClock
from tests.format.exact_batches import empty_batch
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

ORDERS = TopicPartition("orders", 0)
TEN = [batch(10 * number, 10, timestamp=1000 * number) for number in range(10)]


def snapshot(folder: Path) -> PartitionSnapshot:
    return take_snapshot(read_directory(locate(folder)).partitions[ORDERS])


def offsets(folder: Path, **options: Any) -> list[int]:
    return [record.offset for record in octavo.scan(folder, **options)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "orders-0"


def test_a_partition_without_a_segment_is_empty(folder: Path) -> None:
    folder.mkdir(parents=True)
    found = snapshot(folder)
    assert (found.log_start_offset, found.log_end_offset, found.tail) == (0, 0, None)
    assert offsets(folder) == []


def test_an_empty_segment_ends_where_it_begins(folder: Path) -> None:
    write_segment(folder, 42, closed=False)
    assert (snapshot(folder).log_start_offset, snapshot(folder).log_end_offset) == (42, 42)


def test_checkpoints_give_the_log_start_and_the_high_watermark(folder: Path) -> None:
    # T5
    write_segment(folder, 0, *TEN)
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 25\n")
    (folder.parent / "replication-offset-checkpoint").write_text("0\n1\norders 0 80\n")
    found = snapshot(folder)
    assert (found.log_start_offset, found.high_watermark, found.log_end_offset) == (25, 80, 100)
    assert offsets(folder) == list(range(25, 100))
    assert offsets(folder, to_offset="highWatermark") == list(range(25, 80))
    # A single segment file is read as a whole, whatever the checkpoints say about its partition.
    assert offsets(folder / f"{0:020}.log") == list(range(100))


def test_a_checkpoint_below_the_first_segment_does_not_count(folder: Path) -> None:
    write_segment(folder, 50, *TEN[5:])
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    (folder.parent / "replication-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    assert (snapshot(folder).log_start_offset, snapshot(folder).high_watermark) == (50, 50)


def test_a_log_that_ends_below_its_start_has_nothing_to_read(folder: Path) -> None:
    write_segment(folder, 0, *TEN)
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 500\n")
    (folder.parent / "replication-offset-checkpoint").write_text("0\n1\norders 0 700\n")
    found = snapshot(folder)
    assert (found.log_start_offset, found.high_watermark, found.log_end_offset) == (500, 500, 500)
    assert offsets(folder) == []


@pytest.mark.parametrize(
    ("tail", "stop", "said"),
    [
        (b"", Stop.END, None),
        (TEN[9][:11], Stop.INCOMPLETE_HEADER, "an incomplete batch header at the end"),
        (TEN[9][:-1], Stop.INCOMPLETE_BATCH, "an incomplete batch at the end"),
        (bytes(5000), Stop.SIZE_TOO_SMALL, None),  # a preallocated file
        (b"garbage" * 9, Stop.INCOMPLETE_BATCH, "an incomplete batch at the end"),
        (bytes(8) + b"\xff" * 90, Stop.SIZE_TOO_SMALL, "bytes that are not a batch at the end"),
        (TEN[9][:200] + bytes(len(TEN[9]) - 200) + bytes(900), Stop.SIZE_TOO_SMALL, "a damaged batch at the end"),
        (TEN[9][:40] + b"\x00\x01" + TEN[9][42:], Stop.END, "a damaged batch at the end"),
        (2 * (TEN[9][:40] + b"\x00\x01" + TEN[9][42:]), Stop.END, "2 damaged batches at the end"),
    ],
    ids=["whole", "header", "batch", "zeros", "garbage", "no batch", "half", "crc", "two"],
)
def test_a_log_ends_after_its_last_sound_batch(folder: Path, tail: bytes, stop: Stop, said: str | None) -> None:
    log = write_segment(folder, 0, *TEN[:9], closed=False, tail=tail)
    found = snapshot(folder)
    assert found.tail is not None
    assert (found.log_end_offset, found.tail.position, found.tail.size) == (90, 9 * len(TEN[0]), log.stat().st_size)
    assert found.tail.stop is stop
    assert [note.sentence.partition(":")[0] for note in found.notes] == ([said] if said else [])
    assert offsets(folder, on_damage="skip") == list(range(90))
    is_damage = said is not None and "incomplete" not in said
    assert [note.is_damage for note in found.notes] == ([is_damage] if said else [])
    assert offsets(folder, to_offset=89) == list(range(89))
    if said is not None and is_damage:
        with pytest.raises(CorruptionError, match=re.escape(said)):
            offsets(folder)
    else:
        assert offsets(folder) == list(range(90))


@pytest.mark.parametrize("tail", [TEN[9][:11], TEN[9][:-1], bytes(5000)], ids=["header", "batch", "zeros"])
@pytest.mark.parametrize("how", ["trimmed indexes", "clean shutdown"])
def test_the_end_of_a_log_that_was_closed_is_damaged(folder: Path, tail: bytes, how: str) -> None:
    write_segment(folder, 0, *TEN[:9], closed=how == "trimmed indexes", tail=tail)
    if how == "clean shutdown":
        (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    scan = octavo.scan(folder, on_damage="skip")
    assert [record.offset for record in scan] == list(range(90))
    assert scan.damage_count == 1
    assert "at the end: the log ends at position" in str(scan.notes[0])


@pytest.mark.parametrize("hole", [700, 4096, 5000, 3 << 20])
def test_zeros_end_a_log_only_where_they_reach_to_its_end(folder: Path, hole: int) -> None:
    log = write_segment(folder, 0, *TEN[:5], bytes(hole), *TEN[7:], closed=False)
    for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        path(folder, 0, kind).write_bytes(bytes(800))
    scan = octavo.scan(folder, on_damage="skip")
    assert [record.offset for record in scan] == [*range(50), *range(70, 100)]
    assert [str(note) for note in scan.notes] == [
        f"{log}: position {5 * len(TEN[0])}: bytes that are not a batch after offset 49, "
        "expected batches up to offset 99; skipped"
    ]
    assert scan.damage_count == 1


def test_a_batch_that_is_being_written_into_a_preallocated_file_is_not_damage(folder: Path) -> None:
    half = TEN[9][:200] + bytes(len(TEN[9]) - 200 + 900)
    log = write_segment(folder, 0, *TEN[:9], closed=False, tail=half)
    whole = b"".join(TEN) + bytes(900)

    def write_on(_: float) -> None:
        log.write_bytes(whole)

    files = read_directory(locate(folder)).partitions[ORDERS]
    found = take_snapshot(files, WriterPatience(ManualClock(0), write_on))
    assert (found.log_end_offset, found.notes) == (100, ())


def test_the_zeros_of_a_preallocated_file_are_not_read(folder: Path) -> None:
    log = write_segment(folder, 0, *TEN, closed=False)
    with log.open("r+b") as file:
        file.truncate(1 << 30)
    read: list[int] = []
    files = read_directory(Counting.locate(folder, read)).partitions[ORDERS]
    found = take_snapshot(files)
    assert found.tail is not None
    assert (found.log_end_offset, found.tail.zeros) == (100, True)
    assert sum(read) < 20 << 20


def test_a_damaged_batch_before_a_sound_one_does_not_end_the_log(folder: Path) -> None:
    damaged = TEN[8][:40] + b"\x00\x01" + TEN[8][42:]
    write_segment(folder, 0, *TEN[:8], damaged, TEN[9], closed=False)
    assert snapshot(folder).log_end_offset == 100


def test_the_end_counts_offsets_that_compaction_left_without_a_record(folder: Path) -> None:
    # F14 C7
    emptied = empty_batch(read_header(TEN[9]))
    write_segment(folder, 0, *TEN[:3], TEN[6], emptied, closed=False)
    assert snapshot(folder).log_end_offset == 100
    assert offsets(folder) == [*range(30), *range(60, 70)]


INDEXES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda entries: None,
    "empty": lambda entries: b"",
    "all zeros": lambda entries: bytes(8192),
    "zero tail": lambda entries: entries + bytes(80_000),
    "cut": lambda entries: entries[:-3],
    "beyond the file": lambda entries: entries + offset_index.encode([99], [10_000_000], 0),
    "inside a batch": lambda entries: entries + offset_index.encode([99], [9 * len(TEN[0]) + 1], 0),
    "too far": lambda entries: offset_index.encode([5, 99], [5 * len(TEN[0]), 8 * len(TEN[0])], 0),
    "backwards": lambda entries: b"".join(entries[at : at + 8] for at in range(len(entries) - 8, -1, -8)),
    "negative": lambda entries: b"\xff" * 16,
    "garbage": lambda entries: bytes(range(1, 81)),
}


@pytest.mark.parametrize("damage", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("from_offset", [0, 35, 99])
def test_index_entries_are_hints(folder: Path, damage: Callable[[bytes], bytes | None], from_offset: int) -> None:
    write_segment(folder, 0, *TEN)
    index = path(folder, 0, FileKind.OFFSET_INDEX)
    content = damage(index.read_bytes())
    index.unlink() if content is None else index.write_bytes(content)
    assert snapshot(folder).log_end_offset == 100
    assert offsets(folder, from_offset=from_offset, split_bytes=2000) == list(range(from_offset, 100))
    assert offsets(folder, to_offset=from_offset) == list(range(from_offset))


def test_the_end_of_a_large_index_is_found_without_reading_it(folder: Path) -> None:
    write_segment(folder, 0, *TEN, closed=False)
    index = path(folder, 0, FileKind.OFFSET_INDEX)
    with index.open("r+b") as file:
        file.truncate(10 << 20)
    read: list[int] = []
    files = read_directory(Counting.locate(folder, read)).partitions[ORDERS]
    assert take_snapshot(files).log_end_offset == 100
    assert sum(read) < 100_000


class Counting:
    """A file system that counts how many bytes were requested."""

    @staticmethod
    def locate(folder: Path, read: list[int]) -> Location:
        class CountingFile(LocalReadableFile):
            def pread(self, buffer: memoryview, position: int, /) -> int:
                read.append(len(buffer))
                return super().pread(buffer, position)

        class CountingFileSystem(LocalReadableFileSystem):
            def open(self, path: str, /) -> LocalReadableFile:
                return CountingFile(path)

        return Location(CountingFileSystem(), str(folder))


def compact(folder: Path, base_offset: int, *batches: bytes, suffix: str) -> None:
    """A segment's files as compaction leaves them, with a suffix."""
    log = write_segment(folder / "new", base_offset, *batches)
    for file in log.parent.iterdir():
        file.rename(folder / f"{file.name}{suffix}")
    log.parent.rmdir()


def test_a_swap_file_takes_the_place_of_the_segments_that_it_was_made_from(folder: Path) -> None:
    # C13
    for number in (0, 3, 6, 9):
        write_segment(folder, 10 * number, *TEN[number : number + 3])
    compact(folder, 0, TEN[1], TEN[4], empty_batch(read_header(TEN[5])), suffix=".swap")
    found = snapshot(folder)
    assert [segment.name() for segment in found.segments] == [
        f"{0:020}.log.swap", f"{60:020}.log", f"{90:020}.log",
    ]  # fmt: skip
    assert offsets(folder) == [*range(10, 20), *range(40, 50), *range(60, 100)]
    assert offsets(folder, from_offset=45, to_offset=65, split_bytes=300) == [*range(45, 50), *range(60, 65)]


def test_a_swap_file_of_an_unfinished_split_does_not_count(folder: Path) -> None:
    write_segment(folder, 0, *TEN)
    compact(folder, 50, *TEN[5:], suffix=".swap")
    compact(folder, 0, *TEN[:2], suffix=".cleaned")
    files = read_directory(locate(folder)).partitions[ORDERS]
    assert effective_segments(files) == files.segments
    assert offsets(folder) == list(range(100))


def test_files_that_go_away_are_looked_for_in_a_new_listing(folder: Path) -> None:
    write_segment(folder, 0, *TEN[:5])
    write_segment(folder, 50, *TEN[5:], closed=False)
    files = read_directory(locate(folder)).partitions[ORDERS]
    for file in folder.glob(f"{50:020}.*"):
        file.unlink()
    write_segment(folder, 0, *TEN, closed=False)
    assert take_snapshot(files).log_end_offset == 100


def test_a_folder_that_goes_away_is_an_error_of_one_sentence(folder: Path) -> None:
    write_segment(folder, 0, *TEN)
    files = read_directory(locate(folder)).partitions[ORDERS]
    folder.rename(folder.with_name("orders-0.0123-delete"))
    with pytest.raises(ScanError, match="orders-0: deleted or renamed while it was read"):
        take_snapshot(files)


def test_a_file_that_goes_away_each_time_ends_the_search(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_segment(folder, 0, *TEN)
    files = read_directory(locate(folder)).partitions[ORDERS]
    monkeypatch.setattr("octavo.scanner.partition.snapshot.relisted", lambda _: files)
    (folder / f"{0:020}.log").unlink()
    with pytest.raises(
        ScanError, match=r"orders-0: .*\.log.* disappeared while it was read, and 6 new listings did not help"
    ):
        take_snapshot(files)


def test_a_cleaner_that_never_rests_is_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time a file is gone, the next listing shows another one."""
    write_segment(folder, 0, *TEN)
    files = read_directory(locate(folder)).partitions[ORDERS]
    listings = iter([replace(files, others={f"{number}": FileStat(0, 0)}) for number in range(40)])
    monkeypatch.setattr("octavo.scanner.partition.snapshot.relisted", lambda _: next(listings))

    def look(listed: PartitionFiles) -> str:
        if "39" not in listed.others:
            raise FileNotFoundError(2, "gone", "x.log")
        return "found"

    assert retrying(files, look) == "found"


def test_retries_end_at_a_deadline_or_when_nothing_changes() -> None:
    clock = iter([0, 10, 20, 29, 31])
    retries = ListingRetries(30, lambda: next(clock))
    assert [retries.goes_on(number) for number in range(4)] == [True, True, True, False]
    still = ListingRetries(30, lambda: 0)
    assert [still.goes_on("same") for _ in range(6)] == [True] * 5 + [False]


def test_an_old_name_of_a_deleted_file_is_followed(folder: Path) -> None:
    # C4
    write_segment(folder, 0, *TEN)
    files = read_directory(locate(folder)).partitions[ORDERS]
    (folder / f"{0:020}.log").rename(folder / f"{0:020}.log.deleted")
    assert take_snapshot(files).log_end_offset == 100
