"""Rare and wrong requests to a real Kafka 4.3.1 and to ours: both do the same."""

from __future__ import annotations

import struct
import time
from typing import Any

import pytest

from octavo.format.batches.batch import Origin
from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.kernels.layout import MAGIC_POSITION
from tests.broker.raw import RawClient
from tests.broker.requests import CLOSING_FRAMES, batch, produced
from tests.broker.twin import Twin

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

MAX_WAIT_MS = 300


def produce(twin: Twin, records: bytes, *, topic: str = "probed", version: int = 9, **fields: Any) -> int:
    """The error code that both brokers answer with."""
    answer = twin.ask(apis.PRODUCE, version, {**produced(topic, 0, records), **fields})
    assert answer is not None
    code: int = answer["responses"][0]["partitionResponses"][0]["errorCode"]
    return code


def fetched(version: int, *offsets: int, **fields: Any) -> Row:
    name = {"topicId": "id of t"} if version >= 13 else {"topic": "t"}
    rows = [{"partition": number, "fetchOffset": at, "partitionMaxBytes": 1 << 20} for number, at in enumerate(offsets)]
    topics = [{**name, "partitions": rows}] if rows else []
    return {"maxWaitMs": 0, "minBytes": 1, "maxBytes": 1 << 20, "topics": topics, **fields}


@pytest.mark.parametrize("version", list(apis.API_VERSIONS.versions))
def test_api_versions(twin: Twin, version: int) -> None:
    good = {"clientSoftwareName": "raw", "clientSoftwareVersion": "1.0"} if version >= 3 else {}
    answer = twin.ask(apis.API_VERSIONS, version, good)
    assert answer is not None
    assert len(answer["apiKeys"]) == len(apis.APIS)
    if version >= 3:
        for wrong in ({"clientSoftwareName": "bad name"}, {"clientSoftwareVersion": ""}, {"clientSoftwareName": "-x"}):
            answer = twin.ask(apis.API_VERSIONS, version, {**good, **wrong})
            assert answer is not None
            assert answer["errorCode"] == 42


def test_a_request_waits_for_the_one_before_it(twin: Twin) -> None:
    fetch = fetched(12, 0, maxWaitMs=MAX_WAIT_MS)
    fetch["topics"][0]["topic"] = "empty"
    for address in twin.addresses:
        with RawClient(address) as client:
            client.send(apis.FETCH, 12, fetch)
            client.send(apis.METADATA, 1, {"topics": []})
            started, frames = time.monotonic(), [client.receive(), client.receive()]
            assert time.monotonic() - started > MAX_WAIT_MS / 2000
            assert [struct.unpack_from(">i", frame or b"")[0] for frame in frames] == [1, 2]


@pytest.mark.parametrize("version", range(7, apis.FETCH.versions.highest + 1))
def test_fetch_sessions(twin: Twin, version: int) -> None:
    def ask(body: Row, code: int, *, asked_version: int = version) -> Row:
        answer = twin.ask(apis.FETCH, asked_version, body)
        assert answer is not None
        assert answer["errorCode"] == code
        return answer

    ask(fetched(version, 0, 0, sessionId=0, sessionEpoch=0), 0)
    twin.learn("session", "sessionId")
    named = {"sessionId": "id of session"}
    ask(fetched(version, 10_000, 0, **named, sessionEpoch=1), 0)  # the first is out of range, and so is shown
    assert ask(fetched(version, 0, 0, **named, sessionEpoch=2), 0)["responses"]
    twin.ask(apis.PRODUCE, 9, produced("t", 1, batch(f"{version}")))
    assert len(ask(fetched(version, **named, sessionEpoch=3), 0)["responses"]) == 1
    ask(fetched(version, **named, sessionEpoch=3), 71)
    ask(fetched(version, sessionId=99, sessionEpoch=4), 70)
    if version in (12, 13):
        ask(fetched(25 - version, **named, sessionEpoch=4), 106, asked_version=25 - version)
    topic = fetched(version, 0)["topics"][0]
    gone = [{**{name: topic[name] for name in topic if name != "partitions"}, "partitions": [0, 1]}]
    answer = ask(fetched(version, **named, sessionEpoch=4, forgottenTopicsData=gone), 0)
    assert (answer["sessionId"], answer["responses"]) == (0, [])
    ask(fetched(version, **named, sessionEpoch=5), 70)


