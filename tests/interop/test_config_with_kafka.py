"""Kafka's own classes define, accept and resolve configs as our table does."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest

from octavo.client.producer.config import ProducerConfig
from octavo.config import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS, BrokerConfig, ConfigKey, LogConfig
from octavo.errors import ConfigError
from tests.other_defaults import OTHER_DEFAULTS

pytestmark = pytest.mark.kafka

OF_THE_AUTHORIZER = {"super.users", "allow.everyone.if.no.acl.found"}  # a plugin's: a broker passes them on unread
# Intentional differences, such as small segments, which brokers before 4.0 accepted, and at least one cleaner thread.
WIDER_OR_NARROWER = {"segment.bytes", "log.segment.bytes", "log.cleaner.threads", "group.consumer.assignors"}
# Kafka checks the codec of the offsets topic only when it uses it; we check it when it is parsed.
CHECKED_LATER = {"offsets.topic.compression.codec"}
TEXTS = [
    "-131073", "-131072", "-5", "-3", "-2", "-1", "0", "1", "+2", "3", "4", "9", "10", "13", "14", "17", "18", "22",
    "23", "1048575", "1048576", "2147483647", "2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", "0.5", " .5 ", "5.", "1d", "1.0001", "1e3", "-0.1", "0x1", "1_0", "", " ", ",", "a", "a,,b",
    "*", "*,0:1", "0:1", "0:1,,2:3", "0:1,1:2", "0:1:2", "a:1", "true", " FALSE ", "yes", "compact", "Compact",
    "compact,delete,compact", "delete ,compact", "compact,", "gzip", "GZIP", "none", "uncompressed", "producer", "lz4",
    "CreateTime", "createtime", "LogAppendTime",
]  # fmt: skip
# What else a broker needs.
NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}


def field(key: Any, name: str) -> Any:
    """A public field of a Java object, which JPype would take for the class's."""
    return key.getClass().getField(name).get(key)


def definitions(jvm: ModuleType, name: str) -> Any:
    """The set of definitions that has this config: a topic's or else a broker's."""
    if name in TOPIC_CONFIGS:
        return jvm.JClass("org.apache.kafka.storage.internals.log.LogConfig").configDefCopy()
    return jvm.JClass("org.apache.kafka.server.config.AbstractKafkaConfig").CONFIG_DEF


def java_map(jvm: ModuleType, properties: dict[str, str]) -> Any:
    found = jvm.JClass("java.util.HashMap")()
    for name, text in properties.items():
        found.put(name, text)
    return found


def accepted_by_kafka(jvm: ModuleType, name: str, text: str) -> bool:
    try:
        definitions(jvm, name).parse(java_map(jvm, {**NODE, name: text}))
    except jvm.JException:
        return False
    return True


def accepted(key: ConfigKey, text: str) -> bool:
    try:
        key.parse(text)
    except ConfigError:
        return False
    return True


DEFINED = [key for key in [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()] if key.name not in OF_THE_AUTHORIZER]


@pytest.mark.parametrize("key", DEFINED, ids=lambda key: str(key.name))
def test_each_config_is_defined_as_in_kafka(jvm: ModuleType, key: ConfigKey) -> None:
    kafkas = definitions(jvm, key.name).configKeys().get(key.name)
    assert str(field(kafkas, "type")) == key.kind.name
    assert field(kafkas, "internalConfig") == key.internal
    default = field(kafkas, "defaultValue") if kafkas.hasDefault() else None
    if key.kind.name == "LIST" and default is not None:
        assert tuple(map(str, default)) == key.default
    elif default is None:
        assert key.default is None
    else:
        assert (key.parse(str(default)) == key.default) is (key.name not in OTHER_DEFAULTS)
    if key.name not in WIDER_OR_NARROWER | CHECKED_LATER:
        assert {text: accepted_by_kafka(jvm, key.name, text) for text in TEXTS} == {
            text: accepted(key, text) for text in TEXTS
        }


NUMBERS = ["-60000", "-1", "0", "1", "2", "77", "7200000"]
CHOICES = {
    **dict.fromkeys(
        ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms", "log.roll.hours",
         "log.roll.jitter.ms", "log.roll.jitter.hours", "log.flush.interval.ms", "log.flush.scheduler.interval.ms",
         "log.retention.bytes", "log.index.interval.bytes", "message.max.bytes", "log.cleaner.delete.retention.ms"],
        NUMBERS,
    ),
    "log.cleanup.policy": ["compact", "delete,compact", "", "both"],
    "log.preallocate": ["true", "1"],
    "log.cleaner.min.cleanable.ratio": ["0.1", "2"],
    "compression.type": ["gzip", "none"],
    "log.cleaner.dedupe.buffer.size": ["1048576", "1048577"],
}  # fmt: skip


