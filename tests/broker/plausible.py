"""Requests that a client could send: every API in every version, with names and ids that the broker knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from octavo.format.messages.codec import encode
from octavo.format.messages.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    RECORDS,
    STRING,
    UUID,
    Array,
    Field,
    Row,
    Struct,
    Type,
)
from octavo.format.protocol.apis import APIS, Api
from octavo.format.protocol.frames import request_frame
from tests.broker.raw import CLIENT_ID
from tests.broker.requests import batch
from tests.format.messages.random_rows import plain_value

TOPIC = "t"
WORDS = (TOPIC, TOPIC, "u", "missing", "new", "__consumer_offsets", "g", "", "0", "*", "retention.ms", "User:alice")
WORDS_OF: Mapping[str, Sequence[str]] = {
    "mechanism": ("PLAIN", "SCRAM-SHA-256", "GSSAPI"),
    "value": ("1000", "compact", "", "x"),
    "subscribedTopicRegex": ("t.*", "(", "x{1000}"),
}
# Small, so that no request waits long, creates many partitions or asks for many hashes.
NUMBERS_OF: Mapping[str, Sequence[int]] = {
    "maxWaitMs": (0, 1),
    "timeoutMs": (1, 100),
    "numPartitions": (-1, 1, 2),
    "count": (1, 2, 3),
    "replicationFactor": (-1, 1, 2),
    "iterations": (4096, 1),
    "sessionTimeoutMs": (6000, 1),
    "rebalanceTimeoutMs": (1, 10),
    "transactionTimeoutMs": (1000, 60_000),
    "timestamp": (-1, -2, -3, 1_700_000_000_000),
    "version": (0, 1),
}
NUMBERS = (0, 0, 0, 1, 1, 2, -1)


class Plausible:
    """Makes requests; `topic_ids` are ids that the broker has given to topics. `wildness` is the share of values that
    may be anything their type can hold. `pools` has the values of some fields, by `field` or `parent.field`."""

    def __init__(
        self,
        random: Random,
        topic_ids: Sequence[bytes],
        *,
        wildness: float = 0.0,
        pools: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self._random = random
        self._wildness = wildness
        self._ids = [bytes(16), bytes(range(16)), *topic_ids]
        self._batches = [batch("x"), batch("y" * 200), batch("x") + batch("z")]
        self._pools = pools or {}

    def any_frame(self) -> bytes:
        api = self._random.choice(list(APIS.values()))
        return self.frame(api, self._random.choice(list(api.versions)))

    def every_frame(self) -> list[bytes]:
        """A whole frame for every version of every API."""
        return [self.frame(api, version) for api in APIS.values() for version in api.versions]

    def frame(self, api: Api, version: int) -> bytes:
        body = encode(api.request, version, self.body(api, version))
        return request_frame(api, version, body, correlation_id=self._random.randrange(1 << 31), client_id=CLIENT_ID)

    def body(self, api: Api, version: int) -> Row:
        return self._row(api.request.fields, version, "")

    def _row(self, fields: Sequence[Field], version: int, parent: str) -> Row:
        return {part.name: self._value(part, version, parent) for part in fields if version in part.versions}

    def _value(self, part: Field, version: int, parent: str) -> Any:
        choice = self._random.random()
        if version in part.tagged and choice < 0.5:
            return part.default()
        if version in part.nullable and choice < 0.2:
            return None
        if isinstance(part.type, Array):
            count = self._random.choice((0, 1, 1, 2))
            return [self._plain(part.name, part.type.element, version, parent) for _ in range(count)]
        return self._plain(part.name, part.type, version, parent)

    def _plain(self, name: str, kind: Type, version: int, parent: str) -> Any:
        choose = self._random.choice
        if isinstance(kind, Struct):
            return self._row(kind.fields, version, name)
        if self._random.random() < self._wildness:
            return plain_value(self._random, kind, version, unknown_tags=False)
        pool = self._pools.get(f"{parent}.{name}") or self._pools.get(name)
        if pool is not None:
            return choose(pool)
        if kind is BOOL:
            return choose((False, True))
        if kind is FLOAT64:
            return choose((0.0, 1e6))
        if kind is UUID:
            return choose(self._ids)
        if kind is STRING:
            return choose(WORDS_OF.get(name, WORDS))
        if kind is RECORDS:
            return choose(self._batches)
        if kind is BYTES:
            return choose((b"", b"\0alice\0secret", b"n,,n=alice,r=nonce", self._random.randbytes(16)))
        return choose(NUMBERS_OF.get(name, NUMBERS))
