"""Asks a real Kafka and ours the same questions, and compares the answers."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any, Self

import octavo
from octavo.broker.broker import Broker
from octavo.config.table import BROKER_CONFIGS, SYNONYMS
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.logins import log_in
from tests.broker.raw import PATIENCE_SECONDS, RawClient
from tests.interop.broker import PROPERTIES
from tests.interop.broker import Broker as KafkaBroker

ZERO_ID = bytes(16)
NO_ID = b"\1" * 16
MASKED = {
    *("throttleTimeMs", "clusterId", "host", "port", "sessionId", "producerId", "logDir", "totalBytes", "usableBytes"),
    *("errorMessage", "batchIndexErrorMessage", "documentation"),  # ours have their own wording
    *("commitTimestamp", "currentStateTimestamp", "finalizedFeaturesEpoch"),
}
UNORDERED = {  # in the order of Java's maps
    *("topics", "configs", "replicaElectionResults", "partitionResult", "results"),
    *("resources", "acls", "matchingAcls", "mechanisms", "credentialInfos", "members", "groups"),
    *("supportedFeatures", "finalizedFeatures"),
}
_LISTED = {"apiKeys": "apiKey", "supportedFeatures": "name", "finalizedFeatures": "name"}
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def known(properties: Mapping[str, str]) -> dict[str, str]:
    """The configs of a real broker that ours has too."""
    return {name: value for name, value in properties.items() if name in {**BROKER_CONFIGS, **SYNONYMS}}


def wait_for_coordinators(client: RawClient) -> None:
    """Wait until a broker has created the topics of its coordinators, which it does when asked, and loaded offsets."""
    for kind in (0, 1):
        client.ask_until(apis.FIND_COORDINATOR, 3, {"key": "g", "keyType": kind})
    client.ask_until(apis.OFFSET_FETCH, 7, {"groupId": "g", "topics": None})


def topic_ids(client: RawClient, topics: Collection[str]) -> dict[str, bytes]:
    """The ids of these topics and of all others, once a broker shows them: it does so a moment after creating them."""

    def ids(answer: Row) -> dict[str, bytes]:
        return {row["name"]: row["topicId"] for row in answer["topics"]}

    return ids(client.ask_until(apis.METADATA, 12, {"topics": None}, lambda answer: ids(answer).keys() >= set(topics)))


class Twin:
    """Asks both brokers, and compares their answers."""

    masked = frozenset(MASKED)
    unordered = frozenset(UNORDERED)
    new_ids: re.Pattern[str] | None = None  # texts that are random ids, unless they have been learned
    logs: octavo.LogDir  # our broker's; not set by `__init__`

    def __init__(self, real: tuple[str, int], ours: tuple[str, int]) -> None:
        self._addresses = real, ours
        self.user: str | None = None  # if set, this user logs in on every connection
        self._ids: list[dict[str, Any]] = [{}, {}]
        self._answers: list[Row | None] = []

    @classmethod
    @contextmanager
    def started(
        cls, folder: Path, topics: Mapping[str, int], properties: Mapping[str, str] | None = None
    ) -> Iterator[Self]:
        """A real Kafka and our broker, started with the same configs and the same topics."""
        given = {**PROPERTIES, **(properties or {})}
        real = KafkaBroker(folder / "kafka", given)
        real.start()
        try:
            with octavo.LogDir(folder / "ours", configs=known(given), create=True) as logs, Broker(logs) as ours:
                both = cls(("localhost", real.port), ours.address)
                both.logs = logs
                both.create_topics(topics)
                yield both
        finally:
            real.kill()

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create topics with these numbers of partitions, learn their ids, and wait for the first producer id."""
        for topic, partitions in topics.items():
            wanted = {"name": topic, "numPartitions": partitions, "replicationFactor": 1}
            self.ask(apis.CREATE_TOPICS, 4, {"topics": [wanted], "timeoutMs": 10_000})
        self.learn_ids(topics)
        self.wait_for_producer_ids()

    def ask(self, api: Api, version: int, body: Row) -> Row | None:
        """Our answer, after comparing it with the real one."""
        with self.connect() as connection:  # a new one, since either may close it
            return connection.ask(api, version, body)

    def eventually(self, api: Api, version: int, body: Row, code: int | None = None) -> None:
        """Ask until both answer the same, with this error code: a real broker shows a change a moment later."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.ask(api, version, body)
                is_wanted = code is None or (answer is not None and answer["errorCode"] == code)
                assert is_wanted, f"{api.name} v{version} {body}\nboth {answer}\ninstead of error code {code}"
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    @contextmanager
    def changing(self, api: Api, version: int, body: Row) -> Iterator[None]:
        """The block changes what both answer to a question: wait until each answers otherwise than before."""
        with ExitStack() as connections:
            clients = [connections.enter_context(self._connected(address)) for address in self.addresses]
            before = [client.ask(api, version, body) for client in clients]
            yield
            for client, old in zip(clients, before, strict=True):
                client.ask_until(api, version, body, partial(ne, old))

    def connect(self) -> TwinConnection:
        """A connection to each, for requests that wait while others are sent."""
        return TwinConnection(self, [self._connected(address) for address in self._addresses])

    def learn(self, name: str, field: str) -> None:
        """Take an id from both last answers: `id of <name>` stands for it in requests and answers from now on."""
        for answer, ids in zip(self._answers, self._ids, strict=True):
            assert answer is not None
            ids[name] = answer[field]

    def learn_path(self, name: str) -> None:
        """Like `learn`, for the first log directory in both last answers to DescribeLogDirs."""
        for answer, ids in zip(self._answers, self._ids, strict=True):
            assert answer is not None
            ids[name] = answer["results"][0]["logDir"]

    def bodies(self, body: Row) -> list[Row]:
        """The body of a request to each broker, with that broker's ids."""
        return [self._with_ids(body, ids) for ids in self._ids]

    def compare(self, answers: list[Row | None], about: str) -> Row | None:
        """Our answer, if both are the same; entries that only Kafka's ApiVersions lists are not compared."""
        self._answers = answers
        _leave_out_others(*answers)
        real, ours = (self._shown(answer, ids) for answer, ids in zip(answers, self._ids, strict=True))
        assert ours == real, f"{about}\nreal {real}\nours {ours}"
        return answers[1]

    def learn_ids(self, topics: Collection[str]) -> None:
        """Learn each topic's id on each broker: `id of <topic>` stands for it in requests and answers."""
        for address, ids in zip(self._addresses, self._ids, strict=True):
            with self._connected(address) as client:
                ids.update(topic_ids(client, topics))

    def wait_for_producer_ids(self) -> None:
        """Wait until the real broker gives out producer ids: one that has just started has none."""
        with self._connected(self._addresses[0]) as client:
            client.ask_until(apis.INIT_PRODUCER_ID, 4, {"transactionalId": None, "transactionTimeoutMs": 60_000})

    @property
    def addresses(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The addresses of the real broker and of ours."""
        return self._addresses

    @property
    def real(self) -> tuple[str, int]:
        """The address of the real broker."""
        return self._addresses[0]

    @property
    def ours(self) -> tuple[str, int]:
        """The address of our broker."""
        return self._addresses[1]

    def wait_for_coordinators(self) -> None:
        """Wait until both brokers have the topics of their coordinators."""
        for address in self.addresses:
            with self._connected(address) as client:
                wait_for_coordinators(client)

    def _connected(self, address: tuple[str, int]) -> RawClient:
        client = RawClient(address)
        if self.user is not None:
            log_in(client, self.user)
        return client

    def _with_ids(self, value: Any, ids: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            return {name: self._with_ids(part, ids) for name, part in value.items()}
        if isinstance(value, list):
            return [self._with_ids(part, ids) for part in value]
        if isinstance(value, str) and value.startswith("id of "):
            return ids[value.removeprefix("id of ")]
        return value

    def _shown_part(self, name: str, part: Any, ids: dict[str, Any]) -> Any:
        shown = self._shown(part, ids)
        return sorted(shown, key=repr) if name in self.unordered and shown else shown

    def _shown(self, value: Any, ids: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            return {name: self._shown_part(name, part, ids) for name, part in value.items() if name not in self.masked}
        if isinstance(value, list):
            return [self._shown(part, ids) for part in value]
        if isinstance(value, bytes | str) and value in ids.values():
            return next(f"id of {name}" for name, known in ids.items() if known == value)
        if isinstance(value, str) and self.new_ids is not None and self.new_ids.fullmatch(value):
            return "an id"
        if isinstance(value, str) and _RANDOM.search(value):
            return _RANDOM.sub("a random id", value)
        if isinstance(value, bytes) and len(value) == len(NO_ID) and value not in (ZERO_ID, NO_ID):
            return "an id"
        return bytes(value) if isinstance(value, memoryview) else value


def _leave_out_others(real: Row | None, ours: Row | None) -> None:
    if real is not None and ours is not None and "apiKeys" in ours:
        for field, key in _LISTED.items():
            names = [row[key] for row in ours.get(field, ())]
            real[field] = [row for row in real.get(field, ()) if row[key] in names]


class TwinConnection:
    """One connection to each broker."""

    def __init__(self, twin: Twin, clients: list[RawClient]) -> None:
        self._twin = twin
        self._clients = clients
        self._asked: tuple[Api, int, Row] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.socket.close()

    def ask(self, api: Api, version: int, body: Row) -> Row | None:
        """Our answer, after comparing it with the real one."""
        self.send(api, version, body)
        return self.answer()

    def send(self, api: Api, version: int, body: Row) -> None:
        """Send a request whose answer comes later."""
        self._asked = api, version, body
        for client, filled in zip(self._clients, self._twin.bodies(body), strict=True):
            client.send(api, version, filled)

    def answer(self) -> Row | None:
        """Our answer to the last request, after comparing it with the real one."""
        assert self._asked is not None
        api, version, body = self._asked
        answers = []
        for client in self._clients:
            frame = client.receive()
            answers.append(None if frame is None else client.read(api, version, frame))
        return self._twin.compare(answers, f"{api.name} v{version} {body}")
