"""Lookups by offset and by time, and the steps they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.format.indexes.offset_index import OffsetPosition
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind, TopicPartition
from octavo.format.record import Record
from octavo.scanner.findings import Note
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.lookup.lookup import NOT_FOUND, LookupResult, find_offset, find_timestamp, max_so_far
from octavo.scanner.lookup.times import first_offset_from
from octavo.scanner.partition.snapshot import PartitionSnapshot, take_snapshot
from octavo.scanner.partition.transactions import read_transactions
from tests.golden.archives import records, unpack
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

TEN = 10


def snapshot_of(folder: Path) -> PartitionSnapshot:
    (files,) = open_log_dirs(folder).partitions.values()
    return take_snapshot(files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def test_an_offset_is_found_through_the_index(folder: Path) -> None:  # I4
    batches = [batch(number, timestamp=1000 + number) for number in range(TEN)]
    write_segment(folder, 0, *batches)
    size = len(batches[0])
    found = find_offset(snapshot_of(folder), 5, TEN)
    # There are entries for 2, 4, 6 and 8 (two batches are more than 200 bytes); the one for 4 is the last up to 5.
    assert found == LookupResult(
        5, 1005, snapshot_of(folder).segments[0], None, OffsetPosition(4, 4 * size), 4 * size, 5 * size
    )


def test_a_time_is_found_through_both_indexes(folder: Path) -> None:  # I7
    batches = [batch(number, timestamp=1000 + number) for number in range(TEN)]
    write_segment(folder, 0, *batches)
    size = len(batches[0])
    found = find_timestamp(snapshot_of(folder), 1007, TEN)
    assert (found.offset, found.timestamp) == (7, 1007)
    assert found.time_index_entry == TimestampOffset(1006, 6)
    assert found.offset_index_entry == OffsetPosition(6, 6 * size)
    assert (found.start_position, found.batch_position) == (6 * size, 7 * size)


def test_a_time_inside_a_batch_is_found(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 5, timestamp=10), batch(5, 5, timestamp=20))
    found = find_timestamp(snapshot_of(folder), 12, TEN)
    assert (found.offset, found.timestamp, found.batch_position) == (2, 12, 0)
    assert find_timestamp(snapshot_of(folder), 15, TEN).offset == 5
    assert find_timestamp(snapshot_of(folder), 25, TEN) == LookupResult()


def test_timestamp_0_is_found_alone_in_a_segment(folder: Path) -> None:
    """The entry in the segment's time index is all zeros, like unused ones; Kafka finds the same offsets."""
    for offset, timestamp in enumerate((0, 1000, 2000)):
        write_segment(folder, offset, batch(offset, timestamp=timestamp))
    snapshot = snapshot_of(folder)
    assert [find_timestamp(snapshot, timestamp, 3).offset for timestamp in (0, 1, 500, 2000)] == [0, 1, 1, 2]
    assert [first_offset_from(snapshot, timestamp, []) for timestamp in (0, 1, 500, 2000)] == [0, 1, 1, 2]
    assert find_timestamp(snapshot, 0, 3).time_index_entry == TimestampOffset(0, 0)


