"""Kafka's own clients, running in the test process's JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from tests.storage.consumed import ConsumedRecord

_CLIENTS = "org.apache.kafka.clients"
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class Acknowledged(NamedTuple):
    """A record, and where the broker says it is."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class ListedOffset(NamedTuple):
    """The answer to ListOffsets."""

    timestamp: int
    offset: int
    leader_epoch: int


class KnownProducer(NamedTuple):
    """What a broker says about a producer that has written to a partition."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start: int


class Admin:
    """Creates, changes and queries topics."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str) -> None:
        self._jvm = jvm
        self._admin = jvm.JClass(f"{_CLIENTS}.admin.Admin").create(
            _properties(jvm, {"bootstrap.servers": bootstrap_servers})
        )

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic with these configs, whose names have underscores instead of dots."""
        new = self._jvm.JClass(f"{_CLIENTS}.admin.NewTopic")(topic, self._jvm.JInt(partitions), self._jvm.JShort(1))
        new.configs(_map(self._jvm, {name.replace("_", "."): value for name, value in configs.items()}))
        self._admin.createTopics(self._jvm.java.util.List.of(new)).all().get()

    def alter(self, topic: str, name: str, value: str) -> None:
        """Set one config of a topic."""
        jvm, configs = self._jvm, "org.apache.kafka.common.config.ConfigResource"
        resource = jvm.JClass(configs)(jvm.JClass(f"{configs}$Type").TOPIC, topic)
        set_it = jvm.JClass(f"{_CLIENTS}.admin.AlterConfigOp$OpType").SET
        entry = jvm.JClass(f"{_CLIENTS}.admin.ConfigEntry")(name, value)
        change = jvm.JClass(f"{_CLIENTS}.admin.AlterConfigOp")(entry, set_it)
        changes = jvm.java.util.Map.of(resource, jvm.java.util.List.of(change))
        self._admin.incrementalAlterConfigs(changes).all().get()

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Grow a topic to this many partitions."""
        total = self._jvm.JClass(f"{_CLIENTS}.admin.NewPartitions").increaseTo(self._jvm.JInt(partitions))
        self._admin.createPartitions(self._jvm.java.util.Map.of(self._jvm.JString(topic), total)).all().get()

    def delete(self, topic: str) -> None:
        self._admin.deleteTopics(self._jvm.java.util.List.of(self._jvm.JString(topic))).all().get()

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Move the log start offset."""
        place = _partition(self._jvm, topic, partition)
        records = self._jvm.JClass(f"{_CLIENTS}.admin.RecordsToDelete").beforeOffset(self._jvm.JLong(before_offset))
        self._admin.deleteRecords(self._jvm.java.util.Map.of(place, records)).all().get()

    def list_offsets(
        self, topics: Iterable[str], timestamp: int, isolation: str = "read_uncommitted"
    ) -> dict[str, ListedOffset]:
        """The answer of each topic's first partition to a timestamp, -1 (latest), -2 (earliest) or -3 (largest)."""
        specs = self._jvm.JClass(f"{_CLIENTS}.admin.OffsetSpec")
        special = {-1: specs.latest, -2: specs.earliest, -3: specs.maxTimestamp}
        asked = self._jvm.java.util.HashMap()
        for topic in topics:
            spec = special[timestamp]() if timestamp < 0 else specs.forTimestamp(self._jvm.JLong(timestamp))
            asked.put(_partition(self._jvm, topic), spec)
        level = self._jvm.JClass("org.apache.kafka.common.IsolationLevel").valueOf(isolation.upper())
        options = self._jvm.JClass(f"{_CLIENTS}.admin.ListOffsetsOptions")(level)
        found = {}
        for place, info in self._admin.listOffsets(asked, options).all().get().items():
            epoch = int(info.leaderEpoch().get()) if info.leaderEpoch().isPresent() else -1
            found[str(place.topic())] = ListedOffset(int(info.timestamp()), int(info.offset()), epoch)
        return found

    def producers(self, topic: str) -> list[KnownProducer]:
        """The producers that the first partition knows, by id."""
        place = _partition(self._jvm, topic)
        states = self._admin.describeProducers(self._jvm.java.util.List.of(place)).all().get().get(place)
        return sorted(_known(state) for state in states.activeProducers())

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

    def send(
        self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], partition: int = 0
    ) -> list[Acknowledged]:
        """Send keys and values to a partition, in as few batches as the configs allow."""
        sent = []
        for key, value in records:
            record = self._record(topic, self._jvm.JInt(partition), self._bytes(key), self._bytes(value))
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


class Consumer:
    """Reads the first partition of a topic from its beginning."""

    def __init__(self, jvm: ModuleType, bootstrap_servers: str, isolation: str = "read_uncommitted") -> None:
        self._jvm = jvm
        given = {"bootstrap.servers": bootstrap_servers, "isolation.level": isolation, "fetch.max.wait.ms": "10"}
        deserializers = {"key.deserializer": _DESERIALIZER, "value.deserializer": _DESERIALIZER}
        self._consumer = jvm.JClass(f"{_CLIENTS}.consumer.KafkaConsumer")(_properties(jvm, {**given, **deserializers}))

    def read(self, topic: str) -> list[ConsumedRecord]:
        """All records up to the current end for this isolation level."""
        places = self._jvm.java.util.List.of(_partition(self._jvm, topic))
        self._consumer.assign(places)
        self._consumer.seekToBeginning(places)
        (end,) = (int(offset) for offset in self._consumer.endOffsets(places).values())
        found: list[ConsumedRecord] = []
        while int(self._consumer.position(places.get(0))) < end:
            polled = self._consumer.poll(self._jvm.java.time.Duration.ofSeconds(1))
            found += [_delivered(record) for record in polled]
        return found

    def close(self) -> None:
        self._consumer.close()


def _delivered(record: Any) -> ConsumedRecord:
    headers = tuple((str(header.key()), _content(header.value())) for header in record.headers())
    times = int(record.timestamp()), str(record.timestampType().toString())
    return ConsumedRecord(int(record.offset()), *times, _content(record.key()), _content(record.value()), headers)


def _content(array: Any) -> bytes | None:
    return None if array is None else bytes(array)


def _known(state: Any) -> KnownProducer:
    """Numbers that the broker does not know are -1."""
    start, coordinator = state.currentTransactionStartOffset(), state.coordinatorEpoch()
    return KnownProducer(
        int(state.producerId()),
        int(state.producerEpoch()),
        int(state.lastSequence()),
        int(state.lastTimestamp()),
        int(coordinator.getAsInt()) if coordinator.isPresent() else -1,
        int(start.getAsLong()) if start.isPresent() else -1,
    )


def _partition(jvm: ModuleType, topic: str, partition: int = 0) -> Any:
    return jvm.JClass("org.apache.kafka.common.TopicPartition")(topic, partition)


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
