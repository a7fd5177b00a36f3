"""A broker over directories that it may only read."""

from __future__ import annotations

import hashlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import octavo
from octavo.broker.broker import Broker
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.librdkafka import SECONDS, Servers, consume
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced

WHY = "This broker is read-only: it serves another broker's files without changing them."
VALUES = [b"%d" % number for number in range(100)]


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file's digest and modification time."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The disk of a crashed broker: the last batch in its log is torn."""
    folder = tmp_path / "disk"
    with octavo.LogDir(folder, create=True) as logs:
        logs.create_topic("t", 1)
        with logs.producer(linger_ms=0) as producer:
            for value in VALUES:
                producer.send("t", value).get(20)
    (folder / ".kafka_cleanshutdown").unlink()
    (folder / "recovery-point-offset-checkpoint").unlink()
    with (folder / "t-0" / f"{0:020}.log").open("ab") as log:
        log.write(b"torn")
    return folder


@pytest.fixture
def served(disk: Path) -> Iterator[Broker]:
    before = state(disk)
    with Broker(disk, read_only=True) as broker:
        yield broker
    assert state(disk) == before


def test_the_command_says_what_recovery_would_cut(disk: Path) -> None:
    line = [sys.executable, "-m", "octavo", "broker", str(disk), "--read-only", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening on ")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert re.fullmatch(r"octavo: t-0: segment 0, position \d+: 4 bytes would be cut: .+\n", said)


def test_records_are_read_and_nothing_is_changed(served: Broker) -> None:
    servers: Servers = {"bootstrap.servers": served.bootstrap_servers}
    assert consume(servers, "t", 1, len(VALUES)) == VALUES


def test_a_directory_that_has_an_owner_can_be_served(disk: Path) -> None:
    with octavo.LogDir(disk) as logs, Broker(disk, read_only=True) as broker:
        assert consume({"bootstrap.servers": broker.bootstrap_servers}, "t", 1, len(VALUES)) == VALUES
        assert logs.producer().send("t", b"later").get(SECONDS).offset == len(VALUES)


def test_a_broker_can_be_closed_although_the_owner_has_deleted_a_topic(disk: Path) -> None:
    with Broker(disk, read_only=True):
        shutil.rmtree(disk / "t-0")


COMMITTED = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}]
WRITES: list[tuple[Api, int, Row]] = [
    (apis.PRODUCE, 9, produced("t", 0, batch("x"))),
    (apis.CREATE_TOPICS, 7, {"topics": [{"name": "n", "numPartitions": 1, "replicationFactor": 1}], "timeoutMs": 1000}),
    (apis.DELETE_TOPICS, 6, {"topics": [{"name": "t"}], "timeoutMs": 1000}),
    (apis.CREATE_PARTITIONS, 3, {"topics": [{"name": "t", "count": 2}], "timeoutMs": 1000}),
    (apis.DELETE_RECORDS, 2, {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": 5}]}],
                              "timeoutMs": 1000}),
    (apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [{"resourceType": 2, "resourceName": "t", "configs": [
        {"name": "retention.ms", "configOperation": 0, "value": "1"}]}]}),
    (apis.ALTER_CONFIGS, 2, {"resources": [{"resourceType": 2, "resourceName": "t", "configs": []}]}),
    (apis.INIT_PRODUCER_ID, 4, {"transactionalId": None, "transactionTimeoutMs": 1000}),
    (apis.INIT_PRODUCER_ID, 4, {"transactionalId": "x", "transactionTimeoutMs": 1000}),
    (apis.END_TXN, 5, {"transactionalId": "x", "producerId": 1, "producerEpoch": 0, "committed": True}),
    (apis.ADD_OFFSETS_TO_TXN, 3, {"transactionalId": "x", "producerId": 1, "producerEpoch": 0, "groupId": "g"}),
    (apis.WRITE_TXN_MARKERS, 1, {"markers": [{"producerId": 1, "producerEpoch": 0, "transactionResult": True,
        "coordinatorEpoch": 0, "topics": [{"name": "t", "partitionIndexes": [0]}]}]}),
    (apis.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [{"name": "a", "mechanism": 1}], "upsertions": []}),
    (apis.ADD_PARTITIONS_TO_TXN, 3, {"v3AndBelowTransactionalId": "x", "v3AndBelowProducerId": 1,
        "v3AndBelowProducerEpoch": 0, "v3AndBelowTopics": [{"name": "t", "partitions": [0]}]}),
    (apis.ADD_PARTITIONS_TO_TXN, 5, {"transactions": [{"transactionalId": "x", "producerId": 1, "producerEpoch": 0,
        "verifyOnly": False, "topics": [{"name": "t", "partitions": [0]}]}]}),
    (apis.TXN_OFFSET_COMMIT, 4, {"transactionalId": "x", "groupId": "g", "producerId": 1, "producerEpoch": 0,
        "topics": COMMITTED}),
    (apis.OFFSET_COMMIT, 9, {"groupId": "g", "topics": COMMITTED}),
    (apis.OFFSET_DELETE, 0, {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}),
    (apis.DELETE_GROUPS, 2, {"groupsNames": ["g"]}),
    (apis.JOIN_GROUP, 9, {"groupId": "g", "sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 10_000, "memberId": "",
        "protocolType": "consumer", "protocols": [{"name": "range", "metadata": b""}]}),
    (apis.SYNC_GROUP, 5, {"groupId": "g", "generationId": 1, "memberId": "m", "protocolType": "consumer",
        "protocolName": "range", "assignments": []}),
    (apis.HEARTBEAT, 4, {"groupId": "g", "generationId": 1, "memberId": "m"}),
    (apis.LEAVE_GROUP, 5, {"groupId": "g", "members": [{"memberId": "m"}]}),
    (apis.CONSUMER_GROUP_HEARTBEAT, 1, {"groupId": "g", "memberId": "AAAAAAAAAAAAAAAAAAAAAA", "memberEpoch": 0,
        "rebalanceTimeoutMs": 1000, "subscribedTopicNames": ["t"], "topicPartitions": []}),
    (apis.CREATE_ACLS, 3, {"creations": [{"resourceType": 2, "resourceName": "t", "resourcePatternType": 3,
        "principal": "User:a", "host": "*", "operation": 3, "permissionType": 3}]}),
    (apis.DELETE_ACLS, 3, {"filters": [{"resourceTypeFilter": 2, "resourceNameFilter": "t", "patternTypeFilter": 3,
        "operation": 1, "permissionType": 1}]}),
    (apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [{"entity": [{"entityType": "user", "entityName": "a"}],
        "ops": [{"key": "consumer_byte_rate", "value": 1.0, "remove": False}]}], "validateOnly": False}),
    (apis.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": "/x", "topics": [{"name": "t", "partitions": [0]}]}]}),
]  # fmt: skip


