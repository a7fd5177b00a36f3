"""Octavo's clients and Kafka's own take over groups and transactions from one another, on one directory."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import octavo
from tests.interop.broker import Broker
from tests.interop.clients import Admin, Consumer, Producer

pytestmark = pytest.mark.kafka

_CLIENTS = "org.apache.kafka.clients"


def test_groups_and_transactions_change_hands(jvm: ModuleType, tmp_path: Path) -> None:  # L5
    broker = Broker(tmp_path, static_voters=True)
    octavo.LogDir(broker.log_dir, create=True).close()
    broker.start()
    try:
        _begin_with_kafka(jvm, broker)
        broker.stop()
        _go_on_with_octavo(broker.log_dir)
        broker.start()
        _end_with_kafka(jvm, broker)
        broker.stop()
    finally:
        broker.kill()
    with octavo.LogDir(broker.log_dir) as logs:
        reader = logs.consumer("t", group="g", isolation_level="read_committed")
        assert [record.value for record in reader] == [b"kafka again"]
        assert reader.committed(("t", 0)) is not None


def _begin_with_kafka(jvm: ModuleType, broker: Broker) -> None:
    admin = Admin(jvm, broker.bootstrap_servers)
    admin.create("t", 1)
    admin.close()
    producer = Producer(jvm, broker.bootstrap_servers, transactional_id="x")
    producer.begin()
    producer.send("t", [(None, b"kafka")])
    producer.commit()
    producer.close()
    _commit(jvm, broker, "g", 1)


def _go_on_with_octavo(folder: Path) -> None:
    with octavo.LogDir(folder) as logs:
        reader = logs.consumer("t", group="g", isolation_level="read_committed")
        assert reader.position(("t", 0)) == 1
        producer = logs.producer(transactional_id="x")  # known to the directory, so the broker's producer is fenced
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send("t", b"aborted").result()
            raise ZeroDivisionError
        with producer.transaction():
            producer.send("t", b"octavo")
            producer.send_offsets_to_transaction({("t", 0): 7}, "h")
        assert [record.value for record in reader] == [b"octavo"]


def _end_with_kafka(jvm: ModuleType, broker: Broker) -> None:
    consumer = Consumer(jvm, broker.bootstrap_servers, "read_committed")
    assert [record.value for record in consumer.read("t")] == [b"kafka", b"octavo"]
    consumer.close()
    admin = _admin(jvm, broker)
    committed = {group: _committed(jvm, admin, group) for group in ("g", "h")}
    admin.close()
    # Offsets 0 to 5: kafka, marker, aborted, marker, octavo, marker.
    assert committed == {"g": 6, "h": 7}
    producer = Producer(jvm, broker.bootstrap_servers, transactional_id="x")
    producer.begin()
    producer.send("t", [(None, b"kafka again")])
    producer.commit()
    producer.close()


def _admin(jvm: ModuleType, broker: Broker) -> Any:
    properties = jvm.java.util.Properties()
    properties.put(jvm.JString("bootstrap.servers"), jvm.JString(broker.bootstrap_servers))
    return jvm.JClass(f"{_CLIENTS}.admin.Admin").create(properties)


def _committed(jvm: ModuleType, admin: Any, group: str) -> int:
    found = admin.listConsumerGroupOffsets(jvm.JString(group)).partitionsToOffsetAndMetadata().get()
    (offset,) = found.values()
    return int(offset.offset())


def _commit(jvm: ModuleType, broker: Broker, group: str, offset: int) -> None:
    admin = _admin(jvm, broker)
    place = jvm.JClass("org.apache.kafka.common.TopicPartition")("t", 0)
    value = jvm.JClass(f"{_CLIENTS}.consumer.OffsetAndMetadata")(jvm.JLong(offset))
    admin.alterConsumerGroupOffsets(jvm.JString(group), jvm.java.util.Map.of(place, value)).all().get()
    admin.close()
