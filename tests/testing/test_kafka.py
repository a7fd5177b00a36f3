"""The object that tests hold: topics, records, groups, a clean slate, a copy of a directory."""

from __future__ import annotations

import asyncio
import unittest
from pathlib import Path

import pytest
from confluent_kafka import Producer

import octavo
from octavo.format.protocol.apis import METADATA, SASL_HANDSHAKE
from octavo.testing import Kafka
from tests.broker.logins import jaas
from tests.broker.raw import RawClient
from tests.golden import archives
from tests.testing.brokers import address, values


def send(kafka: Kafka, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, value)
    assert producer.flush(20) == 0


def test_a_topic_gets_a_name_unless_it_has_one(kafka: Kafka) -> None:
    assert kafka.topic("orders", partitions=3, cleanup_policy="compact") == "orders"
    assert kafka.topic() != kafka.topic()
    assert len(kafka.logs.topics) == 3
    assert kafka.logs.topics["orders"] == [0, 1, 2]
    assert kafka.logs.config("orders").cleanup_policy == ("compact",)


def test_records_come_in_every_form(kafka: Kafka) -> None:
    done = kafka.produce("orders", "a coffee", b"a tea", key="table 5", headers={"waiter": "Ann"}, timestamp=7)
    assert [metadata.offset for metadata in done] == [0, 1]
    first, second = kafka.records("orders")
    assert (first.key, first.value, first.timestamp, second.value) == (b"table 5", b"a coffee", 7, b"a tea")
    assert dict(first.headers) == {"waiter": b"Ann"}
    assert kafka.records("orders", "arrow", columns=["value"]).to_pydict() == {"value": [b"a coffee", b"a tea"]}
    assert list(kafka.records("orders", "pandas")["offset"]) == [0, 1]
    with pytest.raises(ValueError, match="give list, 'arrow' or 'pandas'"):
        kafka.records("orders", "xml")  # type: ignore[call-overload]


def test_what_clients_send_is_there_beside_what_the_test_produced(kafka: Kafka) -> None:
    kafka.produce("orders", "first")
    send(kafka, "orders", b"second")
    send(kafka, "created-by-the-client", b"alone")
    assert values(kafka, "orders") == [b"first", b"second"]
    assert values(kafka, "created-by-the-client") == [b"alone"]


def test_groups_show_what_was_committed(kafka: Kafka) -> None:
    assert kafka.groups() == {}
    kafka.produce("orders", "a", "b", "c")
    consumer = kafka.logs.consumer("orders", group="billing", max_poll_records=2)
    consumer.poll()
    consumer.commit()
    group = kafka.groups()["billing"]
    assert (group.offsets, group.lag) == ({octavo.TopicPartition("orders", 0): 2}, 1)


def test_a_reset_leaves_nothing_but_the_address(kafka: Kafka) -> None:
    send(kafka, "orders", b"old")
    consumer = kafka.logs.consumer("orders", group="billing")
    consumer.poll()
    consumer.commit()
    kafka.faults.drop("Produce", times=None)
    kafka.clock.advance(days=1)
    before, ahead = kafka.bootstrap_servers, kafka.clock.now_ms()
    kafka.reset()
    assert kafka.bootstrap_servers == before
    assert (kafka.logs.topics, kafka.groups(), kafka.requests) == ({}, {}, [])
    assert kafka.clock.now_ms() < ahead
    send(kafka, "orders", b"new")
    kafka.produce("orders", "newer")
    assert values(kafka, "orders") == [b"new", b"newer"]


def test_it_begins_with_a_copy_of_a_directory(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "golden") as logs:
        logs.create_topic("orders", 1)
        logs.producer().send("orders", "from last year", timestamp=1)
    with Kafka(start_from=tmp_path / "golden") as kafka:
        send(kafka, "orders", b"new")
        kafka.clock.advance(days=400)
        assert values(kafka, "orders") == [b"from last year", b"new"]
    assert [record.value for record in octavo.scan(tmp_path / "golden")] == [b"from last year"]


def test_it_continues_with_a_copy_of_a_partition_or_of_a_real_brokers_directory(kafka: Kafka, tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path / "golden") as logs:
        logs.create_topic("orders", 1)
        logs.producer().send("orders", "kept")
    kafka.produce("old", "x")
    kafka.reset(start_from=tmp_path / "golden" / "orders-0")
    assert (list(kafka.logs.topics), values(kafka, "orders")) == (["orders"], [b"kept"])
    kafka.reset(start_from=archives.unpack("v431-clean"))
    assert len(kafka.logs.topics) > 1
    with pytest.raises(octavo.ScanError, match="no such directory"):
        Kafka(start_from=tmp_path / "nothing")


def test_a_given_path_is_kept_and_a_temporary_one_removed(tmp_path: Path) -> None:
    with Kafka(path=tmp_path / "kept") as kafka, Kafka() as other:
        kafka.produce("orders", "here")
        temporary = other.path
    assert (kafka.path.exists(), temporary.exists()) == (True, False)
    assert octavo.scan(kafka.path).count() == 1
    assert "closed" in repr(kafka)
    kafka.close()


def test_configs_override_those_for_tests() -> None:
    with Kafka(configs={"offsets.topic.num.partitions": 3, "num.partitions": 2}) as kafka:
        assert kafka.logs.broker_config.offsets_topic_num_partitions == 3
        assert kafka.logs.broker_config.transaction_state_log_num_partitions == 1
        send(kafka, "orders", b"x")
        assert kafka.logs.topics["orders"] == [0, 1]


def test_requests_are_listed_with_the_client_and_the_fault(kafka: Kafka) -> None:
    kafka.faults.fail("Produce", "REQUEST_TIMED_OUT")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "till", "retry.backoff.ms": 1})
    producer.produce("orders", b"x")
    assert producer.flush(20) == 0
    sent = [request for request in kafka.requests if request.api == "Produce"]
    assert [(request.client_id, request.fault) for request in sent] == [("till", "REQUEST_TIMED_OUT"), ("till", None)]


def test_a_login_of_old_clients_has_no_headers_to_note() -> None:
    configs = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": jaas(),
    }
    with Kafka(configs=configs) as kafka, RawClient(address(kafka)) as client:
        client.ask(SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})
        token = b"\0admin\0admin-secret"
        client.socket.sendall(len(token).to_bytes(4) + token)
        assert client.receive() == b""
        assert client.ask(METADATA, 12, {"topics": None}) is not None
        assert [request.api for request in kafka.requests] == ["SaslHandshake", "Metadata"]


def test_it_is_an_asynchronous_context_manager() -> None:
    async def run() -> list[bytes | None]:
        async with Kafka() as kafka:
            kafka.produce("orders", "x")
            return values(kafka, "orders")

    assert asyncio.run(run()) == [b"x"]


class WithUnittest(unittest.TestCase):
    def setUp(self) -> None:
        self.kafka = self.enterContext(Kafka())

    def test_each_test_has_its_own(self) -> None:
        self.assertEqual(dict(self.kafka.logs.topics), {})
        self.kafka.produce("orders", "x")

    def test_each_test_has_its_own_again(self) -> None:
        self.test_each_test_has_its_own()
