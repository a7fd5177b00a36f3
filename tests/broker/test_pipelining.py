"""Requests that arrive together: their frames, their answers in order, and what happens when one of them fails."""

from __future__ import annotations

import struct
from random import Random

import octavo
from octavo.broker.broker import Broker
from octavo.broker.network.inbox import FrameLimit, Inbox, SharedBuffer
from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import FETCH, METADATA, PRODUCE, Api
from octavo.format.protocol.frames import read_response
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced

SIZES = (0, 1, 3, 100, 5_000, 70_000, 300_000)


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_frames_of_connections_that_share_a_buffer() -> None:
    """Each connection gets its own frames, however its bytes arrive between those of others."""
    random, shared = Random(4), SharedBuffer()
    frames = [[random.randbytes(random.choice(SIZES)) for _ in range(60)] for _ in range(3)]
    inboxes = [Inbox(FrameLimit("socket.request.max.bytes", 1 << 20), shared) for _ in frames]
    left = [b"".join(map(framed, some)) for some in frames]
    found: list[list[bytes]] = [[] for _ in frames]
    while any(left):
        one = random.randrange(len(inboxes))
        inbox = inboxes[one]
        room = inbox.room()
        count = min(len(room), len(left[one]), random.choice((0, 1, 4, 1_000, 20_000, 1 << 20)))
        if not count:
            continue  # nothing came: what another connection receives must not matter
        room[:count] = left[one][:count]
        left[one] = left[one][count:]
        inbox.received(count)
        for _ in range(random.choice((1, 100))):
            if (frame := inbox.next_frame()) is None:
                break
            found[one].append(bytes(frame))
        inbox.settle()
    for one, inbox in enumerate(inboxes):
        while (frame := inbox.next_frame()) is not None:
            found[one].append(bytes(frame))
        assert inbox.is_empty
    assert found == frames


def together(client: RawClient, *requests: tuple[Api, int, Row]) -> bytes:
    return b"".join(client.frame(api, version, encode(api.request, version, body)) for api, version, body in requests)


def answers(client: RawClient, *apis: tuple[Api, int]) -> list[Row]:
    found = []
    for number, (api, version) in enumerate(apis, 1):
        frame = client.receive()
        assert frame is not None
        correlation_id, body = read_response(api, version, frame)
        assert correlation_id == number
        found.append(body)
    return found


FETCHED = fetching("t", 0, maxWaitMs=60_000)


def test_answers_come_in_order(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    some = [(METADATA, 12, {"topics": []}), (PRODUCE, 9, produced("t", 0, batch("a"))), (FETCH, 12, FETCHED)] * 20
    client.socket.sendall(together(client, *some))
    found = answers(client, *((api, version) for api, version, _ in some))
    places = [row["responses"][0]["partitionResponses"][0]["baseOffset"] for row in found[1::3]]
    assert places == list(range(20))
    sizes = [len(row["responses"][0]["partitions"][0]["records"]) for row in found[2::3]]
    assert sizes == [len(batch("a")) * count for count in range(1, 21)]


def test_a_bad_request_does_not_take_earlier_answers_with_it(broker: Broker) -> None:
    with RawClient(broker.address) as client:
        good = together(client, *[(METADATA, 12, {"topics": []})] * 3)
        client.socket.sendall(good + framed(struct.pack(">hhih", 999, 0, 9, -1)) + together(client, (METADATA, 12, {})))
        assert len(answers(client, *[(METADATA, 12)] * 3)) == 3
        assert client.receive() is None


def test_a_wait_does_not_hold_back_earlier_answers(client: RawClient, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 1)
    client.socket.sendall(together(client, (METADATA, 12, {"topics": []}), (FETCH, 12, FETCHED)))
    assert len(answers(client, (METADATA, 12))) == 1
