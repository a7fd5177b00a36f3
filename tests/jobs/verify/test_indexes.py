"""Offset index and time index compared with the log: what any version of Kafka wrote is sound, anything else is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.format.compression import Codec
from octavo.format.indexes import offset_index, time_index
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Record
from octavo.jobs.verify.finding import FindingKind, Severity
from tests.jobs.verify.verified import findings_of, shown
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

# Ten batches of three records, timestamps 100 apart.
BATCHES = [batch(3 * number, 3, timestamp=1000 + 100 * number) for number in range(10)]
SIZE = len(BATCHES[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *BATCHES)
    return tmp_path / "orders-0"


def write_offsets(folder: Path, *entries: tuple[int, int]) -> None:
    content = offset_index.encode([offset for offset, _ in entries], [position for _, position in entries], 0)
    path(folder, 0, FileKind.OFFSET_INDEX).write_bytes(content)


def write_times(folder: Path, *entries: tuple[int, int]) -> None:
    content = time_index.encode([timestamp for timestamp, _ in entries], [offset for _, offset in entries], 0)
    path(folder, 0, FileKind.TIME_INDEX).write_bytes(content)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [(8, 2 * SIZE), (17, 5 * SIZE)],  # the last offset of the batch
        [(6, 2 * SIZE), (15, 5 * SIZE)],  # its first one: up to 1.1
        [(14, 2 * SIZE), (29, 5 * SIZE)],  # the last of an append of three and of five batches: up to 4.0.0
        [(6, 2 * SIZE), (20, 5 * SIZE)],  # both: a broker was upgraded
    ],
)
def test_sound_offset_entries_give_no_finding(folder: Path, entries: list[tuple[int, int]]) -> None:
    write_offsets(folder, *entries)
    indexed = sorted({offset // 3 for offset, _ in entries} | {9})
    write_times(folder, *((1002 + 100 * number, 3 * number + 2) for number in indexed))
    assert findings_of(folder) == []


@pytest.mark.parametrize(
    ("entries", "slot", "problem"),
    [
        ([(7, 2 * SIZE)], 0, FindingKind.WRONG_ENTRY),  # inside the batch
        ([(5, 2 * SIZE)], 0, FindingKind.WRONG_ENTRY),  # before it
        ([(8, 2 * SIZE + 1)], 0, FindingKind.WRONG_ENTRY),  # no batch begins there
        ([(8, 11 * SIZE)], 0, FindingKind.WRONG_ENTRY),  # past the end of the log
        ([(30, 2 * SIZE)], 0, FindingKind.WRONG_ENTRY),  # no such offset
        ([(17, 2 * SIZE), (20, 5 * SIZE)], 0, FindingKind.WRONG_ENTRY),  # an append that reaches past the next entry
        ([(8, 2 * SIZE), (8, 2 * SIZE)], 1, FindingKind.ENTRY_ORDER),
        ([(17, 5 * SIZE), (8, 2 * SIZE)], 1, FindingKind.ENTRY_ORDER),
        ([(8, 5 * SIZE), (17, 2 * SIZE)], 1, FindingKind.ENTRY_ORDER),
        ([(8, 2 * SIZE), (11, 2 * SIZE)], 1, FindingKind.ENTRY_ORDER),
    ],
)
def test_wrong_offset_entries_are_found(
    folder: Path, entries: list[tuple[int, int]], slot: int, problem: FindingKind
) -> None:
    write_offsets(folder, *entries)
    found = shown(findings_of(folder))
    assert (f"{0:020}.index", 8 * slot, problem, Severity.PROBLEM) in found
    assert all(line[0] == f"{0:020}.index" for line in found)


@pytest.mark.parametrize(
    "entries",
    [
        [(1902, 29)],
        [(1202, 8), (1902, 29)],  # the largest of a batch and its last offset
    ],
)
def test_sound_time_entries_give_no_finding(folder: Path, entries: list[tuple[int, int]]) -> None:
    write_times(folder, *entries)
    assert findings_of(folder) == []


@pytest.mark.parametrize(
    ("entries", "slot", "problem"),
    [
        ([(1203, 8), (1902, 29)], 0, FindingKind.WRONG_ENTRY),
        ([(1202, 7), (1902, 29)], 0, FindingKind.WRONG_ENTRY),
        ([(1201, 7), (1902, 29)], 0, FindingKind.WRONG_ENTRY),  # a record without its batch's largest timestamp
        ([], 0, FindingKind.MISSING_ENTRY),  # as a broker creates it if it was lost: lookups miss the segment
        ([(1902, 30)], 0, FindingKind.WRONG_ENTRY),
        ([(1202, 8), (1202, 8), (1902, 29)], 1, FindingKind.ENTRY_ORDER),
        ([(1302, 11), (1202, 8), (1902, 29)], 1, FindingKind.ENTRY_ORDER),
        ([(1202, 8), (1802, 26)], 2, FindingKind.MISSING_ENTRY),  # closed without its largest timestamp
    ],
)
def test_wrong_time_entries_are_found(
    folder: Path, entries: list[tuple[int, int]], slot: int, problem: FindingKind
) -> None:
    write_times(folder, *entries)
    found = shown(findings_of(folder))
    assert (f"{0:020}.timeindex", 12 * slot, problem, Severity.PROBLEM) in found
    assert all(line[0] == f"{0:020}.timeindex" for line in found)


def test_the_last_segment_need_not_name_its_largest_timestamp_before_it_is_closed(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES, closed=False)
    path(folder, 0, FileKind.TIME_INDEX).write_bytes(time_index.encode([1202], [8], 0) + bytes(120))
    found = findings_of(folder.parent)
    assert {(line.problem, line.severity) for line in found} == {(FindingKind.ZERO_ENTRIES, Severity.INFO)}


def test_a_closed_segment_must_name_its_largest_timestamp(folder: Path) -> None:
    write_times(folder, (1202, 8))
    write_segment(folder, 30, batch(30))
    assert (f"{0:020}.timeindex", 12, FindingKind.MISSING_ENTRY, Severity.PROBLEM) in shown(findings_of(folder.parent))


@pytest.mark.parametrize(("kind", "cut"), [(FileKind.OFFSET_INDEX, 3), (FileKind.TIME_INDEX, 5)])
def test_a_cut_entry_is_found(folder: Path, kind: FileKind, cut: int) -> None:
    file = path(folder, 0, kind)
    content = file.read_bytes()
    file.write_bytes(content[:-cut])
    entry = 8 if kind is FileKind.OFFSET_INDEX else 12
    assert (file.name, len(content) - entry, FindingKind.PARTIAL_ENTRY, Severity.PROBLEM) in shown(findings_of(folder))


def test_an_entry_after_unused_ones_is_found(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES, closed=False)
    file = path(folder, 0, FileKind.OFFSET_INDEX)
    content = bytearray(file.read_bytes())
    content[8 * 40 + 7] = 1
    file.write_bytes(content)
    assert (file.name, 8 * 40, FindingKind.ENTRY_ORDER, Severity.PROBLEM) in shown(findings_of(folder.parent))


def test_a_segment_whose_only_timestamp_is_0_is_sound(tmp_path: Path) -> None:
    folder = tmp_path / "zero-0"
    write_segment(folder, 7, batch(7, timestamp=0))
    assert path(folder, 7, FileKind.TIME_INDEX).read_bytes() == bytes(12)
    assert findings_of(folder) == []


def test_after_a_down_conversion_a_timestamp_may_be_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "old-0"
    records = [Record(offset, 0, b"k", b"v") for offset in range(4)]
    write_segment(folder, 0, encode_message_set(records, 0), interval_bytes=50)
    path(folder, 0, FileKind.TIME_INDEX).write_bytes(time_index.encode([777], [2], 0))
    assert findings_of(folder) == []
    path(folder, 0, FileKind.TIME_INDEX).write_bytes(time_index.encode([777], [9], 0))
    assert findings_of(folder) != []


def test_wrappers_are_opened_for_their_first_offset(tmp_path: Path) -> None:
    folder = tmp_path / "old-0"
    sets = [
        encode_message_set([Record(first + n, 10 + first + n, b"k", b"v") for n in range(3)], 1, codec=Codec.GZIP)
        for first in (0, 3, 6)
    ]
    write_segment(folder, 0, *sets, interval_bytes=1)
    write_offsets(folder, (3, len(sets[0])))
    assert findings_of(folder) == []
    write_offsets(folder, (4, len(sets[0])))
    assert shown(findings_of(folder)) == [(f"{0:020}.index", 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_entries_of_damaged_batches_are_left_alone(folder: Path) -> None:
    log = path(folder, 0, FileKind.LOG)
    content = bytearray(log.read_bytes())
    content[2 * SIZE + 70] ^= 1
    log.write_bytes(content)
    write_offsets(folder, (8, 2 * SIZE), (17, 5 * SIZE))
    write_times(folder, (1202, 8), (1902, 29))
    assert shown(findings_of(folder)) == [(log.name, 2 * SIZE, FindingKind.CRC_MISMATCH, Severity.PROBLEM)]


def test_a_missing_offset_index_before_the_last_segment_is_found(folder: Path) -> None:
    write_segment(folder, 30, batch(30))
    path(folder, 0, FileKind.OFFSET_INDEX).unlink()
    path(folder, 30, FileKind.OFFSET_INDEX).unlink()  # a broker creates it when it is first needed
    assert shown(findings_of(folder)) == [(f"{0:020}.index", None, FindingKind.MISSING_FILE, Severity.PROBLEM)]
