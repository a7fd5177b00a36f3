"""What users of kafka-python and confluent-kafka type, and the mistakes that everybody makes."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.config import table
from tests.client.stores import Store


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_noted", set())


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_program_of_kafka_python(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Only the constructors differ from such a program."""
    store.logs.create_topic("orders", 1)
    producer = store.logs.producer(
        bootstrap_servers=["one:9092", "two:9092"],
        security_protocol="SASL_SSL",
        sasl_plain_password="secret",
        client_id="test",
        key_serializer=str.encode,
        value_serializer=as_json,
        retries=3,
    )
    future = producer.send("orders", {"cups": 2}, key="table 5", headers=[("h", b"x")], timestamp_ms=1_700_000_000_000)
    metadata = future.get(timeout=10)
    assert (metadata.topic, metadata.partition, metadata.offset) == ("orders", 0, 0)
    assert metadata.timestamp == 1_700_000_000_000
    consumer = store.logs.consumer(
        "orders",
        group_id="billing",
        bootstrap_servers="one:9092",
        request_timeout_ms=5,
        value_deserializer=json.loads,
        key_deserializer=bytes.decode,
    )
    record: Any = next(consumer)
    assert (record.key, record.value, record.headers) == ("table 5", {"cups": 2}, (("h", b"x"),))
    assert record.timestamp_type == 0
    said = [message.getMessage() for message in caplog.records]
    assert said == [
        "producer configs ignored: bootstrap.servers, security.protocol, sasl.plain.password; there is no broker, the"
        " log directory is used directly",
        "consumer configs ignored: request.timeout.ms; there is no broker, the log directory is used directly",
    ]
    assert "secret" not in caplog.text


def test_configs_may_be_a_mapping_or_keywords(store: Store) -> None:
    configs = {"bootstrap.servers": "one:9092", "linger.ms": "7"}
    assert store.logs.producer(configs).config.linger_ms == 7
    assert store.logs.producer(configs=configs).config.linger_ms == 7
    assert store.logs.producer(configs=configs, linger_ms=8).config.linger_ms == 8
    assert store.logs.consumer(configs={"max.poll.records": 7}).config.max_poll_records == 7
    with pytest.raises(octavo.ConfigError, match=r"linger_ms is not a producer config \(did you mean linger.ms\?\)"):
        store.logs.producer({"linger_ms": 5})


def test_headers_may_be_a_mapping(store: Store) -> None:
    store.logs.create_topic("t", 1)
    store.logs.producer().send("t", b"v", headers={"a": "text", "b": b"bytes", "c": None})
    store.logs.producer().send("t", b"v", headers=None)
    first, second = store.logs.consumer("t")
    assert (first.headers, second.headers) == ((("a", b"text"), ("b", b"bytes"), ("c", None)), ())


def test_null_is_not_serialized(store: Store) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(key_serializer=as_json, value_serializer=as_json)
    producer.send("t", None, key=5)
    producer.send("t", [], key=None)
    raw = [(record.key, record.value) for record in store.logs.consumer("t")]
    assert raw == [(b"5", None), (None, b"[]")]
    decoded = store.logs.consumer("t", key_deserializer=json.loads, value_deserializer=json.loads)
    assert [(record.key, record.value) for record in decoded] == [(5, None), (None, [])]


def test_a_value_that_cannot_be_deserialized_is_not_skipped(store: Store) -> None:
    """As in Kafka: everything before it is returned, then polls raise until a seek goes past it."""
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        for value in (b"1", b"not JSON", b"3"):
            producer.send("t", value)
    consumer = store.logs.consumer("t", value_deserializer=json.loads)
    polled: list[Any] = list(consumer.poll()[octavo.TopicPartition("t", 0)])
    assert [record.value for record in polled] == [1]
    for _ in range(2):
        with pytest.raises(json.JSONDecodeError):
            consumer.poll()
    consumer.seek(("t", 0), 2)
    rest: list[Any] = list(consumer)
    assert [record.value for record in rest] == [3]


def test_a_misspelt_topic_is_an_error(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.logs.create_topic("orders", 1)
    with pytest.raises(octavo.UnknownTopicOrPartitionError) as sent:
        store.logs.producer().send("ordres", b"v")
    assert str(sent.value) == (
        "there is no topic 'ordres' (did you mean orders?); create it with create_topic('ordres'), or open the LogDir"
        " with configs={'auto.create.topics.enable': True}"
    )
    with pytest.raises(octavo.UnknownTopicOrPartitionError, match=r"no topic 'ordres' \(did you mean orders\?\)"):
        list(store.logs.consumer("ordres"))
    with pytest.raises(octavo.UnknownTopicOrPartitionError, match=r"no topic 'ordres' \(did you mean orders\?\)"):
        store.logs.delete_topic("ordres")
    consumer = store.logs.consumer(["ordres", "orders"])
    with caplog.at_level(logging.WARNING):
        assert consumer.poll() == {} == consumer.poll()
    said = [message.getMessage() for message in caplog.records]
    assert said == ["there is no topic 'ordres' (did you mean orders?); its records are read once it is created"]
    store.logs.create_topic("ordres", 1)
    store.logs.producer().send("ordres", b"v").result()
    assert [record.topic for record in consumer] == ["ordres"]


def test_topics_are_created_on_request(tmp_path: Path) -> None:
    configs = {"auto.create.topics.enable": True, "num.partitions": 3}
    with octavo.LogDir(tmp_path, configs=configs) as logs, logs.producer() as producer:
        producer.send("orders", b"v")
        assert logs.topics == {"orders": [0, 1, 2]}
        assert len(list(logs.consumer("orders"))) == 1
    with octavo.LogDir(tmp_path, configs={**configs, "auto.create.topics.enable": False}) as logs:
        producer = logs.producer()
        with pytest.raises(octavo.UnknownTopicOrPartitionError):
            producer.send("other", b"v")


def test_groups_need_not_cost_fifty_partitions(tmp_path: Path) -> None:
    """Two configs make tests with groups and transactions fast, as docs/log-dir.md says."""
    configs = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
    with octavo.LogDir(tmp_path, configs=configs) as logs:
        logs.create_topic("t", 1)
        with logs.producer(transactional_id="x") as producer, producer.transaction():
            producer.send("t", b"v")
        assert len(list(logs.consumer("t", group="g"))) == 1
        assert logs.topics == {"__consumer_offsets": [0], "__transaction_state": [0], "t": [0]}
