"""librdkafka, through confluent-kafka: produce, consume by assignment, administration."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

import octavo
from octavo.broker.broker import Broker

Servers = dict[str, str | int | float | bool]
_SECONDS = 20.0


@pytest.fixture
def servers(broker: Broker) -> Servers:
    return {"bootstrap.servers": broker.bootstrap_servers}


def produce(servers: Servers, topic: str, values: list[bytes], **configs: object) -> list[tuple[int, int]]:
    """Where each record is, as the broker acknowledged it."""
    places: dict[bytes, tuple[int, int]] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        places[message.value() or b""] = (message.partition() or 0, message.offset() or 0)

    producer = Producer({**servers, **configs})
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    assert producer.flush(_SECONDS) == 0
    return [places[value] for value in values]


def consume(servers: Servers, topic: str, partitions: int, count: int, **configs: object) -> list[bytes]:
    consumer = Consumer({**servers, "group.id": "g", "enable.auto.commit": False, **configs})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    found: list[bytes] = []
    while len(found) < count:
        got = consumer.consume(count - len(found), _SECONDS)
        assert got, f"{len(found)} of {count} records"
        assert not [message.error() for message in got if message.error()]
        found += [message.value() or b"" for message in got]
    consumer.close()
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["1", "all"])
def test_what_is_produced_is_consumed(servers: Servers, logs: octavo.LogDir, codec: str, acks: str) -> None:
    logs.create_topic("t", 3)
    values = [b"%d" % number for number in range(2000)]
    configs = {"compression.type": codec, "acks": acks, "enable.idempotence": acks == "all"}
    places = produce(servers, "t", values, **configs)
    assert len(set(places)) == 2000
    assert sorted(consume(servers, "t", 3, 2000)) == sorted(values)
    in_process = {(found.partition, found.offset): found.value for found in logs.consumer("t")}
    assert in_process == dict(zip(places, values, strict=True))


def test_a_topic_is_made_when_it_is_first_asked_for(servers: Servers, logs: octavo.LogDir) -> None:
    assert produce(servers, "new", [b"first"]) == [(0, 0)]
    assert "new" in logs.topics


def test_a_waiting_consumer_gets_what_a_producer_in_process_sends(servers: Servers, logs: octavo.LogDir) -> None:
    """Without waiting for fetch.wait.max.ms: an append wakes it, on whatever thread it comes."""
    logs.create_topic("t", 1)
    is_waiting = threading.Event()

    def read() -> list[bytes]:
        is_waiting.set()
        return consume(servers, "t", 1, 1, **{"fetch.wait.max.ms": 15_000, "socket.timeout.ms": 60_000})

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(read)
        assert is_waiting.wait(_SECONDS)
        with logs.producer() as producer:
            producer.send("t", b"late").result(_SECONDS)
        assert reading.result(10) == [b"late"]


def test_administration(servers: Servers, logs: octavo.LogDir) -> None:
    admin = AdminClient(servers)
    made = admin.create_topics([NewTopic("t", 2, config={"retention.ms": "1000"})])
    assert made["t"].result(_SECONDS) is None
    assert logs.config("t").retention_ms == 1000
    admin.create_partitions([NewPartitions("t", 4)])["t"].result(_SECONDS)
    assert logs.topics["t"] == [0, 1, 2, 3]
    (shown,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "t")]).values()
    assert shown.result(_SECONDS)["retention.ms"].value == "1000"
    listed = admin.list_topics(timeout=_SECONDS)
    assert [len(topic.partitions) for name, topic in listed.topics.items() if name == "t"] == [4]
    admin.delete_topics(["t"])["t"].result(_SECONDS)
    assert "t" not in logs.topics