def test_an_incremental_answer_without_news_is_empty(twin: Twin) -> None:
    body = fetched(16, 0)
    body["topics"][0]["topicId"] = "id of empty"
    twin.ask(apis.FETCH, 16, {**body, "sessionId": 0, "sessionEpoch": 0})
    twin.learn("session", "sessionId")
    answer = twin.ask(apis.FETCH, 16, fetched(16, sessionId="id of session", sessionEpoch=1))
    assert answer is not None
    assert (answer["errorCode"], answer["responses"]) == (0, [])


@pytest.mark.parametrize(("epoch", "code"), [(-2, 74), (0, 0), (1, 75)])
def test_leader_epochs(twin: Twin, epoch: int, code: int) -> None:
    """The epoch is 0; Fetch does not look at a negative one."""
    current = {"currentLeaderEpoch": epoch}
    for version in range(9, apis.FETCH.versions.highest + 1):
        body = fetched(version, 0)
        body["topics"][0]["partitions"][0] |= current
        answer = twin.ask(apis.FETCH, version, body)
        assert answer is not None
        assert answer["responses"][0]["partitions"][0]["errorCode"] == (0 if epoch < 0 else code)
    for version in range(4, apis.LIST_OFFSETS.versions.highest + 1):
        rows = [{"partitionIndex": 0, "timestamp": -1, **current}]
        answer = twin.ask(apis.LIST_OFFSETS, version, {"replicaId": -1, "topics": [{"name": "t", "partitions": rows}]})
        assert answer is not None
        assert answer["topics"][0]["partitions"][0]["errorCode"] == code
    for version in apis.OFFSET_FOR_LEADER_EPOCH.versions:
        rows = [{"partition": 0, "leaderEpoch": 0, **current}]
        twin.ask(
            apis.OFFSET_FOR_LEADER_EPOCH, version, {"replicaId": -1, "topics": [{"topic": "t", "partitions": rows}]}
        )


@pytest.mark.parametrize("version", range(3, 13))
def test_batches_that_are_refused(twin: Twin, version: int) -> None:
    good = batch("x")
    old = bytearray(good)
    old[MAGIC_POSITION] = 1
    transactional = batch("x", origin=Origin(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert produce(twin, bytes(old), version=version) == 87
    assert produce(twin, struct.pack(">q", 5) + good[8:], version=version) == 87
    assert produce(twin, transactional, version=version) == 53


def test_internal_topics_are_not_written_to(twin: Twin) -> None:
    twin.wait_for_coordinators()
    twin.ask(apis.FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g"]})
    for version in range(3, 13):
        assert produce(twin, batch("x"), topic="__consumer_offsets", version=version) == 17


@pytest.mark.parametrize("version", range(3, 13))
def test_idempotent_producers(twin: Twin, version: int) -> None:
    def send(epoch: int, sequence: int) -> int:
        origin = Origin(producer_id=5000 + version, producer_epoch=epoch, base_sequence=sequence)
        return produce(twin, batch("x", origin=origin), version=version)

    assert [send(1, 0), send(1, 1), send(1, 1)] == [0, 0, 0]
    assert send(1, 5) == 45
    assert send(0, 2) == 47
    assert [send(2, 1), send(2, 0)] == [45, 0]
    answer = twin.ask(apis.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "probed", "partitionIndexes": [0]}]})
    assert answer is not None
    rows = answer["topics"][0]["partitions"][0]["activeProducers"]
    assert (5000 + version, 2, 0) in [(row["producerId"], row["producerEpoch"], row["lastSequence"]) for row in rows]


@pytest.mark.parametrize("sent", CLOSING_FRAMES.values(), ids=CLOSING_FRAMES.keys())
def test_frames_that_close_the_connection(twin: Twin, sent: bytes) -> None:
    for address in twin.addresses:
        with RawClient(address) as client:
            client.socket.sendall(sent)
            assert client.receive() is None


@pytest.mark.parametrize("version", range(3, 13))
def test_acks_0(twin: Twin, version: int) -> None:
    """A batch that was written gets no answer; an error closes the connection."""

    def frame(client: RawClient, topic: str) -> bytes:
        body = produced(topic, 0, batch(f"acks=0 {version}"), acks=0)
        return client.frame(apis.PRODUCE, version, encode(apis.PRODUCE.request, version, body))

    for address in twin.addresses:
        with RawClient(address) as client:
            client.socket.sendall(frame(client, "probed"))
            assert client.ask(apis.METADATA, 1, {"topics": []}) is not None  # the only answer, with its own id
            client.socket.sendall(frame(client, "nowhere"))
            assert client.receive() is None
    end = {"replicaId": -1, "topics": [{"name": "probed", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}
    twin.ask(apis.LIST_OFFSETS, 7, end)
