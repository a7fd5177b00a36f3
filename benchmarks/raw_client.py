"""A client that repeats one request on a few connections as fast as a broker answers, and costs little CPU time."""

from __future__ import annotations

import socket

from tests.broker.raw import RawClient

from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import Api

_RECEIVE_BYTES = 4 << 20


class Repeated:
    """One connection with `in_flight` requests; all answers have the size of the first one."""

    def __init__(self, address: tuple[str, int], api: Api, version: int, body: Row, in_flight: int) -> None:
        self._client = RawClient(address)
        self._in_flight = in_flight
        frame = self._client.frame(api, version, encode(api.request, version, body))
        self._client.socket.sendall(frame)
        answer = self._client.receive()
        assert answer is not None, "the broker closed the connection"
        self._answer_bytes = 4 + len(answer)
        self._frames = frame * in_flight
        self._buffer = memoryview(bytearray(min(_RECEIVE_BYTES, self._answer_bytes * in_flight)))

    @property
    def socket(self) -> socket.socket:
        return self._client.socket

    def send(self) -> None:
        self.socket.sendall(self._frames)

    def receive(self) -> None:
        left = self._answer_bytes * self._in_flight
        while left:
            count = self.socket.recv_into(self._buffer[: min(left, len(self._buffer))])
            if not count:
                raise ConnectionError("the broker closed the connection")
            left -= count


def repeat(clients: list[Repeated], requests: int, in_flight: int) -> None:
    """Send about this many requests over all connections; each gets its next ones once the last are answered."""
    rounds = max(1, requests // (len(clients) * in_flight))
    for client in clients:
        client.send()
    for number in range(rounds):
        for client in clients:
            client.receive()
            if number + 1 < rounds:
                client.send()
