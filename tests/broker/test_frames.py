"""What arrives on a connection, in one piece or in several, right or wrong."""

from __future__ import annotations

import logging
import socket
import struct
import time

import pytest

from octavo.broker.broker import Broker
from octavo.broker.handlers import HANDLERS
from octavo.format.messages.codec import encode
from octavo.format.protocol.apis import API_VERSIONS, APIS, METADATA
from tests.broker.raw import RawClient
from tests.broker.requests import CLOSING_FRAMES

ASKED = {"topics": None}
FRANZ_GO_V5 = "001200050000000000036b676f00046b676f0876312e32322e3200ffffffff00"  # captured, like the answer
ANSWER_TO_V5 = "00000000002300000001001200000004"


def test_a_request_may_arrive_byte_by_byte(client: RawClient) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in client.frame(METADATA, 13, encode(METADATA.request, 13, ASKED)):
        client.socket.sendall(bytes([byte]))
    frame = client.receive()
    assert frame is not None
    assert client.read(METADATA, 13, frame)["brokers"]


def test_many_requests_at_once_are_answered_in_order(client: RawClient) -> None:
    body = encode(METADATA.request, 1, ASKED)
    client.socket.sendall(b"".join(client.frame(METADATA, 1, body) for _ in range(500)))
    found = [client.receive() for _ in range(500)]
    assert [struct.unpack_from(">i", frame or b"\0\0\0\0")[0] for frame in found] == list(range(1, 501))


def test_a_newer_client_is_told_which_versions_there_are(client: RawClient) -> None:
    frame = bytes.fromhex(FRANZ_GO_V5)
    client.socket.sendall(struct.pack(">i", len(frame)) + frame)
    assert client.receive() == bytes.fromhex(ANSWER_TO_V5)


@pytest.mark.parametrize("version", list(API_VERSIONS.versions))
def test_every_listed_api_is_one_that_is_answered(client: RawClient, version: int) -> None:
    software = {"clientSoftwareName": "raw", "clientSoftwareVersion": "1.0"} if version >= 3 else {}
    answer = client.ask(API_VERSIONS, version, software)
    assert answer is not None
    listed = {row["apiKey"]: (row["minVersion"], row["maxVersion"]) for row in answer["apiKeys"]}
    assert listed.pop(0) == (0, 13)
    assert listed == {key: (api.versions.lowest, api.versions.highest) for key, api in APIS.items() if key}
    assert set(APIS) == set(HANDLERS)


@pytest.mark.parametrize("sent", CLOSING_FRAMES.values(), ids=CLOSING_FRAMES.keys())
def test_what_kafka_does_not_answer_closes_the_connection(broker: Broker, sent: bytes) -> None:
    with RawClient(broker.address) as bad, RawClient(broker.address) as good:
        bad.socket.sendall(sent)
        assert bad.receive() is None
        assert good.ask(METADATA, 13, ASKED) is not None


def test_a_request_that_is_too_large_is_logged_with_the_limit(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "octavo.broker"), RawClient(broker.address) as lost:
        lost.socket.sendall(b"GET / HTTP/1.1\r\n")
        assert lost.receive() is None
    assert [record.getMessage() for record in caplog.records] == [
        "127.0.0.1: closed: a request of 1195725856 bytes, expected at most socket.request.max.bytes, 104857600"
    ]


def test_a_client_that_takes_no_answers_is_not_read_from(broker: Broker) -> None:
    """What it sends waits in its own socket; others are served."""
    with RawClient(broker.address) as stuck, RawClient(broker.address) as good:
        frame = stuck.frame(METADATA, 1, encode(METADATA.request, 1, ASKED))
        stuck.socket.settimeout(0.5)
        sent = 0
        try:
            while sent < 200 << 20:
                sent += stuck.socket.send(frame * 1000)
        except TimeoutError:
            pass
        assert sent < 200 << 20
        assert good.ask(METADATA, 13, ASKED) is not None


def test_idle_connections_are_closed(broker: Broker) -> None:
    limits = broker._server._limits
    with RawClient(broker.address) as idle:
        assert idle.ask(METADATA, 13, ASKED) is not None
        limits._max_idle_ms = 0
        time.sleep(0.01)
        broker._call(limits.close_idle)
        assert idle.receive() is None
        assert not limits.connections


def test_one_address_has_its_share_of_connections(broker: Broker) -> None:
    broker.logs.alter_broker_configs({"max.connections.per.ip": "1"})
    with RawClient(broker.address) as first:
        assert first.ask(METADATA, 13, ASKED) is not None
        with RawClient(broker.address) as second:
            assert second.ask(METADATA, 13, ASKED) is None
    with RawClient(broker.address) as third:
        assert third.ask(METADATA, 13, ASKED) is not None