def resolved_by_kafka(jvm: ModuleType, properties: dict[str, str]) -> dict[str, Any] | None:
    try:
        settings = jvm.JClass("kafka.server.KafkaConfig")(java_map(jvm, {**NODE, **properties}))
    except jvm.JException:
        return None
    return {str(entry.getKey()): entry.getValue() for entry in settings.extractLogConfigMap().entrySet()}


def resolved(properties: dict[str, str]) -> LogConfig | None:
    try:
        BrokerConfig.of(properties)
        return LogConfig.of({}, properties)
    except ConfigError:
        return None


def overridden(properties: dict[str, str]) -> bool:
    """Whether one of them has no effect; Kafka checks its range only sometimes, we always do."""
    gives = [SYNONYMS[name][0].name for name in properties if name in SYNONYMS]
    return len(gives) != len(set(gives))


def test_a_brokers_settings_become_the_defaults_of_topics(jvm: ModuleType) -> None:  # C2, I5
    source = random.Random(2026)
    resolutions = refusals = 0
    for _ in range(400):
        names = source.sample(sorted(CHOICES), source.randint(1, 4))
        properties = {name: source.choice(CHOICES[name]) for name in names}
        ours, theirs = resolved(properties), resolved_by_kafka(jvm, properties)
        if ours is None:
            assert theirs is None or overridden(properties), properties
            refusals += 1
            continue
        assert theirs is not None, properties
        resolutions += 1
        for name, value in theirs.items():
            mine = getattr(ours, TOPIC_CONFIGS[name].attribute)
            assert (tuple(map(str, value)) if isinstance(mine, tuple) else value) == mine, (name, properties)
    assert min(resolutions, refusals) > 50


# How a producer's configs affect one another.
PRODUCER_CHOICES = {
    "enable.idempotence": ["true", "false"],
    "acks": ["all", "-1", "0", "1"],
    "retries": ["0", "1"],
    "max.in.flight.requests.per.connection": ["5", "6"],
    "transactional.id": ["x"],
    "linger.ms": ["0", "100000", "9223372036854775807"],
    "request.timeout.ms": ["0", "2147483647"],
    "delivery.timeout.ms": ["100", "120000", "2147483647"],
}
# What else Kafka's producer needs.
_BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
CLIENT = {"bootstrap.servers": "localhost:9092", "key.serializer": _BYTES, "value.serializer": _BYTES}


def kafkas_producer(jvm: ModuleType, properties: dict[str, str]) -> tuple[bool, int] | None:
    """Whether Kafka's producer is idempotent, and its delivery timeout; None if it refuses the configs."""
    config_type = jvm.JClass("org.apache.kafka.clients.producer.ProducerConfig")
    logger_type = jvm.JClass("org.slf4j.Logger")
    deliver = jvm.JClass("org.apache.kafka.clients.producer.KafkaProducer").class_.getDeclaredMethod(
        "configureDeliveryTimeout", config_type.class_, logger_type.class_
    )
    deliver.setAccessible(True)
    logger = jvm.JClass("org.slf4j.LoggerFactory").getLogger("test")
    try:
        settings = config_type(java_map(jvm, {**CLIENT, **properties}))
        timeout_ms = deliver.invoke(None, settings, logger)
    except jvm.JException:
        return None
    return bool(settings.getBoolean("enable.idempotence")), int(timeout_ms)


def test_a_producers_settings_give_way_as_kafkas_do(jvm: ModuleType) -> None:
    source = random.Random(2026)
    accepted = refused = 0
    for _ in range(600):
        names = source.sample(sorted(PRODUCER_CHOICES), source.randint(0, 4))
        properties = {name: source.choice(PRODUCER_CHOICES[name]) for name in names}
        expected = kafkas_producer(jvm, properties)
        try:
            ours = ProducerConfig.of(properties)
        except ConfigError:
            assert expected is None, properties
            refused += 1
            continue
        assert (ours.enable_idempotence, ours.delivery_timeout_ms) == expected, properties
        accepted += 1
    assert min(accepted, refused) > 100
