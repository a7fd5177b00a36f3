"""Clients that mean harm, or die at the wrong moment: others are served, and memory is released."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.broker.network.inbox import FrameLimit, Inbox, SharedBuffer
from octavo.broker.security.listeners import parse_listener
from octavo.format.batches.batch import Origin
from octavo.format.messages.codec import encode
from octavo.format.protocol.apis import (
    API_VERSIONS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    INIT_PRODUCER_ID,
    METADATA,
    PRODUCE,
)
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced

ASKED = {"topics": None}


def test_a_file_that_gets_shorter_while_it_is_sent_ends_that_connection_alone(
    broker: Broker, logs: octavo.LogDir
) -> None:
    logs.create_topic("t", 1)
    with logs.producer() as producer:
        for _ in range(48):
            producer.send("t", os.urandom(500_000)).result(10)
    with RawClient(broker.address) as slow, RawClient(broker.address) as other:
        slow.send(FETCH, 12, fetching("t", 0, most_bytes=1 << 30))
        slow.send(API_VERSIONS, 0, {})
        time.sleep(0.3)  # the socket is full by now
        logs.truncate("t", 0, 0)
        with suppress(ConnectionResetError):
            while slow.socket.recv(1 << 20):
                pass
        assert other.ask(METADATA, 12, ASKED) is not None


def test_the_buffer_of_a_large_frame_is_released_with_it() -> None:
    inbox = Inbox(FrameLimit("socket.request.max.bytes", 100 << 20), SharedBuffer())
    frame = struct.pack(">i", 20 << 20) + bytes(20 << 20)
    position = 0
    while position < len(frame):
        room = inbox.room()
        count = min(len(room), len(frame) - position)
        room[:count] = frame[position : position + count]
        inbox.received(count)
        position += count
    found = inbox.next_frame()
    assert found is not None
    assert len(found) == 20 << 20
    assert len(inbox.room()) <= 1 << 20


def test_a_large_request_without_records_is_not_read(broker: Broker) -> None:
    with RawClient(broker.address) as client:
        body = encode(METADATA.request, 12, {"topics": [{"name": "t"}] * 500_000})
        client.socket.sendall(client.frame(METADATA, 12, body))
        assert client.receive() is None


def test_one_topic_many_times_is_answered_once(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    answer = client.ask(METADATA, 12, {"topics": [{"name": "t"}] * 10_000})
    assert answer is not None
    assert len(answer["topics"]) == 1


def test_more_partitions_than_memory_holds_are_refused(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    new = {"name": "new", "numPartitions": 2**31 - 1, "replicationFactor": 1}
    made = client.ask(CREATE_TOPICS, 4, {"topics": [new], "timeoutMs": 1000, "validateOnly": True})
    more = {"name": "t", "count": 2**31 - 1, "assignments": None}
    grown = client.ask(CREATE_PARTITIONS, 1, {"topics": [more], "timeoutMs": 1000, "validateOnly": False})
    assert made is not None
    assert grown is not None
    codes = made["topics"][0]["errorCode"], grown["results"][0]["errorCode"]
    assert codes == (ErrorCode.POLICY_VIOLATION, ErrorCode.POLICY_VIOLATION)


def test_too_many_partitions_are_refused_even_if_each_is_assigned(client: RawClient, logs: octavo.LogDir) -> None:
    assignments = [{"partitionIndex": number, "brokerIds": [logs.node_id]} for number in range(10_001)]
    new = {"name": "new", "numPartitions": -1, "replicationFactor": -1, "assignments": assignments}
    made = client.ask(CREATE_TOPICS, 4, {"topics": [new], "timeoutMs": 1000, "validateOnly": True})
    assert made is not None
    assert made["topics"][0]["errorCode"] == ErrorCode.POLICY_VIOLATION


def test_a_transaction_that_nobody_could_end_is_refused(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    records = batch("open", origin=Origin(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    answer = client.ask(PRODUCE, 9, {**produced("t", 0, records), "transactionalId": "x"})
    assert answer is not None
    assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == ErrorCode.NOT_ENOUGH_REPLICAS
    client.ask(INIT_PRODUCER_ID, 4, {"transactionalId": "y", "transactionTimeoutMs": 1000})
    answer = client.ask(PRODUCE, 9, {**produced("t", 0, records), "transactionalId": "x"})
    assert answer is not None
    assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert logs.log("t", 0).log_end_offset == 0


def test_a_name_too_long_to_be_repeated_is_answered(client: RawClient) -> None:
    new = {"name": "x" * 32_700, "numPartitions": 1, "replicationFactor": 1}
    answer = client.ask(CREATE_TOPICS, 4, {"topics": [new], "timeoutMs": 1000})
    assert answer is not None
    assert answer["topics"][0]["errorCode"] == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("limit", [0, -5])
def test_a_page_has_at_least_one_partition(client: RawClient, logs: octavo.LogDir, limit: int) -> None:
    logs.create_topic("t", 2)
    body = {"topics": [], "responsePartitionLimit": limit, "cursor": None}
    answer = client.ask(DESCRIBE_TOPIC_PARTITIONS, 0, body)
    assert answer is not None
    assert [len(row["partitions"]) for row in answer["topics"]] == [1]


def test_a_client_that_leaves_during_a_long_poll_is_noticed(broker: Broker, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    with RawClient(broker.address) as gone:
        gone.send(FETCH, 12, fetching("t", 0, maxWaitMs=2**31 - 1))
        time.sleep(0.1)
    end = time.monotonic() + 10
    while broker._server._limits.connections and time.monotonic() < end:
        time.sleep(0.01)
    assert not broker._server._limits.connections
    assert not logs.log("t", 0)._watchers


def test_large_frames_that_do_not_arrive_give_their_memory_back(broker: Broker) -> None:
    limits = broker._server._limits
    with RawClient(broker.address) as slow, RawClient(broker.address) as waiting:
        limits._free_bytes = 1 << 20
        slow.socket.sendall(struct.pack(">i", 900 << 10) + b"\0")
        while not limits._granted:
            time.sleep(0.01)
        waiting.socket.sendall(struct.pack(">i", 900 << 10) + b"\0")
        while not limits._waiting:
            time.sleep(0.01)
        for connection in limits._granted_since:
            limits._granted_since[connection] -= 60_000
        broker._call(limits.close_idle)
        assert slow.receive() is None
        end = time.monotonic() + 10
        while limits._waiting and time.monotonic() < end:
            time.sleep(0.01)
        assert not limits._waiting


def test_no_limit_on_idle_connections(broker: Broker) -> None:
    broker._server._limits._max_idle_ms = -1
    with RawClient(broker.address) as idle:
        assert idle.ask(METADATA, 12, ASKED) is not None
        broker._call(broker._server._limits.close_idle)
        assert idle.ask(METADATA, 12, ASKED) is not None


def test_a_forked_child_leaves_the_broker_alone(broker: Broker) -> None:
    child = os.fork()
    if not child:
        broker.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with RawClient(broker.address) as client:
        assert client.ask(METADATA, 12, ASKED) is not None


@pytest.mark.parametrize("text", ["", "9092", "host:", "host:http", "host:99999"])
def test_what_is_not_an_address(text: str) -> None:
    with pytest.raises(ValueError, match="PROTOCOL"):
        parse_listener(text)


def test_a_connection_that_cannot_receive_is_closed(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the loop would try again and again, and serve nobody else."""
    with RawClient(broker.address) as failing, RawClient(broker.address) as other:
        assert other.ask(METADATA, 12, ASKED) is not None
        with monkeypatch.context() as patched:
            patched.setattr(Inbox, "room", lambda _: 1 // 0)
            failing.send(METADATA, 12, ASKED)
            assert failing.receive() is None
        assert other.ask(METADATA, 12, ASKED) is not None
