"""The same requests about transactions to a real Kafka 4.3.1 and ours: the same answers, except for ids, times and the
wording of errors."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.raw import RawClient
from tests.broker.requests import batch
from tests.broker.transactional_twin import Transaction, TransactionalTwin, take_first_producer_ids
from tests.interop.broker import Broker as KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]
T0, T1 = ("t", 0), ("t", 1)


# Transactional ids whose epochs have nearly run out. A producer id's last epoch serves only to end its last
# transaction.
TIRED = {"tired of v2": 32764, "tired of v1": 32765, "tired and fenced": 32765}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransactionalTwin]:
    """Both brokers: the real one over a directory that it made and Octavo wrote states into, ours over a copy of it."""
    folder = tmp_path_factory.mktemp("twin")
    real = KafkaBroker(folder / "kafka")
    real.start()
    with RawClient(("localhost", real.port)) as client:
        wanted = {"name": "t", "numPartitions": 2, "replicationFactor": 1}
        client.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
    take_first_producer_ids(("localhost", real.port))
    real.stop()
    with octavo.LogDir(real.log_dir) as logs:
        for number, (name, epoch) in enumerate(TIRED.items()):
            known = TransactionMetadata(name, (1 << 40) + number, epoch, 60_000, last_update_ms=int(time.time() * 1000))
            logs.transactions().states.write(known)
        logs.log("t", 1).append_as_leader(batch("x"), leader_epoch=1)
    shutil.copytree(real.log_dir, folder / "ours")
    real.start()
    take_first_producer_ids(("localhost", real.port))
    with Broker(folder / "ours") as ours:
        yield TransactionalTwin(("localhost", real.port), ours.address)
    real.kill()


@pytest.fixture
def txn(twin: TransactionalTwin, request: pytest.FixtureRequest) -> Transaction:
    """A transactional id that no other test uses."""
    return Transaction(twin, request.node.name)


def ask_but_for_epochs(twin: TransactionalTwin, api: Api, version: int, body: Row) -> Row:
    """Our answer, after comparing it with the real one except for addresses, records and leader epochs, since Kafka's
    epochs grow with each restart."""
    answers = [side.ask(api, version, body) for side in twin._sides]
    differing = re.compile(r"(?<='leaderEpoch': )\d+|'host': '.*?', 'port': \d+|<memory.*?>")
    real, ours = (differing.sub("n", repr(answer)) for answer in answers)
    assert ours == real, f"{api.name} v{version} {body}"
    return answers[1]


@pytest.mark.parametrize("version", range(9, apis.FETCH.versions.highest + 1))
def test_an_old_leader_epoch_is_fenced(twin: TransactionalTwin, version: int) -> None:
    found = twin._sides[1].ask(apis.METADATA, 12, {"topics": [{"name": "t"}]})
    name = {"topic": "t"} if version < 13 else {"topicId": found["topics"][0]["topicId"]}
    rows = [{"partition": 1, "fetchOffset": 0, "partitionMaxBytes": 1000, "currentLeaderEpoch": 0}]
    body = {"maxWaitMs": 0, "maxBytes": 1000, "topics": [{**name, "partitions": rows}]}
    answer = ask_but_for_epochs(twin, apis.FETCH, version, body)
    assert answer["responses"][0]["partitions"][0]["errorCode"] == 74


def test_offsets_and_producers_while_a_transaction_is_open(txn: Transaction, twin: TransactionalTwin) -> None:
    txn.init()
    txn.add(3, 0, T0)
    txn.produce(11, 0)
    for version in range(2, apis.LIST_OFFSETS.versions.highest + 1):
        offsets = []
        for isolation in (0, 1):
            topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]
            body = {"replicaId": -1, "isolationLevel": isolation, "topics": topics}
            answer = ask_but_for_epochs(twin, apis.LIST_OFFSETS, version, body)
            offsets.append(answer["topics"][0]["partitions"][0]["offset"])
        assert offsets[1] == offsets[0] - 1
    described = twin.ask(apis.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "t", "partitionIndexes": [0]}]})
    assert any(row["currentTxnStartOffset"] >= 0 for row in described["topics"][0]["partitions"][0]["activeProducers"])
    txn.end(4, 0, commit=True)


@pytest.mark.parametrize("version", range(6))
def test_init(txn: Transaction, version: int) -> None:
    assert txn.init(version)["producerEpoch"] == 0
    assert txn.init(version)["producerEpoch"] == 1
    txn.init(version, timeout_ms=0)
    txn.init(version, timeout_ms=900_001)
    Transaction(txn._twin, "").init(version)
    if version >= 3:
        txn.init(version, producerId=txn.pid, producerEpoch=1)
        txn.init(version, producerId=txn.pid, producerEpoch=1)  # sent again
        txn.init(version, producerId=txn.pid, producerEpoch=0)
        txn.init(version, producerId=12345, producerEpoch=0)
        txn.init(version, producerId=txn.pid)
        Transaction(txn._twin, txn.name + " new").init(version, producerId=77, producerEpoch=3)


@pytest.mark.parametrize("version", range(4))
def test_add_partitions(txn: Transaction, version: int) -> None:
    txn.add(version, 0, T0, pid=5)
    txn.init()
    txn.add(version, 0, T0)
    txn.add(version, 0, T0)
    txn.add(version, 0, T1)
    txn.add(version, 1, T0)
    txn.add(version, 0, T0, pid=5)
    txn.add(version, 0, T0, ("t", 9), ("nowhere", 0), ("__transaction_state", 0))
    txn.describe()
    Transaction(txn._twin, "").add(version, 0, T0, pid=5)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(5))
def test_end_v1(txn: Transaction, version: int, commit: bool) -> None:
    txn.end(version, 0, commit=commit, pid=5)
    txn.init()
    txn.end(version, 0, commit=commit)
    txn.add(3, 0, T0)
    txn.end(version, 1, commit=commit)
    txn.end(version, 0, commit=commit, pid=5)
    txn.end(version, 0, commit=commit)
    txn.describe()
    txn.end(version, 0, commit=commit)
    txn.end(version, 0, commit=not commit)
    txn.init()
    txn.describe()


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("again", [True, False])
def test_end_v2(txn: Transaction, commit: bool, again: bool) -> None:
    txn.end(5, 0, commit=commit, pid=5)
    txn.init()
    txn.end(5, 0, commit=True)
    assert txn.end(5, 0, commit=False)["producerEpoch"] == 1
    txn.describe()
    txn.produce(12, 1)
    txn.end(5, 0, commit=commit)
    txn.end(5, 2, commit=commit)
    assert txn.end(5, 1, commit=commit)["producerEpoch"] == 2
    txn.end(5, 1, commit=again)
    txn.end(5, 2, commit=again)
    txn.describe()
    txn.end(5, 0, commit=commit)
    txn.end(5, 2, commit=commit, pid=5)


def test_epochs_run_out_in_v2(twin: TransactionalTwin) -> None:
    """The producer gets a new id, and may send its last request again."""
    txn = Transaction(twin, "tired of v2")
    assert txn.init()["producerEpoch"] == 32765
    assert txn.end(5, 32765, commit=False)["producerEpoch"] == 32766
    old = txn.pid
    txn.produce(12, 32766)
    answer = txn.end(5, 32766, commit=True)
    assert answer["producerEpoch"] == 0 and answer["producerId"] != f"pid {old}"
    txn.end(5, 32766, commit=True)
    txn.end(5, 32766, commit=False)
    txn.describe()
    txn.produce(12, 32766, pid=old)
    txn.init(5, producerId=old, producerEpoch=32766)


def test_epochs_run_out_in_v1(twin: TransactionalTwin) -> None:
    txn = Transaction(twin, "tired of v1")
    assert txn.init(4)["producerEpoch"] == 32766
    old = txn.pid
    txn.add(3, 32766, T0)
    txn.produce(9, 32766)
    txn.end(4, 32766, commit=True)
    txn.describe()
    txn.init(4, producerId=old, producerEpoch=32765)
    assert txn.init(4, producerId=old, producerEpoch=32766)["producerEpoch"] == 0
    txn.init(4, producerId=old, producerEpoch=32766)
    txn.init(4, producerId=old, producerEpoch=32765)


def test_epochs_run_out_by_fencing(twin: TransactionalTwin) -> None:
    txn = Transaction(twin, "tired and fenced")
    txn.init()
    txn.produce(12, 32766)
    body = {"transactionalId": txn.name, "transactionTimeoutMs": 60_000}
    assert twin.ask_once(apis.INIT_PRODUCER_ID, 5, body)["errorCode"] == 51
    txn.describe()
    assert txn.init()["producerEpoch"] == 1


def test_an_open_transaction_is_fenced(txn: Transaction, twin: TransactionalTwin) -> None:
    txn.init()
    txn.produce(12, 0)
    body = {"transactionalId": txn.name, "transactionTimeoutMs": 60_000}
    assert twin.ask_once(apis.INIT_PRODUCER_ID, 5, body)["errorCode"] == 51
    txn.describe()
    assert txn.init()["producerEpoch"] == 2
    txn.produce(12, 0)
    txn.produce(9, 0)
    txn.end(5, 0, commit=True)
    txn.end(4, 0, commit=True)


@pytest.mark.parametrize("version", range(3, 13))
def test_produce(txn: Transaction, version: int) -> None:
    txn.produce(version, 0, pid=5)
    txn.init()
    txn.produce(version, 0)
    txn.produce(version, 0, sequence=1)
    txn.produce(version, 0, 1, sequence=7)
    txn.produce(version, 1)
    txn.produce(version, 0, pid=5)
    txn.add(3, 0, T0, T1)
    txn.produce(version, 0, 1)
    txn.produce(version, 0, 1)
    txn.end(5 if version >= 12 else 4, 0, commit=True)
    txn.describe()  # waits until the transaction is complete
    txn.produce(version, 0, 1, sequence=1)
    txn.produce(version, 1, 0, sequence=3)
    txn.produce(version, 1, 0, sequence=0)
    txn.describe()
    Transaction(txn._twin, txn.name).end(4, 0, commit=True, pid=txn.pid)


@pytest.mark.parametrize("version", [9, 11, 12])
def test_later_batches_do_not_overtake_a_refused_one(txn: Transaction, version: int) -> None:
    txn.init()
    for sequence in (5, 7, 3, 4):
        txn.produce(version, 0, sequence=sequence)
    txn.add(3, 0, T0)
    for sequence in (4, 6, 3, 4):
        txn.produce(version, 0, sequence=sequence)
    txn.end(5 if version >= 12 else 4, 0, commit=False)
    txn.describe()
    epoch = 1 if version >= 12 else 0
    for sequence in (6, 5, 0, 1):
        txn.produce(version, epoch, sequence=sequence)
    txn.describe()
    Transaction(txn._twin, txn.name).end(4, epoch, commit=True, pid=txn.pid)


def test_brokers_verify_and_add(txn: Transaction) -> None:
    txn.init()
    txn.verify(0, T0)
    txn.verify(0, T0, is_check=False)
    txn.verify(0, T0, T1)
    txn.verify(0, T0, ("t", 9))
    txn.verify(1, T0)
    txn.describe()


@pytest.mark.parametrize("version", range(5))
def test_add_offsets(txn: Transaction, twin: TransactionalTwin, version: int) -> None:
    def add(epoch: int) -> None:
        body = {"transactionalId": txn.name, "producerId": txn.pid, "producerEpoch": epoch, "groupId": "g"}
        twin.ask(apis.ADD_OFFSETS_TO_TXN, version, body)

    add(0)
    txn.init()
    add(0)
    add(3)
    txn.end(4, 0, commit=True)


@pytest.mark.parametrize("version", range(6))
def test_offsets(txn: Transaction, twin: TransactionalTwin, version: int) -> None:
    group = f"group {version}"

    def commit(epoch: int, group_id: str = group, **fields: object) -> None:
        rows = [{"partitionIndex": number, "committedOffset": 5, "committedMetadata": "m"} for number in (0, 9)]
        topics = [{"name": "t", "partitions": rows}, {"name": "nowhere", "partitions": rows}]
        body = {"transactionalId": txn.name, "producerId": txn.pid, "producerEpoch": epoch, "groupId": group_id}
        twin.ask(apis.TXN_OFFSET_COMMIT, version, {**body, "topics": topics, **fields})

    def fetch() -> None:
        wanted = [{"name": "t", "partitionIndexes": [0, 1]}]
        for is_stable in (False, True):
            body = {"groupId": group, "topics": wanted, "requireStable": is_stable}
            twin.ask(apis.OFFSET_FETCH, 7, body)

    commit(0)
    txn.init()
    commit(0)
    commit(1)
    if version < 5:
        body = {"transactionalId": txn.name, "producerId": txn.pid, "producerEpoch": 0, "groupId": group}
        twin.ask(apis.ADD_OFFSETS_TO_TXN, 3, body)
    commit(0)
    commit(0, "")
    if version >= 3:
        commit(0, generationId=3, memberId="nobody")
        commit(0, memberId="nobody")
        commit(0, groupInstanceId="nobody")
    fetch()
    txn.describe()
    end = 5 if version >= 5 else 4
    following = 1 if version >= 5 else 0
    txn.end(end, 0, commit=True)
    txn.describe()
    fetch()
    commit(following)
    txn.end(end, following, commit=False)
    txn.describe()
    fetch()


@pytest.mark.parametrize("version", range(3))
def test_list(txn: Transaction, twin: TransactionalTwin, version: int) -> None:
    txn.init()
    txn.produce(12, 0)
    added = {"durationFilter": 0} if version >= 1 else {}
    for states in ([], ["Ongoing"], ["Ongoing", "Sleepy"], ["CompleteAbort"], ["Dead"]):
        body = {"stateFilters": states, "producerIdFilters": [txn.pid]}
        twin.ask(apis.LIST_TRANSACTIONS, version, {**body, **added})
    if version == 2:
        for pattern in (".*", "test_list.2.", r"test_list\[2\]", "(", "", None, "est_list.*"):
            body = {"stateFilters": [], "producerIdFilters": [txn.pid], "transactionalIdPattern": pattern}
            twin.ask(apis.LIST_TRANSACTIONS, version, body)
    twin.ask(apis.DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["", "unknown", txn.name]})
    txn.end(5, 0, commit=False)


@pytest.mark.parametrize("version", [1, 2])
def test_markers(txn: Transaction, twin: TransactionalTwin, version: int) -> None:
    txn.init()
    txn.produce(12, 0)
    for epoch, coordinator_epoch, partition in ((-1, 0, 0), (0, 0, 0), (0, 0, 9), (3, 7, 0), (4, 2, 0), (2, 7, 0)):
        topics = [{"name": "t", "partitionIndexes": [partition]}]
        marker = {"producerId": txn.pid, "producerEpoch": epoch, "transactionResult": False, "topics": topics}
        twin.ask(apis.WRITE_TXN_MARKERS, version, {"markers": [{**marker, "coordinatorEpoch": coordinator_epoch}]})
    twin.ask(apis.WRITE_TXN_MARKERS, version, {"markers": [{**marker, "producerId": -1, "coordinatorEpoch": 0}]})
    twin.ask(apis.WRITE_TXN_MARKERS, version, {"markers": []})
    txn.end(5, 0, commit=False)
