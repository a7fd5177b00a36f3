"""Index files: pre-sized while written, trimmed when done, read back, cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from octavo.errors import CorruptionError
from octavo.format.indexes import offset_index as format_offset_index
from octavo.format.indexes import time_index as format_time_index
from octavo.format.indexes.offset_index import OffsetPosition
from octavo.format.indexes.time_index import TimestampOffset
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.segment.index_file import OffsetIndexFile, TimeIndexFile
from octavo.storage.segment.txn_index_file import TxnIndexFile
from octavo.system.filesystem import LocalFileSystem

FILES = LocalFileSystem()


def offset_index(folder: Path, max_bytes: int = 67, base_offset: int = 10) -> OffsetIndexFile:
    return OffsetIndexFile(FILES, folder / "00000000000000000010.index", base_offset, max_bytes)


def time_index(folder: Path, max_bytes: int = 67, base_offset: int = 10) -> TimeIndexFile:
    return TimeIndexFile(FILES, folder / "00000000000000000010.timeindex", base_offset, max_bytes)


def extend(index: OffsetIndexFile, offsets: Sequence[int], positions: Sequence[int]) -> None:
    index.append(format_offset_index.encode(offsets, positions, index.base_offset))


def extend_times(index: TimeIndexFile, timestamps: Sequence[int], offsets: Sequence[int]) -> None:
    index.append(format_time_index.encode(timestamps, offsets, index.base_offset))


# I6: preallocated to whole entries (67 → 64 and 60), cut to the real size when done
def test_files_are_pre_sized_and_trimmed(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path), time_index(tmp_path)
    extend(offsets, [12, 15], [100, 200])
    extend_times(times, [1000], [12])
    assert (offsets.path.stat().st_size, times.path.stat().st_size) == (64, 60)
    offsets.trim()
    times.trim()
    assert offsets.path.read_bytes() == bytes.fromhex("00000002 00000064 00000005 000000c8")
    assert times.path.read_bytes() == bytes.fromhex("00000000000003e8 00000002")


def test_an_entry_of_zeros_is_still_an_entry_when_the_file_is_opened_again(tmp_path: Path) -> None:
    """Timestamp 0 at the base offset, the only entry that looks like an unused slot."""
    times = time_index(tmp_path)
    extend_times(times, [0], [10])
    times.trim()
    again = time_index(tmp_path)
    assert (len(again), again.last()) == (1, TimestampOffset(0, 10))
    again.append(format_time_index.encode([5], [12], 10))
    again.trim()
    assert list(time_index(tmp_path)._index()) == [(0, 10), (5, 12)]


def test_an_index_is_full_when_no_slot_is_left_and_a_time_index_when_one_is(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path), time_index(tmp_path)
    extend(offsets, range(11, 18), range(7))
    assert offsets.room == 1
    extend(offsets, [20], [900])
    assert offsets.room == 0
    extend_times(times, [1, 2, 3], [11, 12, 13])
    assert times.room == 1
    extend_times(times, [4], [14])
    assert times.room == 0
    assert times.maybe_append(TimestampOffset(5, 15))  # the slot reserved for the closing entry
    assert len(times) == 5


def test_lookup_before_between_and_after_the_entries(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path), time_index(tmp_path)
    assert offsets.lookup(17) == OffsetPosition(10, 0)
    assert times.lookup(1000) == TimestampOffset(-1, 10)
    extend(offsets, [12, 15], [100, 200])
    extend_times(times, [1000, 2000], [12, 15])
    assert offsets.lookup(11) == OffsetPosition(10, 0)
    assert offsets.lookup(14) == OffsetPosition(12, 100)
    assert offsets.lookup(99) == OffsetPosition(15, 200)
    assert offsets.upper_bound(101) == OffsetPosition(15, 200)
    assert offsets.upper_bound(201) is None
    assert times.lookup(1999) == TimestampOffset(1000, 12)
    assert (offsets.last(), times.last()) == (OffsetPosition(15, 200), TimestampOffset(2000, 15))


def test_file_that_was_never_trimmed_shows_its_entries_only(tmp_path: Path) -> None:
    extend(offset_index(tmp_path), [12, 15], [100, 200])
    reopened = offset_index(tmp_path)
    assert (len(reopened), reopened.last()) == (2, OffsetPosition(15, 200))
    extend(reopened, [18], [300])
    assert len(offset_index(tmp_path)) == 3


def test_trimmed_file_grows_again_for_the_next_entry(tmp_path: Path) -> None:
    offsets = offset_index(tmp_path)
    extend(offsets, [12], [100])
    offsets.trim()
    offsets.release()
    extend(offsets, [15], [200])
    assert offsets.path.stat().st_size == 64
    assert offsets.lookup(20) == OffsetPosition(15, 200)


def test_truncation_drops_entries_from_the_offset_on(tmp_path: Path) -> None:
    offsets, times = offset_index(tmp_path), time_index(tmp_path)
    extend(offsets, [12, 15, 18], [100, 200, 300])
    extend_times(times, [1, 2, 3], [12, 15, 18])
    offsets.truncate_to(15)
    times.truncate_to(16)
    assert (len(offsets), offsets.last()) == (1, OffsetPosition(12, 100))
    assert (len(times), times.last()) == (2, TimestampOffset(2, 15))
    assert len(offset_index(tmp_path)) == 1  # a crash does not bring the others back
    offsets.reset()
    assert (len(offsets), offsets.path.stat().st_size) == (0, 0)


def test_closing_entry_needs_a_larger_timestamp(tmp_path: Path) -> None:
    times = time_index(tmp_path)
    assert not times.maybe_append(TimestampOffset(-1, 10))
    assert times.maybe_append(TimestampOffset(7, 11))
    assert not times.maybe_append(TimestampOffset(7, 12))


def test_trim_creates_a_missing_file(tmp_path: Path) -> None:
    offsets = offset_index(tmp_path)
    assert not offsets.path.exists()
    offsets.trim()
    assert offsets.path.stat().st_size == 0


def test_rename_and_unlink_skip_a_missing_file(tmp_path: Path) -> None:
    offsets = offset_index(tmp_path)
    offsets.rename(tmp_path / "gone")
    offsets.unlink()
    extend(offsets, [12], [100])
    offsets.rename(tmp_path / "00000000000000000010.index.deleted")
    assert offsets.lookup(12) == OffsetPosition(12, 100)
    offsets.unlink()
    assert list(tmp_path.iterdir()) == []


class TestTransactions:
    def index(self, folder: Path) -> TxnIndexFile:
        return TxnIndexFile(FILES, folder / "00000000000000000010.txnindex", 10)

    def test_there_is_no_file_before_the_first_transaction(self, tmp_path: Path) -> None:
        index = self.index(tmp_path)
        index.flush()
        index.truncate_to(10)
        assert index.aborted() == []
        assert not index.path.exists()

    def test_entries_are_appended_in_order_and_truncated(self, tmp_path: Path) -> None:
        index = self.index(tmp_path)
        first, second = AbortedTxn(1, 10, 20, 21), AbortedTxn(2, 15, 30, 31)
        index.append(first)
        index.append(second)
        assert self.index(tmp_path).aborted() == [first, second]
        index.truncate_to(30)
        assert index.aborted() == [first]
        with pytest.raises(CorruptionError, match="expected an offset after 20"):
            index.append(AbortedTxn(3, 11, 20, 21))

    def test_entry_that_a_crash_cut_is_overwritten(self, tmp_path: Path) -> None:
        index = self.index(tmp_path)
        index.append(AbortedTxn(1, 10, 20, 21))
        index.path.write_bytes(index.path.read_bytes() + b"\0\0\0")
        index.append(AbortedTxn(2, 15, 30, 31))
        assert len(index.aborted()) == 2
        assert index.path.stat().st_size == 68

    def test_newer_version_is_refused_with_its_place(self, tmp_path: Path) -> None:
        index = self.index(tmp_path)
        index.path.write_bytes(b"\1" + bytes(33))
        with pytest.raises(CorruptionError, match=r"txnindex, position 0: .*version 1"):
            index.aborted()
