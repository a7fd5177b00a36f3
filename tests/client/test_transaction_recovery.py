"""Decided transactions are completed before their id is used again; trouble with one id does not stop others."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import octavo
from octavo.client.producer.producer import Producer
from octavo.coordinator.transactions.log import TransactionLog
from octavo.coordinator.transactions.markers import Markers
from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.errors import (
    CorruptRecordError,
    IllegalStateError,
    KafkaStorageError,
    ProducerFencedError,
    TransactionIncompleteError,
)
from octavo.format.batches.walker import walk
from octavo.format.names import TopicPartition
from tests.client.stores import Store
from tests.storage.worlds import World

T1 = TopicPartition("t", 1)
STATES = "__transaction_state-*/*.log"


class Disk:
    """While it is bad, no markers can be written to one of the partitions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]) -> None:
        self.is_bad = True
        write = Markers.write

        def failing(markers: Markers, prepared: TransactionMetadata, name: TopicPartition, epoch: int) -> None:
            if self.is_bad and name == T1:
                raise error()
            write(markers, prepared, name, epoch)

        monkeypatch.setattr(Markers, "write", failing)


@pytest.fixture
def bad_disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch, lambda: KafkaStorageError("t-1: its disk failed"))


def send_to_both(producer: Producer, value: bytes) -> None:
    for partition in (0, 1):
        producer.send("t", value, partition=partition)


def committed(store: Store) -> list[bytes]:
    return sorted(record.value or b"" for record in store.records("t", "read_committed"))


def is_stable(store: Store) -> bool:
    logs = [store.logs.log("t", partition) for partition in (0, 1)]
    return all(log.last_stable_offset == log.log_end_offset for log in logs)


def failed_commit(store: Store) -> Producer:
    store.logs.create_topic("t", 2)
    producer = store.logs.producer(transactional_id="x")
    producer.begin_transaction()
    send_to_both(producer, b"1")
    with pytest.raises(TransactionIncompleteError, match="x: its transaction is decided and will be committed, but"):
        producer.commit_transaction()
    return producer


def test_the_same_producer_completes_it_and_goes_on(store: Store, bad_disk: Disk) -> None:
    producer = failed_commit(store)
    for call in (producer.commit_transaction, producer.abort_transaction):
        with pytest.raises(IllegalStateError, match="no transaction is open"):
            call()
    with pytest.raises(TransactionIncompleteError, match="t-1: its disk failed"):
        producer.begin_transaction()
    bad_disk.is_bad = False
    with producer.transaction():
        send_to_both(producer, b"2")
    assert committed(store) == [b"1", b"1", b"2", b"2"] and is_stable(store)


def test_a_new_producer_is_refused_until_it_is_completed(store: Store, bad_disk: Disk) -> None:
    failed_commit(store)
    with pytest.raises(TransactionIncompleteError, match="t-1: its disk failed"):
        store.logs.producer(transactional_id="x")
    with store.logs.producer(transactional_id="y") as other, other.transaction():
        other.send("t", b"y", partition=0)
    bad_disk.is_bad = False
    with store.logs.producer(transactional_id="x") as again, again.transaction():
        again.send("t", b"2", partition=0)
    assert committed(store) == [b"1", b"1", b"2", b"y"] and is_stable(store)


