"""Transactions that begin on a real Kafka 4.3.1 and end on our broker, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from octavo.broker.broker import Broker
from tests.broker.librdkafka import SECONDS, consume
from tests.interop.broker import Broker as KafkaBroker
from tests.interop.clients import Producer as JavaProducer

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("broker")]

_PATIENCE_SECONDS = 60.0


class Client(Protocol):
    """A transactional producer that keeps working while brokers take turns on its address."""

    def begin(self) -> None: ...
    def send(self, value: bytes) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...


class Librdkafka:
    """Speaks the first version of the transaction protocol."""

    def __init__(self, servers: str) -> None:
        quick = {"reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50}
        self._producer = Producer({"bootstrap.servers": servers, "transactional.id": "x", **quick})
        self._producer.init_transactions(_PATIENCE_SECONDS)
        self.begin = self._producer.begin_transaction

    def send(self, value: bytes) -> None:
        self._producer.produce("t", value)
        assert self._producer.flush(_PATIENCE_SECONDS) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(_PATIENCE_SECONDS)

    def abort(self) -> None:
        self._producer.abort_transaction(_PATIENCE_SECONDS)


class Java:
    """Speaks the second version of the transaction protocol."""

    def __init__(self, jvm: ModuleType, servers: str) -> None:
        self._producer = JavaProducer(jvm, servers, transactional_id="x")
        self.begin, self.commit, self.abort = self._producer.begin, self._producer.commit, self._producer.abort

    def send(self, value: bytes) -> None:
        self._producer.send("t", [(None, value)])


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("kind", ["librdkafka", "java"])
def test_turns(jvm: ModuleType, tmp_path: Path, kind: str, is_killed: bool) -> None:
    real = KafkaBroker(tmp_path)
    real.start()
    servers = real.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    (created,) = admin.create_topics([NewTopic("t", 1, 1)]).values()
    created.result(SECONDS)
    client: Client = Librdkafka(servers) if kind == "librdkafka" else Java(jvm, servers)
    end: Callable[[], None] = real.kill if is_killed else real.stop
    client.begin()
    client.send(b"begun on Kafka")
    end()
    with Broker(real.log_dir, listen=servers):
        client.send(b"continued here")
        client.commit()
        client.begin()
        client.send(b"aborted on Kafka")
    real.start()
    client.abort()
    client.begin()
    client.send(b"aborted here")
    end()
    with Broker(real.log_dir, listen=servers):
        client.abort()
        client.begin()
        client.send(b"begun here")
    real.start()
    client.send(b"committed on Kafka")
    client.commit()
    expected = [b"begun on Kafka", b"continued here", b"begun here", b"committed on Kafka"]
    assert consume({"bootstrap.servers": servers}, "t", 1, 4, **{"isolation.level": "read_committed"}) == expected
    real.stop()
    with Broker(real.log_dir, listen=servers) as ours:
        assert [record.value for record in ours.logs.consumer("t", isolation_level="read_committed")] == expected
        (known,) = ours.logs.transactions().list()
        assert known.status.kafka_name == "CompleteCommit"
