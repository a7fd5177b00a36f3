"""Sends mutated requests one by one, and asks after each one whether the connection is still served."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Sequence
from random import Random

from octavo.format.messages.codec import encode
from octavo.format.protocol.apis import API_VERSIONS, METADATA
from octavo.format.protocol.frames import request_frame
from tests.broker.logins import log_in
from tests.broker.plausible import Plausible
from tests.broker.raw import RawClient
from tests.fuzz.mutations import mutated

_LENGTH = struct.Struct(">i")
_PROBE_ID = 0x7ABCDEF0
_PROBE = request_frame(API_VERSIONS, 0, encode(API_VERSIONS.request, 0, {}), correlation_id=_PROBE_ID)
_WAIT_SECONDS = 0.05  # a request that takes longer may rightly be waiting for records or members
_SEEDS_OF_EACH = 4


class Mutants:
    """One connection after another to one listener; `user` logs in first. `outcomes` counts what happened to frames."""

    def __init__(self, address: tuple[str, int], seed: int, topic_ids: Sequence[bytes], *, user: str | None) -> None:
        self._address = address
        self._user = user
        self._random = Random(seed)
        tame = Plausible(self._random, topic_ids)
        self._seeds = [frame for _ in range(_SEEDS_OF_EACH) for frame in tame.every_frame()]
        self._wild = Plausible(self._random, topic_ids, wildness=0.1)
        self._client: RawClient | None = None
        self.outcomes: Counter[str] = Counter()

    def send(self, count: int) -> None:
        for _ in range(count):
            self.outcomes[self._outcome(self._mutant())] += 1

    def send_unchanged(self) -> None:
        """Send one request of every version of every API, unchanged."""
        for frame in self._seeds[: len(self._seeds) // _SEEDS_OF_EACH]:
            self.outcomes[self._outcome(frame)] += 1

    def close(self) -> None:
        if self._client is not None:
            self._client.socket.close()
            self._client = None

    def _mutant(self) -> bytes:
        """Wrong values in the right form, or changed bytes: mostly in the body, sometimes in header and length too."""
        frame, choice = self._random.choice(self._seeds), self._random.random()
        if choice < 0.4:
            return self._wild.any_frame()
        if choice < 0.5:
            return bytes(mutated(self._random, frame, self._seeds))
        start = 12 if choice < 0.9 else _LENGTH.size  # api key, version and correlation id stay
        changed = frame[_LENGTH.size : start] + mutated(self._random, frame[start:], self._seeds)
        return _LENGTH.pack(len(changed)) + changed

    def _outcome(self, frame: bytes) -> str:
        client = self._connected()
        try:
            client.socket.sendall(frame + _PROBE)
            while (answer := client.receive()) is not None:
                if _LENGTH.unpack_from(answer)[0] == _PROBE_ID:
                    return "answered"
        except TimeoutError:
            self.close()
            return "waits"
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close()
        return "closed"

    def _connected(self) -> RawClient:
        if self._client is None:
            client = RawClient(self._address)
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._user is not None:
                log_in(client, self._user)
            client.socket.settimeout(_WAIT_SECONDS)
            self._client = client
        return self._client


def topic_ids(address: tuple[str, int], topics: Sequence[str]) -> list[bytes]:
    """The ids that the broker has given to topics."""
    with RawClient(address) as client:
        answer = client.ask(METADATA, 12, {"topics": [{"name": name} for name in topics]})
    assert answer is not None
    return [row["topicId"] for row in answer["topics"]]