def test_the_periodic_task_completes_it(store: Store, bad_disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    failed_commit(store)
    store.world.scheduler.advance(10_000)
    assert not is_stable(store) and "the transaction of x cannot be completed now" in caplog.text
    bad_disk.is_bad = False
    store.world.scheduler.advance(10_000)
    assert committed(store) == [b"1", b"1"] and is_stable(store)


def test_partitions_that_have_their_marker_get_no_other(store: Store, bad_disk: Disk) -> None:
    failed_commit(store)
    end = store.logs.log("t", 0).log_end_offset
    store.world.scheduler.advance(30_000)
    assert store.logs.log("t", 0).log_end_offset == end


def test_after_a_reopen_the_next_client_completes_it(store: Store, bad_disk: Disk) -> None:
    failed_commit(store)
    logs = store.reopen()
    for make in (logs.producer, logs.consumer):
        make()
    assert not is_stable(store)
    bad_disk.is_bad = False
    logs.consumer()
    assert committed(store) == [b"1", b"1"] and is_stable(store)


@pytest.mark.parametrize("same", [True, False], ids=["the same producer", "a new producer"])
def test_a_transaction_interrupted_between_two_markers_is_completed(
    store: Store, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    store.logs.create_topic("t", 2)
    disk = Disk(monkeypatch, KeyboardInterrupt)
    producer = store.logs.producer(transactional_id="x")
    with pytest.raises(KeyboardInterrupt), producer.transaction():
        send_to_both(producer, b"1")
    disk.is_bad = False
    with pytest.raises(IllegalStateError):
        producer.send("t", b"outside")
    producer = producer if same else store.logs.producer(transactional_id="x")
    with producer.transaction():
        send_to_both(producer, b"2")
    assert committed(store) == [b"1", b"1", b"2", b"2"] and is_stable(store)


def test_the_end_that_was_interrupted_can_be_called_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.logs.create_topic("t", 2)
    disk = Disk(monkeypatch, KeyboardInterrupt)
    producer = store.logs.producer(transactional_id="x")
    for commits in (True, False):
        disk.is_bad = True
        producer.begin_transaction()
        send_to_both(producer, b"1")
        producer.flush()
        with pytest.raises(KeyboardInterrupt):
            producer.commit_transaction() if commits else producer.abort_transaction()
        disk.is_bad = False
        if commits:
            with pytest.raises(IllegalStateError, match="the end of the transaction was interrupted"):
                producer.send("t", b"late")
            producer.commit_transaction()
    producer.begin_transaction()
    send_to_both(producer, b"2")
    disk.is_bad = True
    with pytest.raises(KeyboardInterrupt):
        producer.commit_transaction()
    disk.is_bad = False
    with pytest.raises(IllegalStateError, match="x: its transaction was committed already"):
        producer.abort_transaction()
    assert committed(store) == [b"1", b"1", b"2", b"2"] and is_stable(store)


def test_an_abort_that_fails_is_made_up_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the records of the aborted transaction would be part of the next one."""
    store.logs.create_topic("t", 2)
    producer = store.logs.producer(transactional_id="x")
    producer.begin_transaction()
    send_to_both(producer, b"aborted")
    producer.flush()
    with monkeypatch.context() as patch:
        patch.setattr(TransactionLog, "append", _raise(KafkaStorageError("its disk failed")))
        with pytest.raises(KafkaStorageError, match="its disk failed"):
            producer.abort_transaction()
    with producer.transaction():
        producer.send("t", b"kept", partition=0)
    assert committed(store) == [b"kept"] and is_stable(store)


def test_a_failed_disk_is_a_storage_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.logs.create_topic("t", 2)
    producer = store.logs.producer(transactional_id="x")
    with monkeypatch.context() as patch:
        patch.setattr(TransactionLog, "append", _raise(KafkaStorageError("its disk failed")))
        producer.begin_transaction()
        send_to_both(producer, b"1")
        with pytest.raises(KafkaStorageError, match="the transaction can only be aborted: its disk failed"):
            producer.commit_transaction()
    producer.abort_transaction()


def test_a_part_of_the_state_that_cannot_be_read_stops_only_its_ids(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.logs.create_topic("t", 1)
    store.logs.producer(transactional_id="x").close()
    logs, load = store.reopen(), TransactionLog.load
    damaged = max(name for name, log in logs.logs.items() if name.topic == "__transaction_state" and log.log_end_offset)

    def failing(log: TransactionLog, place: TopicPartition) -> dict[str, TransactionMetadata]:
        if place == damaged:
            raise CorruptRecordError(f"{place}: the batch at offset 0 is damaged")
        return load(log, place)

    monkeypatch.setattr(TransactionLog, "load", failing)
    logs.producer().close()
    with logs.producer(transactional_id="another") as producer, producer.transaction():
        producer.send("t", b"v")
    with pytest.raises(CorruptRecordError):
        logs.producer(transactional_id="x")
    assert f"{damaged} cannot be read, so its transactional ids cannot be used" in caplog.text
    monkeypatch.undo()
    assert logs.producer(transactional_id="x")._identity.current[1] == 1


def _raise(error: Exception) -> Callable[..., None]:
    def run(*_: object) -> None:
        raise error

    return run


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    """A directory with three committed transactions and one that is open, all of one producer."""
    store = Store(tmp_path / "lived")
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(transactional_id="x")
    for number in range(3):
        with producer.transaction():
            producer.send("t", b"%d" % number)
    producer.begin_transaction()
    producer.send("t", b"open")
    producer.flush()
    producer.close = lambda: None  # type: ignore[method-assign]  # as if the process died
    store.logs.close()
    return store.folder


def test_after_a_power_loss_that_took_the_end_of_the_state(
    lived: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """However much of `__transaction_state` is left, all clients work, even those with the id, and nothing hangs."""
    state = next(path for path in lived.glob(STATES) if path.stat().st_size)
    table = walk(state.read_bytes()).table
    ends = (table["position"] + table["size"]).tolist()
    assert len(ends) == 1 + 3 * 3 + 1
    for end in ends:
        folder = tmp_path / f"cut-{end}"
        shutil.copytree(lived, folder)
        os.truncate(folder / state.relative_to(lived), end)
        for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
            (folder / name).unlink()
        with octavo.LogDir(folder, environment=World().environment) as logs:
            logs.producer().close()
            logs.consumer("t").close()
            with logs.producer(transactional_id="x") as producer, producer.transaction():
                producer.send("t", b"again")
            log = logs.log("t", 0)
            assert log.last_stable_offset == log.log_end_offset
            found = [record.value for record in logs.consumer("t", isolation_level="read_committed")]
            assert found == [b"0", b"1", b"2", b"again"]
    assert "t-0 has a newer epoch, so the old transaction has already ended there" in caplog.text


def test_a_power_loss_never_commits_what_was_aborted(tmp_path: Path) -> None:
    """However much of the partition and of `__transaction_state` is left."""
    store = Store(tmp_path / "lived")
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(transactional_id="x")
    for value in (b"aborted", b"committed", b"aborted too", b"committed too"):
        producer.begin_transaction()
        producer.send("t", value)
        producer.flush()
        producer.abort_transaction() if b"aborted" in value else producer.commit_transaction()
    store.logs.close()
    files = [next(path for path in store.folder.glob(name) if path.stat().st_size) for name in (STATES, "t-0/*.log")]
    for ends in itertools.product(*(walk(path.read_bytes()).table["position"].tolist() for path in files)):
        folder = tmp_path / f"cut-{ends}"
        shutil.copytree(store.folder, folder)
        for path, end in zip(files, ends, strict=True):
            os.truncate(folder / path.relative_to(store.folder), end)
        for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
            (folder / name).unlink()
        with octavo.LogDir(folder, environment=World().environment) as logs:
            logs.producer(transactional_id="x").close()
            found = [record.value for record in logs.consumer("t", isolation_level="read_committed")]
            assert set(found) <= {b"committed", b"committed too"}, ends


def test_what_hangs_after_a_power_loss_is_aborted_in_time(lived: Path) -> None:
    """It is aborted after its id's timeout, even if the id is never used again."""
    state = next(path for path in lived.glob(STATES) if path.stat().st_size)
    os.truncate(state, int(walk(state.read_bytes()).table[1]["position"]))
    world = World()
    with octavo.LogDir(lived, environment=world.environment) as logs:
        logs.consumer("t").close()
        log = logs.log("t", 0)
        assert log.last_stable_offset < log.log_end_offset
        world.scheduler.advance(70_000)
        assert log.last_stable_offset == log.log_end_offset


def test_a_producer_that_another_session_fenced_gets_the_error(store: Store, bad_disk: Disk) -> None:
    """Completing a decided transaction changes the epoch but does not fence its producer; another session does."""
    producer = failed_commit(store)
    bad_disk.is_bad = False
    store.logs.producer(transactional_id="x")
    with pytest.raises(ProducerFencedError):
        producer.begin_transaction()


@pytest.mark.usefixtures("bad_disk")
def test_the_error_of_the_block_is_the_one_that_is_raised(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.logs.create_topic("t", 2)
    producer = store.logs.producer(transactional_id="x")
    with caplog.at_level(logging.WARNING), pytest.raises(ZeroDivisionError), producer.transaction():
        send_to_both(producer, b"1")
        producer.flush()
        raise ZeroDivisionError
    assert "the transaction of x could not be aborted: transactional id x" in caplog.text
