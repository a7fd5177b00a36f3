"""Crowds of clients that are slow, silent, greedy or gone: others are served meanwhile, and memory grows little."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from octavo.format.messages.codec import encode
from octavo.format.protocol.apis import FETCH, METADATA, PRODUCE
from octavo.format.protocol.frames import request_frame
from tests.broker.good_client import assert_served, make_topics
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced
from tests.broker.served import Served

CLIENTS = int(os.environ.get("OCTAVO_CROWD", "200"))
GROWTH_BYTES = (32 << 20) + CLIENTS * (64 << 10)  # 32 MB, and 64 KB for each client
LARGE = 1 << 20

METADATA_FRAME = request_frame(METADATA, 12, encode(METADATA.request, 12, {"topics": None}), correlation_id=1)


def fetch_frame(max_wait_ms: int, offset: int) -> bytes:
    body = fetching("large", 0, offset=offset, most_bytes=1 << 30, maxWaitMs=max_wait_ms)
    return request_frame(FETCH, 11, encode(FETCH.request, 11, body), correlation_id=1)


def silent(client: socket.socket) -> None:
    """Connects, and says nothing."""


def cut_off(client: socket.socket) -> None:
    """Sends half of a request."""
    client.sendall(METADATA_FRAME[: len(METADATA_FRAME) // 2])


def boasting(client: socket.socket) -> None:
    """Announces a frame as large as allowed, and sends little of it."""
    client.sendall(struct.pack(">i", 100 << 20) + bytes(10_000))


def dripping(client: socket.socket) -> None:
    """Sends a request byte by byte, in as many packets."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for position in range(len(METADATA_FRAME)):
        client.sendall(METADATA_FRAME[position : position + 1])


def sipping(client: socket.socket) -> None:
    """Asks for many records, and takes only a few small sips of them."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(fetch_frame(0, 0) * 20)
    for _ in range(10):
        client.recv(100)


def deaf(client: socket.socket) -> None:
    """Asks for many records, and takes none of them."""
    client.sendall(fetch_frame(0, 0) * 20)


def patient(client: socket.socket) -> None:
    """Waits for records that do not come."""
    client.sendall(fetch_frame(600_000, 16))


def hasty(client: socket.socket) -> None:
    """Asks, and hangs up at once."""
    client.sendall(METADATA_FRAME * 10)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def half_closed(client: socket.socket) -> None:
    """Asks, and closes only its own half of the connection."""
    client.sendall(fetch_frame(600_000, 16))
    client.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("behave", [silent, cut_off, boasting, dripping, sipping, deaf, patient, hasty, half_closed])
def test_others_are_served(tmp_path: Path, behave: Callable[[socket.socket], None]) -> None:
    served = Served(tmp_path / "logs")
    (address,) = served.addresses.values()
    with RawClient(address) as good, ExitStack() as crowd:
        make_topics(good, ["t", "large"])
        for _ in range(16):
            assert good.ask(PRODUCE, 9, produced("large", 0, batch("x" * (LARGE - 1000)))) is not None
        assert_served(good, "t", "before")
        before = served.resident_bytes
        for number in range(CLIENTS):
            behave(crowd.enter_context(socket.create_connection(address)))
            if number % 20 == 0:
                assert_served(good, "t", f"beside {number}")
        assert_served(good, "t", "beside all")
        grown = served.resident_bytes - before
        print(f"{CLIENTS} clients: {grown >> 10} KB more")
        assert grown < GROWTH_BYTES
    with RawClient(address) as good:
        assert_served(good, "t", "after")
    assert served.end(signal.SIGTERM) == 0
    assert served.complaints == []
