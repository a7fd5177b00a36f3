"""kill -9 under transactional producers: what was committed is there as a whole, what was aborted never shows."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException, Producer

import octavo
from tests.broker.served import Served

PARTITIONS = 3
KILLS = int(os.environ.get("OCTAVO_KILLS", "5"))
_SECONDS = 60.0


class Worker:
    """Commits and aborts transactions of one record per partition, and remembers how each one ended."""

    def __init__(self, address: str, name: int) -> None:
        self._configs: dict[str, str | int | float | bool] = {
            "bootstrap.servers": address, "transactional.id": f"x{name}", "linger.ms": 0,
            "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 50,
        }  # fmt: skip
        self._name = name
        self.committed: set[bytes] = set()
        self.aborted: set[bytes] = set()

    def work(self, is_done: threading.Event) -> None:
        producer, number = self._producer(), 0
        while not is_done.is_set():
            value = b"%d-%d" % (self._name, number)
            try:
                self._transaction(producer, value, commit=number % 3 != 2)
            except KafkaException:  # it is not known how this one ended
                producer = self._producer()
            number += 1

    def _producer(self) -> Producer:
        producer = Producer(self._configs)
        _retried(lambda: producer.init_transactions(_SECONDS))
        return producer

    def _transaction(self, producer: Producer, value: bytes, *, commit: bool) -> None:
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce("t", value, partition=partition)
        producer.flush(_SECONDS)
        if commit:
            _retried(lambda: producer.commit_transaction(_SECONDS))
            self.committed.add(value)
        else:
            _retried(lambda: producer.abort_transaction(_SECONDS))
            self.aborted.add(value)


def _retried(call: Callable[[], None]) -> None:
    """Call again after errors that can be retried."""
    while True:
        try:
            return call()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


def test_transactions_are_whole(tmp_path: Path) -> None:
    served = Served(tmp_path / "logs", configs={"num.partitions": f"{PARTITIONS}"})
    workers = [Worker(served.bootstrap_servers, name) for name in range(3)]
    served.kill_under([worker.work for worker in workers], KILLS, 11, between=(0.3, 1.0))
    found = octavo.scan(tmp_path / "logs", topics=["t"], isolation_level="read_committed").to_table().to_pylist()
    counts = Counter(row["value"] for row in found)
    assert set(counts.values()) <= {PARTITIONS}
    committed = set[bytes]().union(*(worker.committed for worker in workers))
    aborted = set[bytes]().union(*(worker.aborted for worker in workers))
    assert committed <= counts.keys()
    assert not aborted & counts.keys()
    assert len(committed) > KILLS and aborted
