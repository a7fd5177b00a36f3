"""Asks a real Kafka and ours the same questions about transactions, and compares the answers.

Producer ids differ, so requests and answers number them in the order in which each broker gave them out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from octavo.format.batches.batch import Origin
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced
from tests.broker.twin import wait_for_coordinators

_BUSY = 51
_UNFINISHED = ("PrepareCommit", "PrepareAbort")
_SECONDS = 10.0
_MASKED = {"throttleTimeMs", "errorMessage", "transactionStartTimeMs"}


def take_first_producer_ids(address: tuple[str, int]) -> None:
    """Wait for the coordinators of a real broker, and have it give out its first producer ids.

    The first one is 0, which is also the producer id in answers that have none.
    """
    with RawClient(address) as client:
        wait_for_coordinators(client)
        for name in ("first", None):
            client.ask_until(apis.INIT_PRODUCER_ID, 4, {"transactionalId": name, "transactionTimeoutMs": 60_000})


class Pid(int):
    """Stands for the n-th producer id that a broker gave out; other numbers stand for themselves."""


class Records(NamedTuple):
    """Stands for a transactional batch of a producer."""

    pid: int
    epoch: int
    base_sequence: int = 0


class _Side:
    """One broker, and the producer ids that it has given out."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._client = RawClient(address)
        self.pids: list[int] = []

    def ask(self, api: Api, version: int, body: Row) -> Row:
        answer = self._client.ask(api, version, self._filled(body))
        assert answer is not None, f"{api.name} v{version} {body}"
        shown = self._shown(answer)
        assert isinstance(shown, dict)
        return shown

    def ask_until_done(self, api: Api, version: int, body: Row) -> Row:
        """The answer once the broker has completed the previous transaction."""
        end = time.monotonic() + _SECONDS
        answer = self.ask(api, version, body)
        while _is_unfinished(answer) and time.monotonic() < end:
            time.sleep(0.02)
            answer = self.ask(api, version, body)
        return answer

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._filled(part) for name, part in value.items()}
        if isinstance(value, Records):
            producer_id = self._filled(value.pid)
            named = {"producer_id": producer_id, "producer_epoch": value.epoch, "base_sequence": value.base_sequence}
            return batch("v", origin=Origin(**named, is_transactional=True))
        if isinstance(value, list):
            return [self._filled(part) for part in value]
        return self.pids[value] if isinstance(value, Pid) else value

    def _shown(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._shown(part, name) for name, part in value.items() if name not in _MASKED}
        if isinstance(value, list):
            return sorted((self._shown(part) for part in value), key=repr)
        if name == "producerId" and value > 0:
            if value not in self.pids:
                self.pids.append(value)
            return f"pid {self.pids.index(value)}"
        return value


def _is_unfinished(value: Any, name: str = "") -> bool:
    if isinstance(value, dict):
        return any(_is_unfinished(part, field) for field, part in value.items())
    if isinstance(value, list):
        return any(_is_unfinished(part, name) for part in value)
    return value in _UNFINISHED or (value == _BUSY and name == "errorCode")


def _by_topic(partitions: Iterable[tuple[str, int]]) -> list[Row]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return [{"name": topic, "partitions": numbers} for topic, numbers in topics.items()]


class TransactionalTwin:
    """Both brokers, with one connection to each."""

    def __init__(self, real: tuple[str, int], ours: tuple[str, int]) -> None:
        self._sides = _Side(real), _Side(ours)

    def ask(self, api: Api, version: int, body: Row) -> Row:
        """Our answer, after comparing it with the real one."""
        return self._compared(api, version, body, [side.ask_until_done(api, version, body) for side in self._sides])

    def ask_once(self, api: Api, version: int, body: Row) -> Row:
        """Like `ask`, but CONCURRENT_TRANSACTIONS is an answer too: it does not ask again."""
        return self._compared(api, version, body, [side.ask(api, version, body) for side in self._sides])

    def _compared(self, api: Api, version: int, body: Row, answers: list[Row]) -> Row:
        real, ours = answers
        assert ours == real, f"{api.name} v{version} {body}\nreal {real}\nours {ours}"
        return ours


class Transaction:
    """The requests of one transactional id."""

    def __init__(self, twin: TransactionalTwin, name: str) -> None:
        self._twin = twin
        self.name = name
        self.pid = -1

    def init(self, version: int = 5, *, timeout_ms: int = 60_000, **expected: int) -> Row:
        body = {"transactionalId": self.name, "transactionTimeoutMs": timeout_ms, **expected}
        answer = self._twin.ask(apis.INIT_PRODUCER_ID, version, body)
        if answer["errorCode"] == 0:
            self.pid = Pid(answer["producerId"].removeprefix("pid "))
        return answer

    def add(self, version: int, epoch: int, *partitions: tuple[str, int], pid: int | None = None) -> Row:
        topics = _by_topic(partitions)
        by = self.pid if pid is None else pid
        body: Row = {"v3AndBelowTransactionalId": self.name, "v3AndBelowProducerId": by}
        body |= {"v3AndBelowProducerEpoch": epoch, "v3AndBelowTopics": topics}
        return self._twin.ask(apis.ADD_PARTITIONS_TO_TXN, version, body)

    def verify(self, epoch: int, *partitions: tuple[str, int], is_check: bool = True) -> Row:
        topics = _by_topic(partitions)
        row = {"transactionalId": self.name, "producerId": self.pid, "producerEpoch": epoch}
        row |= {"verifyOnly": is_check, "topics": topics}
        return self._twin.ask(apis.ADD_PARTITIONS_TO_TXN, 5, {"transactions": [row]})

    def produce(
        self, version: int, epoch: int, partition: int = 0, *, sequence: int = 0, pid: int | None = None
    ) -> Row:
        by = self.pid if pid is None else pid
        body = produced("t", partition, None)
        body["topicData"][0]["partitionData"][0]["records"] = Records(by, epoch, sequence)
        return self._twin.ask(apis.PRODUCE, version, {**body, "transactionalId": self.name})

    def end(self, version: int, epoch: int, *, commit: bool, pid: int | None = None) -> Row:
        by = self.pid if pid is None else pid
        body = {"transactionalId": self.name, "producerId": by, "producerEpoch": epoch, "committed": commit}
        return self._twin.ask(apis.END_TXN, version, body)

    def describe(self) -> Row:
        return self._twin.ask(apis.DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": [self.name]})
