"""The state of producers between appends: duplicates, snapshots, expiry, replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from octavo.errors import InvalidTxnStateError, OutOfOrderSequenceError
from octavo.format.batches.walker import walk
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.kernels.layout import BATCH
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.check import NO_PRODUCERS
from octavo.storage.producers.entry import CachedBatch
from octavo.storage.producers.files import Producers
from octavo.storage.producers.snapshots import SnapshotFiles
from octavo.storage.producers.state import PRODUCER_ID_EXPIRATION_MS, ProducerStateManager
from octavo.storage.segment.segments import Segments
from octavo.system.clock import ManualClock
from octavo.system.filesystem import LocalFileSystem
from tests.storage.producer_batches import ABORT, COMMIT, MAX_SEQUENCE, PRODUCER, append, data, emptied, marker

DAY_MS = PRODUCER_ID_EXPIRATION_MS
REPLICATION = AppendOrigin.REPLICATION


def filled(batches: int = 7) -> ProducerStateManager:
    """Two records per batch: batch n has sequences and offsets 2n and 2n + 1."""
    manager = ProducerStateManager()
    for n in range(batches):
        append(manager, data(2 * n, 2 * n, count=2, timestamp=100 + n))
    return manager


def batches_of(manager: ProducerStateManager, producer_id: int = PRODUCER) -> list[CachedBatch]:
    entry = manager.table.get(producer_id)
    assert entry is not None
    return list(entry.batches)


# T3
@pytest.mark.parametrize("again", [2, 3, 4, 5, 6])
def test_one_of_the_last_five_batches_sent_again_gets_its_first_answer(again: int) -> None:
    manager = filled()
    checked, _ = append(manager, data(50, 2 * again, count=2, timestamp=9999))
    assert checked.duplicate == CachedBatch(2 * again + 1, 2 * again + 1, 1, 100 + again)
    assert checked.duplicate.first_offset == checked.duplicate.first_sequence == 2 * again
    assert not checked.updates and manager.map_end_offset == 14
    assert len(batches_of(manager)) == 5


def test_an_older_batch_sent_again_is_out_of_order() -> None:
    manager = filled()
    for again in (0, 1):
        with pytest.raises(OutOfOrderSequenceError):
            append(manager, data(50, 2 * again, count=2))


def test_a_duplicate_has_exactly_the_same_sequences() -> None:
    manager = filled()
    for sequence, count in ((10, 1), (11, 1), (10, 3), (10, 4), (9, 2)):
        with pytest.raises(OutOfOrderSequenceError):
            append(manager, data(50, sequence, count=count))


def test_a_batch_of_another_epoch_is_not_a_duplicate() -> None:
    manager = ProducerStateManager()
    append(manager, data(0, 0))
    append(manager, data(1, 0, epoch=1))
    assert batches_of(manager) == [CachedBatch(0, 1, 0, 1001)]


def test_only_clients_send_again() -> None:
    for origin in (AppendOrigin.COORDINATOR, REPLICATION):
        checked, _ = append(filled(), data(50, 12, count=2), origin=origin)
        assert checked.duplicate is None and len(checked.updates) == 1


def test_sequences_wrap_around() -> None:
    manager = ProducerStateManager()
    append(manager, data(0, MAX_SEQUENCE - 1, count=4))
    append(manager, data(4, 2, count=2))
    assert [batch.last_sequence for batch in batches_of(manager)] == [1, 3]
    again, _ = append(manager, data(9, MAX_SEQUENCE - 1, count=4))
    assert again.duplicate == CachedBatch(1, 3, 3, 1000)
    assert (again.duplicate.first_sequence, again.duplicate.first_offset) == (MAX_SEQUENCE - 1, 0)


def test_what_was_checked_counts_when_it_is_applied() -> None:
    manager = filled(1)
    found = walk(data(2, 2))
    for _ in range(2):
        checked = manager.check(found.data, found.table, AppendOrigin.CLIENT)
    assert len(batches_of(manager)) == 1
    manager.apply(checked)
    assert [batch.last_sequence for batch in batches_of(manager)] == [1, 2]


def test_batches_of_one_append_follow_one_another() -> None:
    manager = ProducerStateManager()
    append(manager, data(0, 5), data(1, 77), data(2, 0, producer_id=8))  # unknown: any sequence, throughout the call
    append(manager, data(3, 78), data(4, 79), data(5, 1, producer_id=8))
    with pytest.raises(OutOfOrderSequenceError):
        append(manager, data(6, 80), data(7, 82))
    assert [batch.last_offset for batch in batches_of(manager)] == [0, 1, 3, 4]
    assert [batch.last_offset for batch in batches_of(manager, 8)] == [2, 5]


def test_batches_without_a_producer_change_nothing() -> None:
    manager = ProducerStateManager()
    table = np.zeros(3, BATCH)
    table["producer_id"], table["magic"], table["base_offset"] = -1, 2, [4, 5, 6]
    assert manager.check(b"", table, AppendOrigin.CLIENT) is NO_PRODUCERS
    assert manager.replay(b"", table) == (3, [], None)
    assert manager.is_empty and manager.map_end_offset == 7


def test_old_formats_do_not_move_the_end() -> None:
    table = np.zeros(1, BATCH)
    table["producer_id"], table["magic"], table["base_offset"] = -1, 1, 4
    manager = ProducerStateManager(start_offset=3)
    manager.replay(b"", table)
    assert manager.map_end_offset == 3


def test_a_replicated_set_leaves_the_same_state_as_its_batches_one_by_one() -> None:
    one_by_one, at_once = ProducerStateManager(), ProducerStateManager()
    log = [data(n, n, transactional=True, producer_id=8 if n in (20, 21, 40) else 7) for n in range(60)]
    log += [marker(60, ABORT), *(data(61 + n, n, epoch=1) for n in range(3)), marker(64, ABORT, producer_id=8)]
    for batch in log:
        append(one_by_one, batch, origin=REPLICATION)
    append(at_once, *log, origin=REPLICATION)
    assert list(at_once.table) == list(one_by_one.table)
    assert at_once.transactions.unreplicated == one_by_one.transactions.unreplicated == {0: 60, 20: 64}


def test_one_append_knows_what_comes_after_a_marker() -> None:
    """Kafka applies all batches of a call, then completes its transactions: the last stable offset may be later."""
    log = [
        data(0, transactional=True),
        marker(1, ABORT),
        data(2, producer_id=8),
        data(3, producer_id=8, transactional=True),
    ]
    one_by_one, at_once = ProducerStateManager(), ProducerStateManager()
    assert [entry for batch in log for entry in append(one_by_one, batch, origin=REPLICATION)[1]] == [
        AbortedTxn(PRODUCER, 0, 1, 2)
    ]
    assert append(at_once, *log, origin=REPLICATION)[1] == [AbortedTxn(PRODUCER, 0, 1, 3)]


def test_replay_finds_the_aborted_transactions() -> None:
    manager = ProducerStateManager()
    log = [
        data(0, transactional=True),
        data(1, transactional=True, producer_id=8),
        marker(2, ABORT),
        data(3, 1, transactional=True),
        marker(4, COMMIT, producer_id=8),
        marker(5, ABORT),
        marker(6, ABORT),
    ]
    found = walk(b"".join(log))
    replay = manager.replay(found.data, found.table)
    assert replay == (7, [AbortedTxn(7, 0, 2, 1), AbortedTxn(7, 3, 5, 6)], None)
    assert manager.transactions.unreplicated == {0: 2, 1: 4, 3: 5} and not manager.transactions.ongoing
    assert manager.map_end_offset == 7


def test_replay_ends_before_a_damaged_marker() -> None:
    manager = ProducerStateManager()
    broken = bytearray(marker(1, COMMIT))
    broken[66:68] = b"\xff\xff"  # the version in its key
    found = walk(data(0, transactional=True) + bytes(broken) + data(2, transactional=True, producer_id=8))
    rows, aborted, damage = manager.replay(found.data, found.table)
    assert (rows, aborted) == (1, []) and damage is not None and damage.position == len(data(0, transactional=True))
    assert manager.transactions.ongoing == {0: PRODUCER} and manager.map_end_offset == 1


def test_replay_refuses_what_no_log_may_hold() -> None:
    found = walk(data(0, transactional=True) + data(1))
    with pytest.raises(InvalidTxnStateError, match="producer 7, offset 1: a batch outside any transaction"):
        ProducerStateManager().replay(found.data, found.table)


def test_an_emptied_marker_leaves_an_entry_without_an_epoch() -> None:
    manager = ProducerStateManager()
    found = walk(emptied(marker(3, epoch=5)))
    manager.replay(found.data, found.table)
    append_of_it = ProducerStateManager()
    append(append_of_it, emptied(marker(3, epoch=5)), origin=REPLICATION)
    (entry,) = manager.table
    assert (entry.epoch, entry.last_timestamp, list(entry.batches)) == (-1, -1, [])
    assert list(append_of_it.table) == [entry]


def test_a_snapshot_holds_the_last_batch_of_each_producer() -> None:
    manager = filled()
    append(manager, data(14, 3, epoch=2, producer_id=8, transactional=True))
    append(manager, marker(15, epoch=9, producer_id=9, coordinator_epoch=4), origin=REPLICATION)
    snapshot = manager.take_snapshot()
    assert snapshot is not None
    assert sorted(producer_snapshot.decode(snapshot)) == [
        ProducerEntry(7, 0, 13, 13, 1, 106, -1, -1),
        ProducerEntry(8, 2, 3, 14, 0, 1014, -1, 14),
        ProducerEntry(9, 9, -1, -1, 0, 1015, 4, -1),
    ]
    assert manager.take_snapshot() is None and manager.last_snapshot_offset == 16


def test_a_snapshot_is_loaded() -> None:
    manager = filled()
    append(manager, data(14, 3, epoch=2, producer_id=8, transactional=True))
    snapshot = manager.take_snapshot()
    assert snapshot is not None
    loaded = filled(3)
    loaded.load(snapshot, 15, now_ms=2000)
    assert (loaded.map_end_offset, loaded.last_snapshot_offset) == (15, 15) and len(loaded.table) == 2
    assert batches_of(loaded) == [CachedBatch(13, 13, 1, 106)] and loaded.transactions.ongoing == {14: 8}
    again, _ = append(loaded, data(15, 12, count=2))
    assert again.duplicate == CachedBatch(13, 13, 1, 106)
    append(loaded, data(15, 14))
    assert loaded.take_snapshot() is not None


def test_a_snapshot_without_batches_is_loaded() -> None:
    snapshot = producer_snapshot.encode([ProducerEntry(7, 3, -1, -1, 0, 500, 2, -9)])
    manager = ProducerStateManager()
    manager.load(snapshot, 5, now_ms=501)
    (entry,) = manager.table
    assert (entry.epoch, entry.coordinator_epoch, entry.last_timestamp, entry.current_txn_first_offset) == (
        3,
        2,
        500,
        None,
    )
    with pytest.raises(OutOfOrderSequenceError):
        append(manager, data(5, 1, epoch=3))
    append(manager, data(5, 0, epoch=3))


def test_the_last_of_several_entries_of_a_producer_counts() -> None:
    entries = [ProducerEntry(7, epoch, 5, 5, 0, 500, -1, -1) for epoch in (1, 4, 2)]
    manager = ProducerStateManager()
    manager.load(producer_snapshot.encode([*entries, ProducerEntry(8, 9, 5, 5, 0, 500, -1, -1)]), 6, now_ms=501)
    assert [(entry.producer_id, entry.epoch) for entry in manager.table] == [(7, 2), (8, 9)]


def test_the_newest_sound_snapshot_is_loaded(tmp_path: Path) -> None:
    sound = producer_snapshot.encode([ProducerEntry(7, 3, 4, 9, 0, 500, -1, -1)])
    for kept, files in (([10], {10: sound, 20: sound[:-1], 30: b""}), ([], {20: sound[:-1]})):
        for path in tmp_path.iterdir():
            path.unlink()
        for offset, content in files.items():
            (tmp_path / f"{offset:020}.snapshot").write_bytes(content)
        snapshots = SnapshotFiles(LocalFileSystem(), tmp_path)
        producers = Producers(snapshots, ManualClock(501), expiration_ms=DAY_MS)
        producers.rebuild(Segments(), 2, 40, clean=False)
        assert snapshots.offsets == [*kept, 40]
        assert [entry.producer_id for entry in producers.table] == [7] * len(kept)


@pytest.mark.parametrize(("now_ms", "is_gone"), [(106 + DAY_MS - 1, False), (106 + DAY_MS, True)])
def test_idle_producers_expire(now_ms: int, is_gone: bool) -> None:
    manager = filled()
    append(manager, data(14, 0, producer_id=8, transactional=True, timestamp=1))
    snapshot = manager.take_snapshot()
    assert snapshot is not None
    manager.remove_expired(now_ms)
    loaded = ProducerStateManager()
    loaded.load(snapshot, 15, now_ms)
    for state in (manager, loaded):
        assert [entry.producer_id for entry in state.table] == ([8] if is_gone else [7, 8])
        assert state.table.get(8) is not None and (state.table.get(7) is None) == is_gone
    append(manager, data(15, 1, producer_id=8, transactional=True))


def test_many_producers_come_and_go() -> None:
    manager = ProducerStateManager()
    for n in range(200):
        append(manager, data(n, 0, producer_id=n * 1000, timestamp=n))
    manager.remove_expired(99 + DAY_MS)
    assert [entry.producer_id for entry in manager.table] == [n * 1000 for n in range(100, 200)]
    for n in range(200):
        append(manager, data(200 + n, 1 if n >= 100 else 0, producer_id=n * 1000))
    assert len(manager.table) == 200


def test_the_state_begins_again() -> None:
    manager = filled()
    append(manager, data(14, 0, producer_id=8, transactional=True))
    manager.take_snapshot()
    manager.start_at(40)
    assert manager.is_empty and manager.transactions.first_unstable_offset() is None
    assert (manager.map_end_offset, manager.last_snapshot_offset) == (40, 0)


def test_the_log_start_advances() -> None:
    manager = ProducerStateManager()
    append(manager, data(0, transactional=True))
    append(manager, marker(1), origin=REPLICATION)
    append(manager, data(2, transactional=True, producer_id=8))
    manager.advance_log_start(1, None)
    assert manager.transactions.unreplicated == {0: 1} and manager.last_snapshot_offset == 1
    manager.advance_log_start(9, 7)
    assert not manager.transactions.unreplicated and manager.transactions.ongoing == {2: 8}
    assert (manager.map_end_offset, manager.last_snapshot_offset) == (9, 7)