@pytest.mark.parametrize("api, version, body", WRITES, ids=[api.name for api, _, _ in WRITES])
def test_what_would_change_something_is_refused(served: Broker, api: Api, version: int, body: Row) -> None:
    with RawClient(served.address) as client:
        answer = client.ask(api, version, body)
    codes, sentences = found(answer, "rrorCode"), found(answer, "rrorMessage")
    assert set(codes) - {0} == {ErrorCode.POLICY_VIOLATION}
    assert set(sentences) <= {WHY}


def found(answer: object, ending: str) -> list[object]:
    """The values of all fields of an answer whose name has this ending."""
    if isinstance(answer, list):
        return [value for row in answer for value in found(row, ending)]
    if not isinstance(answer, dict):
        return []
    here = [value for name, value in answer.items() if name.endswith(ending)]
    return here + [value for row in answer.values() for value in found(row, ending)]


def test_a_producer_reads_why(served: Broker) -> None:
    with RawClient(served.address) as client:
        answers = [client.ask(apis.PRODUCE, version, produced("t", 0, batch("x"))) for version in (7, 8, 12)]
    assert [found(answer, "errorMessage") for answer in answers] == [[None], [WHY], [WHY]]
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    producer.produce("t", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    (error,) = errors
    assert error is not None
    assert (error.code(), error.str()) == (KafkaError.POLICY_VIOLATION, "Broker: Policy violation")  # librdkafka's text


def test_a_client_reads_why(served: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": served.bootstrap_servers})
    (created,) = admin.create_topics([NewTopic("n", 1, 1)]).values()
    with pytest.raises(KafkaException) as failure:
        created.result(SECONDS)
    error: KafkaError = failure.value.args[0]
    assert error.str() == WHY


def test_topics_are_not_created_by_asking(served: Broker) -> None:
    with RawClient(served.address) as client:
        answer = client.ask(apis.METADATA, 12, {"topics": [{"name": "n"}], "allowAutoTopicCreation": True})
    assert answer is not None
    assert answer["topics"][0]["errorCode"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
