"""When a test advances the clock, what waits for that time happens at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from confluent_kafka import Consumer, TopicPartition

import octavo
from octavo.format.protocol import apis
from octavo.testing import Kafka
from tests.broker.raw import RawClient
from tests.testing.brokers import address, values


def test_records_grow_old(kafka: Kafka) -> None:
    kafka.produce("orders", "a", "b")
    before = kafka.clock.now()
    kafka.clock.advance(days=6)
    assert values(kafka, "orders") == [b"a", b"b"]
    kafka.clock.advance(timedelta(days=1), hours=1)
    assert values(kafka, "orders") == []
    assert timedelta(days=7, hours=1) <= kafka.clock.now() - before < timedelta(days=7, hours=2)
    kafka.produce("orders", "c")  # has the broker's time
    kafka.clock.advance(days=6)
    assert values(kafka, "orders") == [b"c"]


def test_clients_find_the_start_of_the_log_that_retention_moved(kafka: Kafka) -> None:
    kafka.produce("orders", "a", "b")
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"})
    assert consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=20) == (0, 2)
    kafka.clock.advance(days=8)
    assert consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=20) == (2, 2)
    consumer.close()


def test_the_cleaner_removes_old_values_and_then_tombstones(kafka: Kafka) -> None:
    topic = kafka.topic(cleanup_policy="compact", min_cleanable_dirty_ratio=0, delete_retention_ms=3_600_000)
    kafka.produce(topic, "old", None, key="k")
    kafka.produce(topic, "kept", key="other")
    kafka.logs.roll(topic)
    kafka.produce(topic, "active", key="k2")  # the active segment is never cleaned
    kafka.clock.advance(minutes=1)
    assert values(kafka, topic) == [None, b"kept", b"active"]
    kafka.clock.advance(hours=2)
    assert values(kafka, topic) == [None, b"kept", b"active"]  # nothing is dirty, so nothing was cleaned
    kafka.logs.roll(topic)
    kafka.produce(topic, "active", key="k3")
    kafka.clock.advance(minutes=1)
    assert values(kafka, topic) == [b"kept", b"active", b"active"]


def test_a_transaction_times_out(kafka: Kafka) -> None:
    kafka.topic("orders")
    producer = kafka.logs.producer(transactional_id="till", transaction_timeout_ms=60_000)
    producer.begin_transaction()
    producer.send("orders", "never")
    producer.flush()
    kafka.clock.advance(seconds=90)
    with pytest.raises(octavo.ProducerFencedError):
        producer.commit_transaction()
    assert kafka.records("orders", isolation_level="read_committed") == []


def test_a_long_poll_ends_when_its_time_has_passed(kafka: Kafka) -> None:
    kafka.topic("orders")
    wanted = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}
    fetch = {"maxWaitMs": 600_000, "minBytes": 1, "topics": [{"topic": "orders", "partitions": [wanted]}]}
    with RawClient(address(kafka)) as client:
        client.send(apis.FETCH, 12, fetch)
        with RawClient(address(kafka)) as other:
            other.ask(apis.API_VERSIONS, 0, {})  # by now, the broker has read the fetch
        kafka.clock.advance(minutes=11)
        frame = client.receive()
        assert frame is not None
        answer = client.read(apis.FETCH, 12, frame)
    assert [row["errorCode"] for topic in answer["responses"] for row in topic["partitions"]] == [0]


def test_time_does_not_go_back(kafka: Kafka) -> None:
    with pytest.raises(ValueError, match="only advances"):
        kafka.clock.advance(seconds=-1)
