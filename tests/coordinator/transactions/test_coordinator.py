"""The coordinator as clients on the network use it, with a clock that tests move: what is written, and when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.log import TransactionLog
from octavo.coordinator.transactions.machine import Identity
from octavo.coordinator.transactions.markers import Markers
from octavo.coordinator.transactions.metadata import VERSION_1, VERSION_2, TransactionMetadata
from octavo.errors import KafkaStorageError, ProducerFencedError
from octavo.format.batches.batch import Origin
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.requests import batch
from tests.client.stores import Store
from tests.storage.worlds import World

T0 = TopicPartition("t", 0)
QUICK = {"transaction.remove.expired.transaction.cleanup.interval.ms": 1000, "transaction.state.log.num.partitions": 1}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path, transaction_state_log_num_partitions="1")
    store.logs.create_topic("t", 1)
    yield store
    store.logs.close()


@pytest.fixture
def coordinator(store: Store) -> TransactionCoordinator:
    return store.logs.transactions()


def begin(store: Store, coordinator: TransactionCoordinator, version: int = VERSION_2) -> Identity:
    """A producer with a record in an open transaction."""
    answer = coordinator.init_producer_id("x", 60_000, None)
    assert answer.error is ErrorCode.NONE
    assert coordinator.add_partitions("x", answer.identity, frozenset([T0]), version) is ErrorCode.NONE
    append(store, answer.identity)
    return answer.identity


def append(store: Store, by: Identity) -> None:
    origin = Origin(producer_id=by.producer_id, producer_epoch=by.epoch, base_sequence=0, is_transactional=True)
    log = store.logs.log("t", 0)
    log.append_as_leader(bytearray(batch("v", origin=origin)), leader_epoch=log.leader_epoch)


@pytest.mark.parametrize("version", [VERSION_1, VERSION_2])
def test_the_answer_comes_before_the_markers(store: Store, coordinator: TransactionCoordinator, version: int) -> None:
    by = begin(store, coordinator, version)
    answer = coordinator.end("x", by, commit=True, version=version)
    assert answer.error is ErrorCode.NONE
    assert answer.identity == (Identity(by.producer_id, 1) if version == VERSION_2 else (-1, -1))
    assert store.transaction_states() == ["Empty", "Ongoing", "PrepareCommit"]
    assert store.logs.log("t", 0).last_stable_offset == 0
    coordinator.complete("x")
    assert store.transaction_states()[-1] == "CompleteCommit"
    assert store.logs.log("t", 0).last_stable_offset == 2


def test_a_request_completes_what_is_decided(store: Store, coordinator: TransactionCoordinator) -> None:
    by = begin(store, coordinator)
    following = coordinator.end("x", by, commit=False, version=VERSION_2).identity
    assert coordinator.add_partitions("x", following, frozenset([T0]), VERSION_2) is ErrorCode.NONE
    assert store.transaction_states() == ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Ongoing"]


def test_while_a_disk_is_bad_clients_wait(
    store: Store, coordinator: TransactionCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = begin(store, coordinator)
    following = coordinator.end("x", by, commit=True, version=VERSION_2).identity
    with monkeypatch.context() as patch:
        patch.setattr(Markers, "write", _broken)
        coordinator.complete("x")
        assert coordinator.add_partitions("x", following, frozenset([T0]), VERSION_2) is BUSY
        assert coordinator.verify("x", following, frozenset([T0])) == {T0: BUSY}
        assert coordinator.init_producer_id("x", 1000, None).error is BUSY
        assert coordinator.end("x", by, commit=True, version=VERSION_2).error is BUSY
    store.world.scheduler.advance(10_000)
    assert store.transaction_states()[-1] == "CompleteCommit"
    again = coordinator.end("x", by, commit=True, version=VERSION_2)
    assert (again.error, again.identity) == (ErrorCode.NONE, following)


BUSY = ErrorCode.CONCURRENT_TRANSACTIONS


def _broken(*_: object) -> None:
    raise KafkaStorageError("its disk failed")


def test_what_cannot_be_written_has_not_happened(
    store: Store, coordinator: TransactionCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = begin(store, coordinator)
    with monkeypatch.context() as patch:
        patch.setattr(TransactionLog, "append", _broken)
        answer = coordinator.end("x", by, commit=True, version=VERSION_2)
        assert answer.error is ErrorCode.NOT_COORDINATOR
        assert coordinator.init_producer_id("y", 1000, None).error is ErrorCode.NOT_COORDINATOR
    assert store.transaction_states() == ["Empty", "Ongoing"]
    assert coordinator.end("x", by, commit=False, version=VERSION_2).error is ErrorCode.NONE


def test_nothing_is_known_without_the_topic(coordinator: TransactionCoordinator) -> None:
    nobody = Identity(1, 0)
    assert coordinator.add_partitions("x", nobody, frozenset([T0]), VERSION_2) is ErrorCode.NOT_COORDINATOR
    assert coordinator.describe("x") is ErrorCode.NOT_COORDINATOR
    coordinator.init_producer_id("y", 1000, None)
    assert coordinator.add_partitions("x", nobody, frozenset([T0]), VERSION_2) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.describe("x") is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert coordinator.describe("") is ErrorCode.INVALID_REQUEST


def test_a_timeout_fences(store: Store, coordinator: TransactionCoordinator) -> None:
    by = begin(store, coordinator)
    store.world.scheduler.advance(60_000)
    assert store.transaction_states()[-1] == "Ongoing"
    store.world.scheduler.advance(10_000)
    assert store.transaction_states()[-2:] == ["PrepareAbort", "CompleteAbort"]
    assert coordinator.end("x", by, commit=True, version=VERSION_2).error is ErrorCode.INVALID_TXN_STATE
    assert coordinator.end("x", by, commit=True, version=VERSION_1).error is ErrorCode.PRODUCER_FENCED
    assert coordinator.end("x", by, commit=False, version=VERSION_2).identity == Identity(by.producer_id, 1)


def test_timeouts_are_limited(coordinator: TransactionCoordinator) -> None:
    for timeout_ms in (0, -1, 900_001):
        error = coordinator.init_producer_id("x", timeout_ms, None).error
        assert error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert coordinator.init_producer_id("", 1000, None).error is ErrorCode.INVALID_REQUEST


def test_producers_of_both_kinds_fence_each_other(store: Store, coordinator: TransactionCoordinator) -> None:
    by = begin(store, coordinator)
    with store.logs.producer(transactional_id="x") as producer:
        assert coordinator.end("x", by, commit=True, version=VERSION_2).error is ErrorCode.PRODUCER_FENCED
        producer.begin_transaction()
        producer.send("t", b"open").result()
        assert coordinator.init_producer_id("x", 60_000, None).error is BUSY
        coordinator.complete("x")
        assert coordinator.init_producer_id("x", 60_000, None).error is ErrorCode.NONE
        assert isinstance(producer.send("t", b"late").exception(), ProducerFencedError)
    assert store.records("t", "read_committed") == []


@pytest.mark.parametrize("upkeep", [True, False])
def test_ids_expire_with_upkeep(tmp_path: Path, upkeep: bool) -> None:
    world, configs = World(), {"transactional.id.expiration.ms": 7000, **QUICK}
    with octavo.LogDir(tmp_path, environment=world.environment, upkeep=upkeep, configs=configs) as logs:
        coordinator = logs.transactions()
        kept = coordinator.init_producer_id("kept", 1000, None).identity
        coordinator.init_producer_id("old", 1000, None)
        session = logs.producer(transactional_id="idle")
        world.scheduler.advance(6000)
        kept = coordinator.end("kept", kept, commit=False, version=VERSION_2).identity
        coordinator.complete("kept")
        assert len(coordinator.list()) == 3
        world.scheduler.advance(2000)
        assert {known.transactional_id for known in coordinator.list()} == (
            {"kept"} if upkeep else {"kept", "old", "idle"}
        )
        if upkeep:
            with pytest.raises(ProducerFencedError, match="transactional id idle has expired"):
                session.begin_transaction()
    with octavo.LogDir(tmp_path, environment=World().environment) as logs:
        known = logs.transactions().describe("old")
        assert known is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if upkeep else isinstance(known, TransactionMetadata)


def test_a_producer_whose_id_expired_is_fenced_by_the_next_one(tmp_path: Path) -> None:
    world, configs = World(), {"transactional.id.expiration.ms": 7000, **QUICK}
    with octavo.LogDir(tmp_path, environment=world.environment, upkeep=True, configs=configs) as logs:
        old = logs.producer(transactional_id="x")
        world.scheduler.advance(9000)
        assert logs.transactions().list() == []
        logs.producer(transactional_id="x")
        with pytest.raises(ProducerFencedError, match="another producer has taken it over"):
            old.begin_transaction()


def test_what_is_written_is_read_back(coordinator: TransactionCoordinator) -> None:
    known = TransactionMetadata(
        "x", 5, 32767, 1000, status=TransactionStatus.PREPARE_COMMIT, partitions=frozenset([T0]), start_ms=3,
        last_update_ms=4, previous_producer_id=5, next_producer_id=6, version=VERSION_2,
    )  # fmt: skip
    coordinator.states.write(known)
    log = coordinator.states._log
    assert log.load(TopicPartition("__transaction_state", 0)) == {"x": known}


def test_a_reader_changes_nothing(store: Store, coordinator: TransactionCoordinator) -> None:
    by = begin(store, coordinator)
    coordinator.end("x", by, commit=True, version=VERSION_2)
    logs = store.reopen()
    reading = logs.transactions(start=False)
    (known,) = reading.list()
    assert known.status is TransactionStatus.PREPARE_COMMIT
    assert store.transaction_states()[-1] == "PrepareCommit"
