"""What a producer refuses: records, headers, configs, Kafka's internal topics."""

from __future__ import annotations

import re
from typing import Any

import pytest

from octavo.client.producer.config import ProducerConfig
from octavo.errors import (
    ConfigError,
    EncodingError,
    IllegalStateError,
    InvalidBatchError,
    InvalidTimestampError,
    InvalidTopicError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from tests.client.stores import Store


def test_what_the_topic_refuses_fails_and_the_rest_goes_on(store: Store) -> None:
    store.logs.create_topic("t", 1, {"cleanup.policy": "compact"})
    with store.logs.producer() as producer:
        refused = producer.send("t", b"no key")
        assert isinstance(refused.exception(), InvalidBatchError)
        assert producer.send("t", b"v", b"k").offset == 0


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"value": b"v" * 2000}, RecordTooLargeError, "expected at most max.request.size, 1500"),
        ({"value": 5}, TypeError, "a value of type int, expected bytes, str or None"),
        ({"key": 5.0}, TypeError, "a key of type float"),
        ({"value": "ab\ud800"}, EncodingError, r"character 2 of the value, '\ud800', cannot be written as UTF-8"),
        ({"key": "\udcff"}, EncodingError, r"character 0 of the key, '\udcff', cannot be written as UTF-8"),
        ({"headers": {"h": "\ud800"}}, EncodingError, r"character 0 of the header value, '\ud800', cannot be"),
        ({"headers": {"\ud800": "v"}}, EncodingError, r"header key '\ud800' cannot be written as UTF-8"),
        ({"timestamp": -1}, InvalidTimestampError, "timestamp -1, expected 0 or more"),
        ({"timestamp": 1 << 63}, InvalidTimestampError, "timestamp 9223372036854775808, expected at most"),
        ({"timestamp": "now"}, TypeError, "timestamp 'now' is not a number, expected milliseconds since 1970"),
        ({"partition": 2}, UnknownTopicOrPartitionError, "there is no partition 2 of topic 't'; it has 0"),
        ({"partition": -1}, UnknownTopicOrPartitionError, "there is no partition -1 of topic 't'"),
        ({"topic": "u"}, UnknownTopicOrPartitionError, "there is no topic 'u'; create it with create_topic"),
    ],
)
def test_what_send_refuses(store: Store, given: dict[str, object], error: type[Exception], words: str) -> None:
    store.logs.create_topic("t", 1)
    producer = store.logs.producer(max_request_size=1500)
    with pytest.raises(error, match=re.escape(words)):
        producer.send(**{"topic": "t", **given})  # type: ignore[arg-type]
    assert producer.send("t", b"v" * 1400).offset == 0


def test_a_closed_producer_refuses(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        future = producer.send("t", b"v")
    assert future.offset == 0
    producer.close()
    with pytest.raises(IllegalStateError, match="the producer is closed"):
        producer.send("t", b"v")


@pytest.mark.parametrize(
    ("configs", "is_idempotent", "delivery_timeout_ms"),
    [
        ({}, True, 120_000),
        ({"acks": "1"}, False, 120_000),
        ({"acks": "-1"}, True, 120_000),
        ({"retries": 0}, False, 120_000),
        ({"linger.ms": 100_000}, True, 130_000),
        ({"linger.ms": 2**63 - 1}, True, 2**31 - 1),
        ({"max.in.flight.requests.per.connection": 6, "enable.idempotence": False}, False, 120_000),
    ],
)
def test_what_is_not_given_gives_way(
    configs: dict[str, str | int], is_idempotent: bool, delivery_timeout_ms: int
) -> None:
    config = ProducerConfig.of(configs)
    assert (config.enable_idempotence, config.delivery_timeout_ms) == (is_idempotent, delivery_timeout_ms)


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"linger.sm": 5}, "linger.sm is not a producer config (did you mean linger.ms?)"),
        ({"batch.size": -1}, "batch.size is '-1', expected ≥ 0"),
        ({"compression.type": "brotli"}, "expected one of none, gzip, snappy, lz4, zstd"),
        ({"compression.zstd.level": 23}, "compression.zstd.level is '23', expected -131072 to 22"),
        ({"acks": "1", "enable.idempotence": "true"}, "acks is 1 with enable.idempotence, expected all"),
        ({"retries": "0", "enable.idempotence": "true"}, "retries is 0 with enable.idempotence, expected 1 or more"),
        ({"acks": "0", "transactional.id": "x"}, "enable.idempotence is false with a transactional.id, expected true"),
        ({"max.in.flight.requests.per.connection": 6}, "expected at most 5"),
        ({"delivery.timeout.ms": 30_004}, "expected at least linger.ms + request.timeout.ms, 30005"),
        ({"transactional.id": "x", "enable.idempotence": "false"}, "expected true"),
    ],
)
def test_configs_that_are_refused(store: Store, configs: dict[str, str | int], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        store.logs.producer(configs)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"])
def test_internal_topics_are_refused_as_by_brokers(store: Store, topic: str) -> None:
    store.logs.create_topic(topic, 1)
    with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
        store.logs.producer().send(topic, b"v")
    admin = store.logs.producer(client_id="__admin_client")
    if topic == "__cluster_metadata":
        with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
            admin.send(topic, b"v")
    else:
        assert admin.send(topic, b"v").result().offset == 0


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ([(None, b"1")], "a header key of type NoneType, expected str"),
        ({b"a": b"1"}, "a header key of type bytes, expected str"),
        (["ab"], "header 'ab' is not a pair of key and value"),
        ([("a", b"1", 2)], "is not a pair of key and value"),
        ({"a": 5}, "a header value of type int, expected bytes, str or None"),
    ],
)
def test_headers_that_are_malformed(store: Store, headers: Any, problem: str) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer, pytest.raises(TypeError, match=problem):
        producer.send("t", b"v", headers=headers)