def test_only_the_first_segment_that_can_have_the_time_is_searched(folder: Path) -> None:
    # Nothing is read below the log start, and Kafka does not try a second segment then.
    write_segment(folder, 0, batch(0, timestamp=50), batch(1, timestamp=20))
    write_segment(folder, 2, batch(2, timestamp=60))
    folder.parent.joinpath("log-start-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    (files,) = open_log_dirs(folder.parent).partitions.values()
    snapshot = take_snapshot(files)
    assert snapshot.log_start_offset == 1
    assert find_timestamp(snapshot, 30, 3).offset == NOT_FOUND
    assert find_timestamp(snapshot, 55, 3).offset == 2


def test_the_gaps_of_compaction_are_skipped(folder: Path) -> None:
    write_segment(folder, 0, batch(0), batch(7))
    write_segment(folder, 20, batch(25))
    snapshot = snapshot_of(folder)
    assert [find_offset(snapshot, offset, 26).offset for offset in (0, 1, 7, 8, 24, 25)] == [0, 7, 7, 25, 25, 25]
    assert find_offset(snapshot, 26, 26) == LookupResult()
    assert find_offset(snapshot, 8, 20).offset == NOT_FOUND


def test_an_offset_below_the_log_start_is_looked_for_from_there_on(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 10, timestamp=5))
    folder.parent.joinpath("log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    snapshot = snapshot_of(folder)
    found = find_offset(snapshot, 3, 10)
    said = Note(str(folder), "offset 3 is below the log start offset; looking from 7 on")
    assert (found.offset, found.batch_position, found.notes) == (7, 0, (said,))
    assert find_offset(snapshot, 7, 10).notes == ()
    nothing = find_offset(snapshot, 3, 7)
    assert (nothing.offset, nothing.notes) == (NOT_FOUND, (said,))


def test_special_timestamps_name_the_ends_and_the_largest_time(folder: Path) -> None:
    write_segment(folder, 3, batch(3, timestamp=70), batch(4, 2, timestamp=69))
    write_segment(folder, 6, batch(6, timestamp=70))
    snapshot = snapshot_of(folder)
    assert find_timestamp(snapshot, -1, 7).offset == 7
    assert find_timestamp(snapshot, -1, 5).offset == 5
    assert find_timestamp(snapshot, -2, 7).offset == 3
    largest = find_timestamp(snapshot, -3, 7)
    assert (largest.offset, largest.timestamp) == (3, 70)
    assert find_timestamp(snapshot, -3, 3).offset == NOT_FOUND


@pytest.mark.parametrize(("first", "found"), [(2, 0), (0, NOT_FOUND)])
def test_the_largest_time_may_be_that_of_records_without_one_unless_their_magic_is_0(
    folder: Path, first: int, found: int
) -> None:
    old = encode_message_set([Record(0, -1, None, b"old")], 0)
    write_segment(folder, 0, old if first == 0 else batch(0, timestamp=-1), batch(1, timestamp=-1))
    assert find_timestamp(snapshot_of(folder), -3, 2).offset == found


def test_an_empty_log_has_its_ends_but_no_record(folder: Path) -> None:
    write_segment(folder, 4)
    snapshot = snapshot_of(folder)
    assert [find_timestamp(snapshot, timestamp, 4).offset for timestamp in (-1, -2, -3, 0)] == [4, 4, -1, -1]
    assert find_offset(snapshot, 4, 4).offset == NOT_FOUND


def test_the_largest_timestamp_of_a_segment_that_is_still_written_is_found(folder: Path) -> None:
    batches = [batch(number, timestamp=1000 + number) for number in range(TEN)]
    write_segment(folder, 0, *batches, closed=False, tail=batch(10)[:50])
    snapshot = snapshot_of(folder)
    assert max_so_far(snapshot, 0) == TimestampOffset(1009, 9)
    assert find_timestamp(snapshot, 1009, TEN).offset == 9
    assert find_timestamp(snapshot, -3, TEN).offset == 9


def test_a_damaged_index_is_a_note_and_not_an_obstacle(folder: Path) -> None:
    batches = [batch(number, timestamp=1000 + number) for number in range(TEN)]
    write_segment(folder, 0, *batches)
    index = path(folder, 0, FileKind.OFFSET_INDEX)
    content = bytearray(index.read_bytes())
    content[15] += 1
    index.write_bytes(content)
    found = find_offset(snapshot_of(folder), 5, TEN)
    assert (found.offset, found.start_position, len(found.notes)) == (5, 0, 1)
    assert str(found.notes[0]).startswith(f"{index}: no sound batch at position ")


@pytest.mark.parametrize("name", ["v431-clean", "v431-killed", "upgrade-mixed", "v01022"])
def test_every_record_is_found_by_its_offset(name: str) -> None:
    expected: dict[TopicPartition, dict[int, int]] = {}
    for row in records(name):
        if row.get("isolation", "read_uncommitted") == "read_uncommitted":
            known = expected.setdefault(TopicPartition(row["topic"], row["partition"]), {})
            known[row["offset"]] = row.get("timestamp", -1)
    partitions = open_log_dirs(unpack(name), expected.__contains__).partitions
    for topic_partition, by_offset in expected.items():
        snapshot = take_snapshot(partitions[topic_partition])
        for offset in list(by_offset)[:: len(by_offset) // 20 + 1]:
            found = find_offset(snapshot, offset, snapshot.log_end_offset)
            assert (found.offset, found.timestamp) == (offset, by_offset[offset])


def test_offsets_of_the_published_experiment_are_found() -> None:  # I8
    snapshot = snapshot_of(next(unpack("seed-004-log-format").glob("*-1")))
    assert [segment.base_offset for segment in snapshot.segments] == [0, 93, 184]
    assert find_offset(snapshot, 85, snapshot.log_end_offset).offset_index_entry == OffsetPosition(80, 4384)
    assert find_offset(snapshot, 100, snapshot.log_end_offset).offset_index_entry is None
    last = find_offset(snapshot, 184, snapshot.log_end_offset)
    assert (last.offset, last.offset_index_entry, last.batch_position) == (184, None, 0)


def test_read_committed_ends_at_an_open_transaction() -> None:
    partitions = open_log_dirs(unpack("v431-clean")).partitions
    held_back = 0
    for files in partitions.values():
        snapshot = take_snapshot(files)
        stable = read_transactions(snapshot).last_stable_offset
        if stable < snapshot.log_end_offset:
            held_back += 1
            assert find_offset(snapshot, stable, stable).offset == NOT_FOUND
            assert find_offset(snapshot, stable, snapshot.log_end_offset).offset == stable
    assert held_back
