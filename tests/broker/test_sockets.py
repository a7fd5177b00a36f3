"""What the broker sets on the sockets of its listeners."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from octavo.broker.network.server import bind
from octavo.broker.security.listeners import Endpoint

CONGESTION = getattr(socket, "TCP_CONGESTION", -1)


@pytest.mark.skipif(CONGESTION < 0, reason="this system has no TCP_CONGESTION")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_connection_within_the_machine_is_not_paced(host: str) -> None:
    with closing(bind(Endpoint(host, 0))) as listening:
        listening.listen()
        with socket.create_connection((host, listening.getsockname()[1])):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, CONGESTION, 16).rstrip(b"\0") == b"reno"


@pytest.mark.skipif(CONGESTION < 0, reason="this system has no TCP_CONGESTION")
def test_a_listener_beyond_the_machine_keeps_the_systems_congestion_control() -> None:
    with socket.socket() as plain, closing(bind(Endpoint("0.0.0.0", 0))) as listening:
        of_system = plain.getsockopt(socket.IPPROTO_TCP, CONGESTION, 16)
        assert listening.getsockopt(socket.IPPROTO_TCP, CONGESTION, 16) == of_system
