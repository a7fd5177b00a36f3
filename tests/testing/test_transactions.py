"""Transactions of a real client, with the broker for tests."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from octavo.testing import Kafka
from tests.testing.brokers import values


def begun(kafka: Kafka, **configs: object) -> Producer:
    """A producer with a record in its open transaction."""
    base = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "till", "reconnect.backoff.ms": 1}
    producer = Producer({**base, **configs})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"a coffee")
    assert producer.flush(20) == 0
    return producer


def committed(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("orders", isolation_level="read_committed")]


def test_what_is_committed_is_seen(kafka: Kafka) -> None:
    kafka.topic("orders")
    producer = begun(kafka)
    assert (values(kafka, "orders"), committed(kafka)) == ([b"a coffee"], [])
    producer.commit_transaction(20)
    assert committed(kafka) == [b"a coffee"]


def test_a_transaction_ends_when_its_time_has_passed(kafka: Kafka) -> None:
    kafka.topic("orders")
    producer = begun(kafka, **{"transaction.timeout.ms": 60_000})
    kafka.clock.advance(minutes=2)
    with pytest.raises(KafkaException):
        producer.commit_transaction(20)
    assert committed(kafka) == []


def test_a_producer_is_fenced(kafka: Kafka) -> None:
    kafka.topic("orders")
    producer = begun(kafka)
    kafka.faults.fence("till")
    with pytest.raises(KafkaException):
        producer.commit_transaction(20)
    assert committed(kafka) == []


def test_a_commit_whose_answer_is_lost_is_done_once(kafka: Kafka) -> None:
    kafka.topic("orders")
    producer = begun(kafka)
    lost = kafka.faults.lose_answer("EndTxn")
    producer.commit_transaction(20)
    assert (lost.hits, committed(kafka)) == (1, [b"a coffee"])
