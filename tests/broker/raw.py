"""A client that sends any request in any version, one by one, and shows the answers as rows."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Self

from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import Api
from octavo.format.protocol.frames import read_response, request_frame

CLIENT_ID = "raw"
PATIENCE_SECONDS = 30.0  # how long a broker may take to show a change
_SECONDS = 10.0


def is_done(answer: Row) -> bool:
    return not answer["errorCode"]


class RawClient:
    """One connection. An answer of None means that the broker closed it."""

    def __init__(self, address: tuple[str, int], *, client_id: str | None = CLIENT_ID) -> None:
        self.socket = socket.create_connection(address, _SECONDS)
        self._client_id = client_id
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, api: Api, version: int, body: Row) -> Row | None:
        self.send(api, version, body)
        frame = self.receive()
        return None if frame is None else self.read(api, version, frame)

    def ask_until(self, api: Api, version: int, body: Row, is_wanted: Callable[[Row], bool] = is_done) -> Row:
        """The first answer that is wanted: a real broker needs a moment until it shows a change."""
        end = time.monotonic() + PATIENCE_SECONDS
        while (answer := self.ask(api, version, body)) is not None:
            if is_wanted(answer):
                return answer
            assert time.monotonic() < end, f"{api.name} v{version} {body}: still {answer}"
            time.sleep(0.02)
        raise AssertionError(f"{api.name} v{version} {body}: the broker closed the connection")

    def send(self, api: Api, version: int, body: Row) -> None:
        self.socket.sendall(self.frame(api, version, encode(api.request, version, body)))

    def frame(self, api: Api, version: int, body: bytes) -> bytes:
        self._correlation_id += 1
        return request_frame(api, version, body, correlation_id=self._correlation_id, client_id=self._client_id)

    def receive(self) -> bytes | None:
        """The next frame without its length; None once the connection is closed."""
        try:
            head = self._exactly(4)
            return None if head is None else self._exactly(struct.unpack(">i", head)[0])
        except ConnectionResetError:
            return None

    def read(self, api: Api, version: int, frame: bytes) -> Row:
        correlation_id, body = read_response(api, version, frame)
        assert correlation_id == self._correlation_id
        return body

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data
