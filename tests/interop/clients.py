"""Kafka's own clients, through the Java machine of the test process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

_CLIENTS = "org.apache.kafka.clients"
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"


class Acknowledged(NamedTuple):
    """A record, and where the broker says that it is."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Admin:
    """Topics, made and changed."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str) -> None:
        self._jvm = jvm
        self._admin = jvm.JClass(f"{_CLIENTS}.admin.Admin").create(
            _properties(jvm, {"bootstrap.servers": bootstrap_servers})
        )

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """A topic with these configs: underscores stand for dots."""
        new = self._jvm.JClass(f"{_CLIENTS}.admin.NewTopic")(topic, self._jvm.JInt(partitions), self._jvm.JShort(1))
        new.configs(_map(self._jvm, {name.replace("_", "."): value for name, value in configs.items()}))
        self._admin.createTopics(self._jvm.java.util.List.of(new)).all().get()

    def delete(self, topic: str) -> None:
        self._admin.deleteTopics(self._jvm.java.util.List.of(self._jvm.JString(topic))).all().get()

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Move the log start offset."""
        place = self._jvm.JClass("org.apache.kafka.common.TopicPartition")(topic, partition)
        records = self._jvm.JClass(f"{_CLIENTS}.admin.RecordsToDelete").beforeOffset(self._jvm.JLong(before_offset))
        self._admin.deleteRecords(self._jvm.java.util.Map.of(place, records)).all().get()

    def close(self) -> None:
        self._admin.close()


class Producer:
    """Sends records and waits until the broker has acknowledged them."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str, **configs: str) -> None:
        self._jvm = jvm
        given = {name.replace("_", "."): value for name, value in configs.items()}
        serializers = {"key.serializer": _SERIALIZER, "value.serializer": _SERIALIZER}
        self._producer = jvm.JClass(f"{_CLIENTS}.producer.KafkaProducer")(
            _properties(jvm, {"bootstrap.servers": bootstrap_servers, "acks": "all", **serializers, **given})
        )
        self._record = jvm.JClass(f"{_CLIENTS}.producer.ProducerRecord")
        if "transactional.id" in given:
            self._producer.initTransactions()

    def send(self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> list[Acknowledged]:
        """Keys and values to a topic's first partition, as few batches as the configs make of them."""
        sent = []
        for key, value in records:
            record = self._record(topic, self._jvm.JInt(0), self._bytes(key), self._bytes(value))
            sent.append((key, value, self._producer.send(record)))
        self._producer.flush()
        acknowledged = []
        for key, value, future in sent:
            metadata = future.get()
            place = int(metadata.partition()), int(metadata.offset()), int(metadata.timestamp())
            acknowledged.append(Acknowledged(topic, *place, key, value))
        return acknowledged

    def begin(self) -> None:
        self._producer.beginTransaction()

    def commit(self) -> None:
        self._producer.commitTransaction()

    def abort(self) -> None:
        self._producer.abortTransaction()

    def close(self) -> None:
        self._producer.close()

    def _bytes(self, content: bytes | None) -> Any:
        return None if content is None else self._jvm.JArray.of(content, self._jvm.JByte)


def _properties(jvm: ModuleType, values: Mapping[str, str]) -> Any:
    properties = jvm.java.util.Properties()
    for name, value in values.items():
        properties.put(jvm.JString(name), jvm.JString(value))
    return properties


def _map(jvm: ModuleType, values: Mapping[str, str]) -> Any:
    found = jvm.java.util.HashMap()
    for name, value in values.items():
        found.put(jvm.JString(name), jvm.JString(value))
    return found
