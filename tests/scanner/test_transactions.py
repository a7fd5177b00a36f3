"""The last stable offset and the aborted transactions: from snapshot, index and replay."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.format.batches.batch import Origin, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import FileKind, TopicPartition
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.scanner.partition.snapshot import take_snapshot
from octavo.scanner.partition.transactions import PartitionTransactions, read_transactions
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.location import locate
from tests.format.exact_batches import empty_batch
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

ORDERS = TopicPartition("orders", 0)


def data(offset: int, producer_id: int, count: int = 5) -> bytes:
    origin = Origin(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    return batch(offset, count, origin=origin)


def end(offset: int, producer_id: int, control_type: ControlType) -> bytes:
    marker = EndTransactionMarker(control_type, 0)
    return build_marker_batch(marker, offset=offset, timestamp=5000, producer_id=producer_id, producer_epoch=0)


def abort(offset: int, producer_id: int) -> bytes:
    return end(offset, producer_id, ControlType.ABORT)


def commit(offset: int, producer_id: int) -> bytes:
    return end(offset, producer_id, ControlType.COMMIT)


def producers(open_transactions: dict[int, int]) -> bytes:
    return producer_snapshot.encode(
        [ProducerEntry(number, 0, 4, 4, 4, 1000, 0, first) for number, first in open_transactions.items()]
    )


def transactions(folder: Path) -> PartitionTransactions:
    return read_transactions(take_snapshot(read_directory(locate(folder)).partitions[ORDERS]))


def committed(folder: Path) -> list[int]:
    return [record.offset for record in octavo.scan(folder, isolation_level="read_committed")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "orders-0"


def test_without_transactions_all_is_stable(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 5), batch(5, 5))
    assert transactions(folder) == PartitionTransactions(10, ())
    assert committed(folder) == list(range(10))


def test_an_open_transaction_holds_the_last_stable_offset_back(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 5), data(5, 1), batch(10, 5), data(15, 2), commit(20, 2))
    assert transactions(folder) == PartitionTransactions(5, (), open=((1, 5),))
    assert committed(folder) == list(range(5))
    assert [record.offset for record in octavo.scan(folder)] == list(range(20))


def test_a_transaction_that_may_have_ended_in_damage_is_reported(folder: Path) -> None:
    damaged = bytearray(commit(10, 1))
    damaged[-1] ^= 1
    write_segment(folder, 0, batch(0, 5), data(5, 1), bytes(damaged), batch(11, 5))
    (note,) = transactions(folder).notes
    assert note.is_damage
    assert note.sentence == "a transaction that seems open at offset 5 may have ended where the log is damaged"
    scan = octavo.scan(folder, isolation_level="read_committed", on_damage="skip")
    assert [record.offset for record in scan] == list(range(5))
    assert scan.damage_count == 1


def test_records_of_aborted_transactions_are_left_out(folder: Path) -> None:
    # F5 T4
    first = data(0, 1), data(5, 2), abort(10, 1)
    write_segment(folder, 0, *first, data(11, 1), commit(16, 1), commit(17, 2), data(18, 1), abort(23, 1))
    found = transactions(folder)
    assert found.last_stable_offset == 24
    assert found.aborted == (AbortedTxn(1, 0, 10, 5), AbortedTxn(1, 18, 23, 24))
    assert committed(folder) == [*range(5, 10), *range(11, 16)]
    for split_bytes in (100, 400, 900):
        scan = octavo.scan(folder, isolation_level="read_committed", split_bytes=split_bytes)
        assert [record.offset for record in scan] == [*range(5, 10), *range(11, 16)]


def test_what_the_snapshot_and_the_index_say_is_not_replayed(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), data(5, 2))
    write_segment(folder, 10, abort(10, 1), data(11, 3), closed=False)
    (folder / f"{10:020}.snapshot").write_bytes(producers({1: 0, 2: 5, 4: -1}))
    path(folder, 0, FileKind.LOG).write_bytes(bytes(path(folder, 0, FileKind.LOG).stat().st_size))  # unreadable
    found = transactions(folder)
    assert found.last_stable_offset == 5
    assert found.aborted == (AbortedTxn(1, 0, 10, 5),)


def test_an_entry_of_the_index_counts_where_the_replay_does_not_reach(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), abort(5, 1))
    write_segment(folder, 6, batch(6, 4), closed=False)
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode([AbortedTxn(1, 0, 5, 6)]) + b"cut")
    (folder / f"{6:020}.snapshot").write_bytes(producers({}))
    assert transactions(folder)[:2] == (10, (AbortedTxn(1, 0, 5, 6),))
    assert committed(folder) == list(range(6, 10))


def test_a_marker_counts_before_its_index_entry_is_written(folder: Path) -> None:
    # A broker writes the marker first; a reader of its disk may come in between.
    write_segment(folder, 0, data(0, 1), abort(5, 1), closed=False)
    assert committed(folder) == []
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode([AbortedTxn(1, 0, 5, 6)]))
    assert transactions(folder).aborted == (AbortedTxn(1, 0, 5, 6),)


def test_an_entry_beyond_the_end_of_a_torn_log_does_not_count(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), closed=False, tail=abort(5, 1)[:-1])
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode([AbortedTxn(1, 0, 5, 6)]))
    assert transactions(folder) == PartitionTransactions(0, (), open=((1, 0),))


def test_a_damaged_snapshot_gives_way_to_an_older_one(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), commit(5, 1), data(6, 2), closed=False)
    (folder / f"{6:020}.snapshot").write_bytes(producers({7: 1})[:-1])
    (folder / f"{5:020}.snapshot").write_bytes(producers({1: 0}))
    (folder / f"{99:020}.snapshot").write_bytes(producers({1: 0}))  # left from when the log was longer
    found = transactions(folder)
    assert found.last_stable_offset == 6
    assert [note.sentence.partition(":")[0] for note in found.notes] == ["skipped"]


def test_a_damaged_index_is_reported(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 5))
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(b"\x01" + bytes(33))
    scan = octavo.scan(folder, isolation_level="read_committed")
    assert scan.to_table().num_rows == 5
    assert "not read: transaction index entry of version 1, expected 0" in str(scan.notes[0])


def test_a_marker_that_compaction_emptied_ends_nothing(folder: Path) -> None:
    emptied = empty_batch(read_header(commit(5, 1)))
    write_segment(folder, 0, emptied, data(6, 1), closed=False)
    assert transactions(folder).last_stable_offset == 6


def test_an_open_transaction_from_before_the_log_start_holds_everything_back(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), batch(5, 5), closed=False)
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    (folder / f"{9:020}.snapshot").write_bytes(producers({1: 0}))
    assert transactions(folder).last_stable_offset == 7
    assert committed(folder) == []


def three_segments(folder: Path) -> None:
    """A transaction aborted in its own segment, one aborted in the next segment, and a snapshot without open ones."""
    write_segment(folder, 0, data(0, 1), abort(5, 1), data(6, 2))
    write_segment(folder, 11, data(11, 2), abort(16, 2), data(17, 3), commit(22, 3))
    write_segment(folder, 23, batch(23, 4), closed=False)
    (folder / f"{23:020}.snapshot").write_bytes(producers({}))
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode([AbortedTxn(1, 0, 5, 6)]))
    path(folder, 11, FileKind.TXN_INDEX).write_bytes(txn_index.encode([AbortedTxn(2, 6, 16, 17)]))


STABLE = [*range(17, 22), *range(23, 27)]


@pytest.mark.parametrize("lost", [(0,), (11,), (0, 11)])
@pytest.mark.parametrize("split_bytes", [100, 1 << 20])
def test_aborted_transactions_of_a_lost_index_are_found_by_their_markers(
    folder: Path, lost: tuple[int, ...], split_bytes: int
) -> None:
    three_segments(folder)
    for base_offset in lost:
        path(folder, base_offset, FileKind.TXN_INDEX).unlink()
    scan = octavo.scan(folder, isolation_level="read_committed", split_bytes=split_bytes)
    assert [record.offset for record in scan] == STABLE
    missing = "2 aborted transactions are" if len(lost) == 2 and split_bytes > 100 else "1 aborted transaction is"
    assert any(f"{missing} missing from the transaction indexes" in note.sentence for note in scan.notes)
    for start in range(27):
        later = octavo.scan(folder, isolation_level="read_committed", from_offset=start, split_bytes=split_bytes)
        assert [record.offset for record in later] == [offset for offset in STABLE if offset >= start]


@pytest.mark.parametrize("content", [txn_index.encode([AbortedTxn(1, 0, 5, 6)])[:20], b"\x01" + bytes(33)])
def test_aborted_transactions_of_a_damaged_index_are_found_by_their_markers(folder: Path, content: bytes) -> None:
    three_segments(folder)
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(content)
    assert committed(folder) == STABLE


def test_whole_indexes_leave_nothing_to_say(folder: Path) -> None:
    three_segments(folder)
    for split_bytes in (100, 400, 1 << 20):
        scan = octavo.scan(folder, isolation_level="read_committed", split_bytes=split_bytes)
        assert [record.offset for record in scan] == STABLE
        assert scan.notes == ()


def test_a_segment_file_alone_is_read_committed_too(folder: Path) -> None:
    write_segment(folder, 0, data(0, 1), abort(5, 1), data(6, 2), commit(11, 2))
    assert committed(folder / f"{0:020}.log") == list(range(6, 11))
