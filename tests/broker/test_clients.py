"""librdkafka, through confluent-kafka: produce, consume by assignment, administration."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

import octavo
from octavo.broker.broker import Broker
from tests.broker.librdkafka import SECONDS, Servers, consume, produce


@pytest.fixture
def servers(broker: Broker) -> Servers:
    return {"bootstrap.servers": broker.bootstrap_servers}


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
    """Without waiting for fetch.wait.max.ms: an append on any thread wakes it."""
    logs.create_topic("t", 1)
    patient = {"fetch.wait.max.ms": 15_000, "socket.timeout.ms": 60_000}
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(consume, servers, "t", 1, 1, **patient)
        end = time.monotonic() + SECONDS
        while not logs.log("t", 0)._watchers:  # the broker has not got the fetch request yet
            assert time.monotonic() < end
            time.sleep(0.01)
        with logs.producer() as producer:
            producer.send("t", b"late").result(SECONDS)
        assert reading.result(10) == [b"late"]


def test_topics_are_created_grown_described_and_deleted(servers: Servers, logs: octavo.LogDir) -> None:
    admin = AdminClient(servers)
    made = admin.create_topics([NewTopic("t", 2, config={"retention.ms": "1000"})])
    assert made["t"].result(SECONDS) is None
    assert logs.config("t").retention_ms == 1000
    admin.create_partitions([NewPartitions("t", 4)])["t"].result(SECONDS)
    assert logs.topics["t"] == [0, 1, 2, 3]
    (shown,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "t")]).values()
    assert shown.result(SECONDS)["retention.ms"].value == "1000"
    listed = admin.list_topics(timeout=SECONDS)
    assert [len(topic.partitions) for name, topic in listed.topics.items() if name == "t"] == [4]
    admin.delete_topics(["t"])["t"].result(SECONDS)
    assert "t" not in logs.topics
