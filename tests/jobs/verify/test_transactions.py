"""Markers, transaction indexes and producer snapshots compared with the log."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from octavo.format.batches.batch import Origin, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import CLEAN_SHUTDOWN, FileKind
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.jobs.verify.finding import MOST_FINDINGS, FindingKind, Severity
from tests.format.exact_batches import empty_batch
from tests.jobs.verify.verified import findings_of, shown
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

TXNINDEX = f"{0:020}.txnindex"


def data(offset: int, producer_id: int, sequence: int = 0) -> bytes:
    origin = Origin(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True)
    return batch(offset, origin=origin)


def marker(offset: int, producer_id: int, kind: ControlType = ControlType.ABORT) -> bytes:
    end = EndTransactionMarker(kind, 0)
    return build_marker_batch(
        end, offset=offset, timestamp=1000, producer_id=producer_id, producer_epoch=0, partition_leader_epoch=0
    )


# Producer 1 aborts 0 to 2, producer 2 commits 1 to 3, producer 1 aborts 4 to 6; from 5 on, producer 3 has an open
# transaction.
LOG = [data(0, 1), data(1, 2), marker(2, 1), marker(3, 2, ControlType.COMMIT), data(4, 1, 1), data(5, 3), marker(6, 1)]
ABORTED = [AbortedTxn(1, 0, 2, 1), AbortedTxn(1, 4, 6, 5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_segment(tmp_path / "orders-0", 0, *LOG)
    write_aborted(tmp_path / "orders-0", ABORTED)
    return tmp_path / "orders-0"


def write_aborted(folder: Path, aborted: list[AbortedTxn]) -> None:
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode(aborted))


def write_snapshot(folder: Path, offset: int, *entries: ProducerEntry) -> None:
    path(folder, offset, FileKind.PRODUCER_SNAPSHOT).write_bytes(producer_snapshot.encode(entries))


def test_sound_files_give_no_findings(folder: Path) -> None:
    assert findings_of(folder) == []


@pytest.mark.parametrize(
    "wrong",
    [
        AbortedTxn(2, 4, 6, 5),  # another producer
        AbortedTxn(1, 3, 6, 5),  # no batch of producer 1 begins there
        AbortedTxn(1, 4, 5, 5),  # no marker there
        AbortedTxn(1, 4, 6, 7),  # another last stable offset
        AbortedTxn(1, 4, 6, 9),
        AbortedTxn(1, 6, 4, 5),
        AbortedTxn(-1, 4, 6, 5),
        AbortedTxn(1, 4, 60, 5),  # past the end of the log
    ],
)
def test_a_wrong_entry_is_a_problem(folder: Path, wrong: AbortedTxn) -> None:
    write_aborted(folder, [ABORTED[0], wrong])
    found = shown(findings_of(folder))
    assert (TXNINDEX, 34, FindingKind.WRONG_ENTRY, Severity.PROBLEM) in found


def test_a_missing_entry_would_hand_out_aborted_records(folder: Path) -> None:
    write_aborted(folder, ABORTED[:1])
    (folder.parent / CLEAN_SHUTDOWN).touch()  # otherwise a crash may have followed the last marker
    assert shown(findings_of(folder)) == [(TXNINDEX, None, FindingKind.MISSING_ENTRY, Severity.PROBLEM)]
    path(folder, 0, FileKind.TXN_INDEX).unlink()
    assert [line[2] for line in shown(findings_of(folder))] == [FindingKind.MISSING_ENTRY] * 2


def test_a_wrong_order_version_or_length_is_a_problem(folder: Path) -> None:
    write_aborted(folder, [ABORTED[1], ABORTED[0]])
    assert (TXNINDEX, 34, FindingKind.WRONG_ENTRY, Severity.PROBLEM) in shown(findings_of(folder))
    content = bytearray(txn_index.encode(ABORTED))
    content[35] = 1
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(content)
    assert shown(findings_of(folder)) == [(TXNINDEX, 34, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(txn_index.encode(ABORTED) + b"\0\0")
    assert shown(findings_of(folder)) == [(TXNINDEX, 68, FindingKind.PARTIAL_ENTRY, Severity.PROBLEM)]


def test_entries_whose_batches_compaction_removed_stay(folder: Path) -> None:
    # The data of the aborted transactions is gone; so is one marker, and the other was emptied.
    emptied = empty_batch(read_header(marker(6, 1)))
    write_segment(folder, 0, data(1, 2), marker(3, 2, ControlType.COMMIT), data(5, 3), emptied)
    assert findings_of(folder) == []


def test_a_transaction_that_was_open_when_the_segment_began_is_known_from_the_snapshot(folder: Path) -> None:
    write_segment(folder, 7, data(7, 4), marker(8, 3))
    write_snapshot(folder, 7, ProducerEntry(3, 0, 0, 5, 0, 1000, -1, 5), ProducerEntry(1, 0, 1, 4, 0, 1000, 0, -1))
    index = path(folder, 7, FileKind.TXN_INDEX)
    index.write_bytes(txn_index.encode([AbortedTxn(3, 5, 8, 7)]))
    assert findings_of(folder) == []
    index.write_bytes(txn_index.encode([AbortedTxn(3, 4, 8, 7)]))
    assert shown(findings_of(folder)) == [(index.name, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]
    index.unlink()
    assert shown(findings_of(folder)) == [(index.name, None, FindingKind.MISSING_ENTRY, Severity.INFO)]
    (folder.parent / CLEAN_SHUTDOWN).touch()
    assert shown(findings_of(folder)) == [(index.name, None, FindingKind.MISSING_ENTRY, Severity.PROBLEM)]


def test_what_was_open_at_a_marker_did_not_begin_before_the_last_stable_offset(folder: Path) -> None:
    """This rule finds a wrong start even if no snapshot says what was open when the segment began."""
    write_segment(folder, 7, data(7, 4), data(8, 5), marker(9, 4), marker(10, 5))
    index = path(folder, 7, FileKind.TXN_INDEX)
    index.write_bytes(txn_index.encode([AbortedTxn(4, 7, 9, 8), AbortedTxn(5, 8, 10, 11)]))
    assert findings_of(folder) == []
    index.write_bytes(txn_index.encode([AbortedTxn(4, 7, 9, 8), AbortedTxn(5, 1, 10, 11)]))
    assert shown(findings_of(folder)) == [(index.name, 34, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_without_a_state_to_begin_with_nothing_is_missing(folder: Path) -> None:
    write_segment(folder, 7, marker(7, 3))
    assert findings_of(folder) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (ProducerEntry(1, 0, 1, 4, 0, 1000, 0, -1), None),
        (ProducerEntry(3, 0, 0, 5, 0, 1000, -1, 5), None),
        (ProducerEntry(1, 1, 1, 4, 0, 1000, 0, -1), FindingKind.WRONG_STATE),  # another epoch
        (ProducerEntry(1, 0, 7, 4, 0, 1000, 0, -1), FindingKind.WRONG_STATE),  # another sequence
        (ProducerEntry(2, 0, 0, 1, 0, 1000, 0, 1), FindingKind.WRONG_STATE),  # its transaction was committed
        (ProducerEntry(9, 0, 0, 4, 0, 1000, 0, -1), FindingKind.WRONG_STATE),  # unknown to the log
        (ProducerEntry(1, 0, 1, 8, 0, 1000, 0, -1), FindingKind.WRONG_STATE),  # an offset after the snapshot's
        (ProducerEntry(-2, 0, 1, 4, 0, 1000, 0, -1), FindingKind.WRONG_STATE),
    ],
)
def test_a_snapshot_follows_from_the_log(folder: Path, entry: ProducerEntry, problem: FindingKind | None) -> None:
    write_snapshot(folder, 7, entry)
    kinds = {line[2] for line in shown(findings_of(folder)) if line[0] == f"{7:020}.snapshot"}
    assert kinds == (set() if problem is None else {problem})


def test_a_producer_that_is_listed_twice_is_a_problem(folder: Path) -> None:
    write_snapshot(folder, 7, *[ProducerEntry(1, 0, 1, 4, 0, 1000, 0, -1)] * 2)
    assert shown(findings_of(folder)) == [(f"{7:020}.snapshot", 56, FindingKind.WRONG_STATE, Severity.PROBLEM)]


def test_a_snapshot_after_the_end_of_the_log_is_a_problem(folder: Path) -> None:
    write_snapshot(folder, 8)
    assert shown(findings_of(folder)) == [(f"{8:020}.snapshot", None, FindingKind.BEYOND_END, Severity.PROBLEM)]


def test_a_damaged_snapshot_is_a_problem(folder: Path) -> None:
    write_snapshot(folder, 7)
    path(folder, 7, FileKind.PRODUCER_SNAPSHOT).write_bytes(b"\0\1\0")
    assert shown(findings_of(folder)) == [(f"{7:020}.snapshot", 0, FindingKind.DAMAGED_FILE, Severity.PROBLEM)]


def test_a_marker_that_cannot_be_read_is_a_problem(folder: Path) -> None:
    from octavo.format.batches.batch import build_batch
    from octavo.format.record import Record

    origin = Origin(producer_id=1, producer_epoch=0, is_transactional=True, is_control=True)
    odd = build_batch([Record(7, 1000, b"\0", b"")], origin=origin, partition_leader_epoch=0)
    log = write_segment(folder, 0, *LOG, odd)
    position = sum(map(len, LOG))
    assert (log.name, position, FindingKind.INVALID_RECORDS, Severity.PROBLEM) in shown(findings_of(folder))


@pytest.mark.parametrize(
    "field", ["epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch"]
)
@pytest.mark.parametrize("producer_id", [1, 2, 3])
def test_every_field_of_a_snapshot_follows_from_the_log(folder: Path, producer_id: int, field: str) -> None:
    entries = {
        1: ProducerEntry(1, 0, 1, 4, 0, 1000, 0, -1),
        2: ProducerEntry(2, 0, 0, 1, 0, 1000, 0, -1),
        3: ProducerEntry(3, 0, 0, 5, 0, 1000, -1, 5),
    }
    write_snapshot(folder, 7, *entries.values())
    assert findings_of(folder) == []
    entry = entries[producer_id]
    for change in (1, -1):
        entries[producer_id] = entry._replace(**{field: getattr(entry, field) + change})
        write_snapshot(folder, 7, *entries.values())
        assert [line[2] for line in shown(findings_of(folder))] == [FindingKind.WRONG_STATE]


def test_a_producer_that_expired_between_two_transactions_has_no_coordinator_epoch(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    write_segment(folder, 0, data(0, 1), marker(1, 1, ControlType.COMMIT), data(2, 1))
    entry = ProducerEntry(1, 0, 0, 2, 0, 1000, -1, 2)
    write_snapshot(folder, 3, entry)
    assert findings_of(folder) == []
    write_segment(folder, 3, marker(3, 1, ControlType.COMMIT))  # the marker has the coordinator's epoch
    write_snapshot(folder, 4, entry._replace(current_txn_first_offset=-1))
    assert shown(findings_of(folder)) == [(f"{4:020}.snapshot", 10, FindingKind.WRONG_STATE, Severity.PROBLEM)]


def test_a_producer_that_expired_before_a_marker_has_no_sequence(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    write_segment(folder, 0, data(0, 1), marker(1, 1, ControlType.COMMIT), marker(2, 1, ControlType.COMMIT))
    entry = ProducerEntry(1, 0, -1, -1, 0, 1000, 0, -1)
    write_snapshot(folder, 3, entry)
    assert findings_of(folder) == []
    write_segment(folder, 3, data(3, 1))  # the batch has a sequence
    write_snapshot(folder, 4, entry._replace(current_txn_first_offset=3))
    assert shown(findings_of(folder)) == [(f"{4:020}.snapshot", 10, FindingKind.WRONG_STATE, Severity.PROBLEM)]


@pytest.mark.parametrize(
    "entry",
    [
        ProducerEntry(1, 0, 0, 0, 0, 2000, 0, -1),
        ProducerEntry(1, 0, 0, 1, 0, 2000, 0, -1),  # 0.11: the marker's offset
        ProducerEntry(1, 0, 0, 0, 0, 1000, 0, -1),  # 1.0: the time of the data before it
    ],
)
def test_what_any_broker_wrote_about_a_producer_after_its_marker_is_accepted(
    tmp_path: Path, entry: ProducerEntry
) -> None:
    folder = tmp_path / "orders-0"
    end = EndTransactionMarker(ControlType.COMMIT, 0)
    later = build_marker_batch(end, offset=1, timestamp=2000, producer_id=1, producer_epoch=0, partition_leader_epoch=0)
    write_segment(folder, 0, data(0, 1), later)
    write_snapshot(folder, 2, entry)
    assert findings_of(folder) == []


@pytest.mark.parametrize("seed", range(20))
def test_what_was_open_at_a_marker_is_found_as_by_a_search_of_all_earlier_entries(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    entries, last = [], 0
    for producer_id in range(40):
        last += draw.randrange(1, 4)
        first = draw.randrange(last)
        entries.append(AbortedTxn(producer_id, first, last, draw.randrange(last + 2)))
    expected = set()
    for slot, entry in enumerate(entries):
        for before in reversed(entries[:slot]):
            if before.last_offset < entry.first_offset:
                break
            if before.last_stable_offset > entry.first_offset:
                expected.add(f"last stable offset {before.last_stable_offset} at the marker {before.last_offset}")
                break
    write_segment(tmp_path / "orders-0", 0, batch(last + 1))
    write_aborted(tmp_path / "orders-0", entries)
    details = [found.detail for found in findings_of(tmp_path) if "begun before the" in found.detail]
    assert {detail.partition("begun before the ")[2] for detail in details} == expected


def test_findings_in_a_damaged_index_are_listed_up_to_a_limit_and_then_counted(folder: Path) -> None:
    """All entries overlap: comparing each pair of them would take minutes."""
    path(folder, 0, FileKind.TXN_INDEX).write_bytes(bytes(34 * 20_000))
    found = [line for line in findings_of(folder) if line.path.endswith(TXNINDEX)]
    assert len(found) == MOST_FINDINGS + 1
    assert (found[-1].problem, found[-1].detail) == (FindingKind.MORE, "19002 more findings in this file")


@pytest.mark.parametrize("kind", ["txnindex", "snapshot", "index", "timeindex"])
def test_a_file_larger_than_any_of_its_kind_is_not_read(folder: Path, kind: str) -> None:
    file = folder / f"{0:020}.{kind}"
    with file.open("wb") as opened:
        opened.truncate(8 << 30)
    (found,) = [line for line in findings_of(folder) if line.path == str(file)]
    assert found.problem is FindingKind.UNREADABLE_FILE
    assert "8589934592 bytes, expected at most" in found.detail
